//! Launches, held against fp64: the error of a product is that of its sums, and what a body makes of it is carried through its
//! expressions.

use autokernel::{Argument, Device, Dtype, Extents, Result, Role, matmul};
use autokernel_codegen::matmul::{Many, accumulation};
use autokernel_codegen::product::{Body, Problem, oracle};
use autokernel_codegen::rows::oracle::Ball;
use autokernel_codegen::rows::{Kind, Operand};
use gpu_tests::operands::is_right;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use rayon::prelude::*;

use crate::buffer::{Buffer, Values};
use crate::picked::Picked;
use crate::place::Place;
use crate::sizes::Sizes;

/// A batch of products of one size, or groups of rows, drawn by a seed.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// M, N, K and products or groups.
    pub extents: Extents,
    /// What inputs hold.
    pub values: Values,
    /// Draws values and places.
    pub seed: u64,
}

/// As [`check_of`], with groups that the case's seed draws.
///
/// # Errors
/// A report of what is not so.
pub fn check(
    device: &Device,
    problem: &Problem,
    case: Case,
    launch: impl Fn(&mut [Argument<'_>]) -> Result<()>,
) -> std::result::Result<(), String> {
    check_of(device, problem, case, None, launch)
}

/// Runs `launch`, which computes `problem`, twice on operands of `device`: guards must stay, both runs give the same bits, and
/// every element is what the body gives. `numbers` say of which groups, else the case's seed does.
///
/// # Errors
/// A report of what is not so.
pub fn check_of(
    device: &Device,
    problem: &Problem,
    case: Case,
    numbers: Option<Vec<i32>>,
    launch: impl Fn(&mut [Argument<'_>]) -> Result<()>,
) -> std::result::Result<(), String> {
    let body = problem.body.as_ref().ok_or("a problem with a body")?;
    let report = |reason: String| format!("{problem}, {case:?}, {device}: {reason}");
    let (mut rng, operands) = (StdRng::seed_from_u64(case.seed), body.operands());
    let [m, ..] = matmul::sizes(&case.extents);
    let picked = body.gathers().map(|_| Picked::random(&mut rng, m as usize));
    let shapes: Vec<[usize; 3]> = shapes(problem, body, &case.extents, picked.as_ref());
    let places =
        operands.iter().zip(&shapes).map(|(operand, &shape)| place(&mut rng, operand, in_memory(operand, shape)));
    let places: Vec<Place> = places.collect();
    let sizes = match numbers {
        Some(numbers) => Sizes::of(problem.many(), &case.extents, numbers),
        None => Sizes::random(&mut rng, problem.many(), &case.extents),
    };
    let rows = Rows { sizes, picked };
    let mut runs: Vec<Vec<Vec<f64>>> = Vec::new();
    for _ in 0..2 {
        let ran = run(device, body, &places, (case, &rows), &launch)
            .map_err(|reason| report(format!("{reason}; {places:?} {rows:?}")))?;
        runs.push(ran);
    }
    let bits = |run: &Vec<Vec<f64>>| run.iter().flatten().map(|value| value.to_bits()).collect::<Vec<_>>();
    if bits(&runs[0]) != bits(&runs[1]) {
        return Err(report("two runs gave different bits".to_owned()));
    }
    judge(problem, body, (&shapes, &rows), &runs[0]).map_err(|reason| report(format!("{reason}; {places:?} {rows:?}")))
}

/// What numbers in memory say of rows.
#[derive(Debug)]
struct Rows {
    sizes: Sizes,
    picked: Option<Picked>,
}

impl Rows {
    /// Whether anything may depend on row `row` of matrix `number` of a factor that lies in rows of groups, or is picked from.
    fn is_read(&self, number: usize, row: usize) -> bool {
        self.picked.as_ref().map_or_else(|| self.sizes.is_read(number, row), |it| it.is_read(&self.sizes, row))
    }

    /// The row of the first factor that a row of results is of.
    fn of_a(&self, row: usize) -> Option<usize> {
        self.picked.as_ref().map_or(Some(row), |picked| picked.row(row))
    }
}

fn place(rng: &mut StdRng, operand: &Operand, shape: [usize; 3]) -> Place {
    match (operand.kind, operand.batched) {
        (Kind::Scalar | Kind::DeviceScalar | Kind::Index, false) => Place::dense(shape),
        (Kind::Matrix, true) => Place::random(rng, shape, operand.role == Role::Input),
        // Matrices of a batch are rows here.
        _ => {
            let one = Place::random(rng, [1, shape[0] * shape[1], shape[2]], false);
            Place { shape: one.shape, strides: [0, one.strides[1]], ..one }
        }
    }
}

/// That of what lies in memory: elements may hold two numbers, and one number for each of a batch is a row.
fn in_memory(operand: &Operand, [matrices, rows, columns]: [usize; 3]) -> [usize; 3] {
    match operand.kind {
        Kind::DeviceScalar => [1, 1, matrices],
        _ => [matrices, rows, columns / operand.dtype.numbers() as usize],
    }
}

/// Matrices, rows and columns of each operand.
fn shapes(problem: &Problem, body: &Body, extents: &Extents, picked: Option<&Picked>) -> Vec<[usize; 3]> {
    let ([m, n, k], batch) = (matmul::sizes(extents).map(|size| size as usize), matmul::matrices(extents) as usize);
    let factors = body.factors();
    let (tables, group) = ([body.scales(), body.zeros()].concat(), problem.class().group().unwrap_or(1) as usize);
    let block = problem.block.map_or(1, |block| block as usize);
    let shape = |(at, operand): (u8, &Operand)| {
        let [rows, columns] = match (operand.kind, factors.iter().position(|factor| *factor == at)) {
            (Kind::Matrix, Some(0)) if problem.layout.transpose_a() => [k, m],
            (Kind::Matrix, Some(0)) => [picked.map_or(m, |picked| picked.rows), k],
            (Kind::Matrix, Some(_)) if problem.layout.transpose_b() => [n, k],
            (Kind::Matrix, Some(_)) => [k, n],
            (Kind::Matrix, None) if body.a_scales() == Some(at) => [m, k.div_ceil(block)],
            (Kind::Matrix, None) if tables.contains(&at) && problem.block.is_some() => {
                [n.div_ceil(block), k.div_ceil(block)]
            }
            (Kind::Matrix, None) if tables.contains(&at) => [k / group, n],
            (Kind::Matrix, None) => [m, n],
            (Kind::Row, _) => [1, n],
            (Kind::Column, _) => [1, m],
            (Kind::Index, _) => [1, 1],
            (Kind::Scalar | Kind::DeviceScalar, _) => [1, 1],
        };
        [if operand.batched { batch } else { 1 }, rows, columns]
    };
    (0..).zip(body.operands()).map(shape).collect()
}

/// What each operand held after a launch, inputs too.
fn run(
    device: &Device,
    body: &Body,
    places: &[Place],
    (case, rows): (Case, &Rows),
    launch: impl Fn(&mut [Argument<'_>]) -> Result<()>,
) -> std::result::Result<Vec<Vec<f64>>, String> {
    let failed = |error: autokernel::Error| error.to_string();
    let (operands, in_groups, zeros) = (body.operands(), in_groups(body), body.zeros());
    let buffer = |(at, (operand, &place)): (usize, (&Operand, &Place))| {
        let drawn = (operand.role == Role::Input).then_some((case.values, case.seed.wrapping_mul(31) + at as u64));
        if operand.kind == Kind::Index {
            let picked = rows.picked.as_ref().filter(|_| body.gathers().map(usize::from) == Some(at));
            return Buffer::of_offsets(device, picked.map_or(&rows.sizes.numbers, |picked| &picked.numbers));
        }
        if let Some((_, seed)) = drawn.filter(|_| zeros.iter().any(|zeros| usize::from(*zeros) == at)) {
            return Buffer::of_zeros(device, place, seed);
        }
        // Rows of none are NaN in two of three cases: one that is summed shows then, and one that is stored in the others.
        let hides = !case.seed.is_multiple_of(3) && in_groups.contains(&at);
        let is_read = |matrix, row| !hides || rows.is_read(matrix, row);
        Buffer::new(device, operand.dtype, place, drawn, &is_read)
    };
    let mut buffers =
        operands.iter().zip(places).enumerate().map(buffer).collect::<Result<Vec<_>>>().map_err(failed)?;
    let scalars: Vec<f32> =
        buffers.iter().map(|buffer| buffer.after(Role::Input).0.first().map_or(0.0, |&it| it as f32)).collect();
    {
        let arguments =
            buffers.iter_mut().zip(operands).zip(&scalars).map(|((buffer, operand), scalar)| match operand.kind {
                Kind::Scalar => Ok(Argument::Scalar(*scalar)),
                kind => buffer.argument(operand.batched && kind == Kind::Matrix, operand.role),
            });
        let mut arguments = arguments.collect::<Result<Vec<_>>>().map_err(failed)?;
        launch(&mut arguments).map_err(failed)?;
    }
    let after = buffers.iter().zip(operands).map(|(buffer, operand)| match buffer.after(operand.role) {
        (_, Some(at)) => Err(format!("element {at} of the buffer of `{}` was overwritten", operand.name)),
        (values, None) => Ok(values),
    });
    after.collect()
}

/// The factors whose rows lie in groups; what is of none may hold anything.
fn in_groups(body: &Body) -> Vec<usize> {
    let factors = body.factors().into_iter().map(usize::from);
    match body.many() {
        Many::GroupsAlongK => factors.collect(),
        Many::One | Many::Batch | Many::Masked | Many::Groups => factors.take(1).collect(),
    }
}

fn judge(
    problem: &Problem,
    body: &Body,
    (shapes, rows): (&[[usize; 3]], &Rows),
    values: &[Vec<f64>],
) -> std::result::Result<(), String> {
    let (factors, operands) = (body.factors().into_iter().map(usize::from).collect::<Vec<_>>(), body.operands());
    let (scales, zeros, of_a) = (body.scales(), body.zeros(), body.a_scales());
    let group = problem.class().group().unwrap_or(1) as usize;
    let outputs: Vec<usize> = (0..operands.len()).filter(|&at| operands[at].role == Role::Output).collect();
    let ([batch, m, n], k) = (shapes[outputs[0]], shapes[factors[0]][2]);
    // A matrix of an operand, and what of it lies there.
    let of = |operand: usize, product: usize| {
        let [matrices, rows, columns] = shapes[operand];
        let first = if matrices > 1 { product * rows * columns } else { 0 };
        &values[operand][first..first + rows * columns]
    };
    // Rows are judged by all threads: on a GPU it is the reference that takes the time.
    (0..batch * m).into_par_iter().try_for_each(|number| {
        let (product, row) = (number / m, number % m);
        let own = rows.sizes.product(product, row);
        for column in 0..n {
            let Some(product) = own else {
                if let Some(output) = outputs.iter().find(|&&output| !of(output, product)[row * n + column].is_nan()) {
                    return Err(format!(
                        "`{}`[{row}, {column}] is of no group and was written",
                        operands[*output].name
                    ));
                }
                continue;
            };
            let depth = rows.sizes.depth(product);
            let accumulated = accumulated(problem, depth.len());
            let a = of(factors[0], product);
            let a = |of_k: usize| match rows.of_a(row) {
                Some(row) if problem.layout.transpose_a() => a[of_k * m + row],
                Some(row) => a[row * k + of_k],
                None => 0.0,
            };
            let sum = |(number, b): (usize, &usize)| {
                let b = of(*b, product);
                let at = |of_k: usize| {
                    if problem.layout.transpose_b() { b[column * k + of_k] } else { b[of_k * n + column] }
                };
                let table = |tables: &[u8]| tables.get(number).map(|table| of(usize::from(*table), product));
                let (scales, zeros) = (table(&scales), table(&zeros));
                let number_at = |of_k: usize| match (problem.block.map(|block| block as usize), scales) {
                    (Some(block), Some(scales)) => {
                        let blocks = k.div_ceil(block);
                        let of_row =
                            of_a.map_or(1.0, |of_a| of(usize::from(of_a), product)[row * blocks + of_k / block]);
                        at(of_k) * of_row * scales[column / block * blocks + of_k / block]
                    }
                    (None, Some(scales)) => {
                        let in_table = of_k / group * n + column;
                        (at(of_k) - zeros.map_or(0.0, |zeros| zeros[in_table])) * scales[in_table]
                    }
                    (_, None) => at(of_k),
                };
                let value = depth.clone().map(|of_k| a(of_k) * number_at(of_k)).sum::<f64>();
                Ball { value, error: if value.is_finite() { accumulated } else { 0.0 } }
            };
            let sums: Vec<Ball> = factors[1..].iter().enumerate().map(sum).collect();
            let input = |operand: usize| match operands[operand].kind {
                Kind::Matrix => of(operand, product).get(row * n + column).copied().unwrap_or(0.0),
                Kind::Row => of(operand, product)[column],
                Kind::Column => of(operand, product)[row],
                Kind::Scalar | Kind::DeviceScalar => of(operand, product)[0],
                Kind::Index => 0.0,
            };
            let expected = oracle::element(body, oracle::Place { at: (row, column), of: (m, n) }, &sums, &input);
            for (&output, ball) in outputs.iter().zip(expected) {
                let got = of(output, product)[row * n + column];
                if !is_right(operands[output].dtype, ball, got) {
                    let name = &operands[output].name;
                    return Err(format!("`{name}`[{product}, {row}, {column}] is {got}, not {ball:?}, of {sums:?}"));
                }
            }
        }
        Ok(())
    })
}

/// The error of a sum of that many products.
fn accumulated(problem: &Problem, k: usize) -> f64 {
    let Problem { input, weights, .. } = problem;
    let largest = largest(*input) * weights.map_or_else(|| largest(*input), |weights| largest(weights.dtype));
    accumulation::error(*input, k as f64, largest * 4.0 * (k as f64).sqrt() / 3.0)
}

/// About the largest number that is drawn, less a zero point.
fn largest(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::I8 => 256.0,
        Dtype::I4x2 => 16.0,
        _ => 1.0,
    }
}

/// A case of up to `largest` rows, columns and K, and `most` products.
pub fn random(rng: &mut StdRng, problem: &Problem, largest: [u32; 3], most: u32) -> Case {
    let mut extent = |most: u32| ((rng.random_range(0.0..f64::from(most + 1).ln()).exp()) as u32).clamp(1, most);
    let [m, n, k] = largest.map(&mut extent);
    let granule = problem.weights.map_or(1, |weights| weights.granule());
    let (n, k) = (problem.known_n.unwrap_or(n), problem.known_k.unwrap_or(k).next_multiple_of(granule));
    let extents = of_many(problem, extent(most), [m, n, k]);
    let values = if rng.random() { Values::Uniform } else { Values::Integers };
    Case { extents, values, seed: rng.random() }
}

/// So many products of that size, or groups of so many rows in all.
pub fn of_many(problem: &Problem, count: u32, [m, n, k]: [u32; 3]) -> Extents {
    match problem.many() {
        Many::Groups | Many::GroupsAlongK => matmul::grouped_extents(count, m, n, k),
        Many::One | Many::Batch | Many::Masked => matmul::batched_extents(count, m, n, k),
    }
}
