//! Gradients of a product with a body held against central differences in fp64. For tests.

use std::collections::BTreeMap;

use autokernel_core::Role;

use super::differences::{Compared, Shape, Tensors, compare, outputs};
use super::names::name_of;
use super::products::{Chained, Computes, Kernel, Purpose};
use crate::body::Kind;
use crate::matmul::Problem;
use crate::matmul::body;
use crate::matmul::problem::Layout;

/// How large the matrices of a product are, and what they hold.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Rows of the result.
    pub m: usize,
    /// Its columns.
    pub n: usize,
    /// How many numbers are summed.
    pub k: usize,
    /// Chooses the numbers.
    pub seed: u64,
}

/// Columns of what follows the function's layer.
const NEXT: usize = 3;

/// What kernels read and write.
#[derive(Clone)]
struct Memory {
    tensors: Tensors,
    /// Rows and columns of the matrices among them.
    sizes: BTreeMap<String, (usize, usize)>,
    seed: u64,
}

impl Memory {
    /// Everything that the operands of `written` hold that are read, and the gradients of what is written.
    fn of(chained: &Chained, Sizes { m, n, k, seed }: Sizes) -> Self {
        let mut memory = Memory { tensors: Tensors::new(), sizes: BTreeMap::new(), seed };
        let Chained { written, layout, .. } = chained;
        let stored = |transposed: bool, rows, columns| if transposed { (columns, rows) } else { (rows, columns) };
        for operand in &written.body.operands {
            let size = match &operand.name {
                name if *name == written.product.a => stored(layout.transpose_a(), m, k),
                name if *name == written.product.b => stored(layout.transpose_b(), k, n),
                _ => (m, n),
            };
            let name = if operand.role == Role::Input { operand.name.clone() } else { name_of(operand) };
            memory.draw(&name, operand.kind, size);
        }
        memory
    }

    fn draw(&mut self, name: &str, kind: Kind, (rows, columns): (usize, usize)) {
        let shape = Shape { rows, columns, seed: self.seed };
        self.tensors.insert(name.to_owned(), shape.numbers(kind, name));
        self.sizes.insert(name.to_owned(), (rows, columns));
    }

    /// Puts the product under its name, and gives its size.
    fn multiply(&mut self, Chained { written, layout, .. }: &Chained) -> (usize, usize) {
        let at = |name: &str, is_transposed: bool, row: usize, column: usize| {
            let (_, columns) = self.sizes[name];
            let (row, column) = if is_transposed { (column, row) } else { (row, column) };
            self.tensors[name][row * columns + column]
        };
        let stored = |name: &str, is_transposed: bool| {
            let (rows, columns) = self.sizes[name];
            if is_transposed { (columns, rows) } else { (rows, columns) }
        };
        let product = &written.product;
        let ((m, k), (of_b, n)) = (stored(&product.a, layout.transpose_a()), stored(&product.b, layout.transpose_b()));
        assert_eq!(k, of_b, "{} and {} have no product", product.a, product.b);
        let element = |row, column| -> f64 {
            let term = |at_k| {
                at(&product.a, layout.transpose_a(), row, at_k) * at(&product.b, layout.transpose_b(), at_k, column)
            };
            (0..k).map(term).sum()
        };
        let elements = (0..m * n).map(|at| element(at / n, at % n)).collect();
        self.tensors.insert(product.name.clone(), elements);
        self.sizes.insert(product.name.clone(), (m, n));
        (m, n)
    }

    /// What a kernel writes.
    fn run(&mut self, computes: &Computes) -> BTreeMap<String, Vec<Option<f64>>> {
        let (body, (rows, columns)) = match computes {
            Computes::Rows(body) => {
                let matrix = body.operands.iter().find(|operand| operand.kind == Kind::Matrix);
                (body.clone(), matrix.map_or((0, 0), |matrix| self.sizes[&matrix.name]))
            }
            Computes::Product(chained) => {
                let size = self.multiply(chained);
                (super::products::epilogue(&chained.written), size)
            }
        };
        let written = outputs(&body, &self.tensors, Shape { rows, columns, seed: self.seed });
        for (name, values) in &written {
            self.tensors.insert(name.clone(), values.iter().map(|it| it.unwrap_or(f64::NAN)).collect());
            self.sizes.insert(name.clone(), (rows, columns));
        }
        written
    }

    /// What the function writes, each number by its gradient.
    fn weighted(&self, function: &Computes) -> Vec<f64> {
        let mut memory = self.clone();
        let written = memory.run(function);
        let by_gradient = |(name, values): (String, Vec<Option<f64>>)| {
            let gradient = function.body().operand(&name).and_then(|operand| self.tensors.get(&name_of(operand)));
            let pairs = values.into_iter().zip(gradient.cloned().unwrap_or_default());
            pairs.map(|(value, by)| value.unwrap_or(f64::NAN) * by).collect::<Vec<f64>>()
        };
        written.into_iter().flat_map(by_gradient).collect()
    }
}

/// Holds the kernels of the gradients of a product with a body against differences: gives how many elements were compared.
///
/// # Errors
/// A report of the first element that is off, or that two kernels do not compute alike.
pub fn check(problem: &Problem, body: &body::Body, kernels: &[Kernel], sizes: Sizes) -> Result<usize, String> {
    let Problem { layout, known_n, known_k, .. } = *problem;
    let function = Chained { written: body.written().clone(), layout, known_n, known_k };
    let mut memory = Memory::of(&function, sizes);
    let function = Computes::Product(Box::new(function));
    let of_function = memory.run(&function);
    let drawn = memory.clone();
    let mut gradients: BTreeMap<String, Vec<Option<f64>>> = BTreeMap::new();
    for Kernel { purpose, computes } in kernels {
        match purpose {
            Purpose::Forward => {
                let written = memory.run(computes);
                alike(&of_function, &written, "the function and `forward`")?;
            }
            Purpose::Fused { of } => {
                let backward = kernels.iter().find(|kernel| kernel.purpose == Purpose::Backward);
                let backward = backward.ok_or("a fused kernel beside none of rows")?;
                fused(&mut memory, computes, of, &backward.computes)?;
            }
            Purpose::Backward | Purpose::Rows | Purpose::Factor(_) => gradients.extend(memory.run(computes)),
        }
    }
    let mut told = 0;
    for operand in function.body().inputs() {
        let Some(gradient) = gradients.get(&name_of(operand)) else { continue };
        // A sum of what nothing is told of is no number.
        let is_told = |(at, found): (usize, &Option<f64>)| Some((at, found.filter(|found| !found.is_nan())?));
        for (at, found) in gradient.iter().enumerate().filter_map(is_told) {
            let moved_by = |by: f64| {
                let mut moved = drawn.clone();
                if let Some(number) = moved.tensors.get_mut(&operand.name).and_then(|numbers| numbers.get_mut(at)) {
                    *number += by;
                }
                moved.weighted(&function)
            };
            match compare(found, moved_by) {
                Compared::Untold => {}
                Compared::Alike => told += 1,
                Compared::Off(by) => {
                    let name = &operand.name;
                    return Err(format!("{sizes:?}: element {at} of d{name} is {found}, and by differences {by}"));
                }
            }
        }
    }
    Ok(told)
}

/// A kernel that multiplies gives what the one of rows gives of that product.
fn fused(memory: &mut Memory, computes: &Computes, of: &str, backward: &Computes) -> Result<(), String> {
    let Computes::Product(chained) = computes else { return Err("what is fused is no product".to_owned()) };
    let mut other = memory.clone();
    let (rows, columns) = memory.sizes[of];
    let product = &chained.written.product;
    let next = if chained.layout == Layout::Nt { (columns, NEXT) } else { (NEXT, columns) };
    other.draw(&product.a, Kind::Matrix, (rows, NEXT));
    other.draw(&product.b, Kind::Matrix, next);
    let found = other.run(computes);
    let of_output = other.tensors[&product.name].clone();
    other.tensors.insert(of.to_owned(), of_output);
    let expected = other.run(backward);
    if found.len() != expected.len() {
        return Err("`backward_fused` and `backward` write other operands".to_owned());
    }
    alike(&expected, &found, "`backward` and `backward_fused`")
}

fn alike(
    some: &BTreeMap<String, Vec<Option<f64>>>,
    others: &BTreeMap<String, Vec<Option<f64>>>,
    what: &str,
) -> Result<(), String> {
    for (name, values) in some {
        let Some(others) = others.get(name) else { return Err(format!("{what} do not both write {name}")) };
        let is_off = |(value, other): (&Option<f64>, &Option<f64>)| match (value, other) {
            (Some(value), Some(other)) => (value - other).abs() > 1e-9 * value.abs().max(1.0),
            _ => false,
        };
        if values.len() != others.len() || values.iter().zip(others).any(is_off) {
            return Err(format!("{what} differ in {name}"));
        }
    }
    Ok(())
}
