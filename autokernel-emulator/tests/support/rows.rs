//! One row-wise kernel, on the emulator, held against fp64.

use autokernel_codegen::arch::Arch;
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::emit::KernelSource;
use autokernel_codegen::rows::oracle::Ball;
use autokernel_codegen::rows::plan::{extents, signature};
use autokernel_codegen::rows::{Keep, Kind, Operand, Problem, Sm80Schedule, Sm90Schedule, emit, oracle, sm90};
use autokernel_core::{LaunchPlan, Role};
use autokernel_emulator::{Gpu, Module, Options, Report};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use super::arguments::{self, MULTIPROCESSORS};
use super::compile::{Change, Compiler};
use super::host::{allocate, download, rounded, to_bytes};

/// How the operands lie and what is in them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Data {
    pub seed: u64,
    /// Elements that rows of the first matrix are longer than they need be, of the second one, and so on around.
    pub padding: [u32; 3],
    /// Elements by which operands begin beside an aligned address, in turn.
    pub skew: [u32; 3],
    /// What stands in some places instead of a number of moderate size.
    pub special: Option<f64>,
    /// What else stands in some places, row by row in turn: in as many of a hundred as is said.
    pub of_rows: &'static [(f64, u32)],
}

/// The problem that a function in Rust states.
pub fn problem(source: &str) -> Problem {
    autokernel_codegen::rows::problem(&syn::parse_str(source).unwrap()).unwrap()
}

/// The same of a function whose elements are of a `TYPE`.
pub fn typed(source: &str, ty: &str) -> Problem {
    problem(&source.replace("TYPE", ty))
}

/// A schedule with nothing special about it.
pub fn plain() -> Sm80Schedule {
    Sm80Schedule {
        threads_per_row: 32,
        rows_per_block: 2,
        vector: 8,
        cluster: 0,
        vectors: 2,
        keep: Keep::Values,
        blocks_per_sm: 0,
        joins: false,
        parked: 0,
        keeps_rows: false,
    }
}

/// Holds each of `sources` with elements of every type against fp64, at `columns` and wherever its operands lie.
pub fn check_every_type(compiler: &Compiler, sources: &[&str], rows: u32, columns: [u32; 6]) {
    for source in sources {
        for ty in ["bf16", "f16", "f32"] {
            let compiled = Compiled::new(compiler, &typed(source, ty), &plain());
            for (seed, columns) in (0..).zip(columns) {
                let padding = [seed % 3, seed % 2, (seed * 5) % 7];
                let skew = [seed % 8, seed / 2 % 4, (seed * 3) % 5];
                compiled.check(rows, columns, Data { seed: seed.into(), ..Data::default() });
                compiled.check(rows, columns, Data { seed: seed.into(), padding, skew, ..Data::default() });
            }
        }
    }
}

/// Holds each source, with its type, against fp64 by few threads a row, by narrow vectors, by a cluster, and by the reference.
pub fn check_every_kind(compiler: &Compiler, sources: [(&str, &str); 3]) {
    let schedules = [
        Sm80Schedule { threads_per_row: 4, rows_per_block: 8, vectors: 1, ..plain() },
        Sm80Schedule { threads_per_row: 64, rows_per_block: 4, vector: 2, vectors: 4, ..plain() },
        Sm80Schedule { threads_per_row: 64, rows_per_block: 1, cluster: 2, ..plain() },
    ];
    for (source, ty) in sources {
        let problem = typed(source, ty);
        // Blocks do not share rows that nothing reduces.
        let class = problem.class();
        for schedule in schedules.into_iter().filter(|it| it.cluster < 2 || !class.is_elementwise()) {
            let compiled = Compiled::new(compiler, &problem, &schedule);
            let held = schedule.held_columns();
            for columns in [held, held + 1, 2 * held + 5] {
                compiled.check(9, columns, Data { seed: columns.into(), padding: [1, 0, 3], ..Data::default() });
            }
        }
        Compiled::reference(compiler, &problem).check(6, 300, Data { padding: [1, 0, 3], ..Data::default() });
    }
}

/// What went into a launch and what came out.
struct Run {
    inputs: Vec<Vec<f64>>,
    outputs: Vec<Vec<f64>>,
    report: Report,
}

/// A kernel, compiled.
pub struct Compiled {
    problem: Problem,
    source: KernelSource,
    plan: LaunchPlan,
    module: Module,
    gpu: autokernel_emulator::Arch,
    /// The reference leaves fp32 in every output.
    is_reference: bool,
}

impl Compiled {
    pub fn new(compiler: &Compiler, problem: &Problem, schedule: &Sm80Schedule) -> Self {
        let arch = if schedule.cluster > 0 { Arch::SM_90A } else { Arch::SM_80 };
        schedule.check(&problem.class(), arch).unwrap();
        let (source, plan) = emit::kernel(problem, schedule);
        Self::of(compiler, problem, (source, plan), arch, None)
    }

    /// The kernel of Hopper's family, with a header that is changed if one is.
    pub fn on_ring(
        compiler: &Compiler,
        problem: &Problem,
        schedule: &Sm90Schedule,
        change: Option<Change<'_>>,
    ) -> Self {
        schedule.check(&problem.class(), Arch::SM_90A).unwrap();
        Self::of(compiler, problem, sm90::emit::kernel(problem, schedule), Arch::SM_90A, change)
    }

    /// The kernel with a header that is changed.
    pub fn changed(compiler: &Compiler, problem: &Problem, schedule: &Sm80Schedule, change: Change<'_>) -> Self {
        schedule.check(&problem.class(), Arch::SM_80).unwrap();
        Self::of(compiler, problem, emit::kernel(problem, schedule), Arch::SM_80, Some(change))
    }

    pub fn reference(compiler: &Compiler, problem: &Problem) -> Self {
        let (source, plan) = emit::reference(problem);
        let reference = Self::of(&compiler.with_whole_runtime(), problem, (source, plan), Arch::SM_80, None);
        Compiled { is_reference: true, ..reference }
    }

    fn of(
        compiler: &Compiler,
        problem: &Problem,
        (source, plan): (KernelSource, LaunchPlan),
        arch: Arch,
        change: Option<Change<'_>>,
    ) -> Self {
        let ptx = compiler.ptx(&source, arch, change).unwrap();
        let module = Module::parse(&ptx).unwrap_or_else(|error| panic!("{error}"));
        let is_hopper = arch == Arch::SM_90A;
        let gpu = if is_hopper { autokernel_emulator::Arch::Sm90a } else { autokernel_emulator::Arch::Sm80 };
        Compiled { problem: problem.clone(), source, plan, module, gpu, is_reference: false }
    }

    /// The outputs for `rows` rows of `columns` elements, where the emulator orders events by `order`.
    pub fn outputs(&self, rows: u32, columns: u32, data: Data, order: u64) -> Vec<Vec<u64>> {
        let run = self.run(rows, columns, data, order);
        run.outputs.iter().map(|values| values.iter().map(|value| value.to_bits()).collect()).collect()
    }

    /// Runs it on `rows` rows of `columns` elements; panics at the first element that is not what the body gives.
    pub fn check(&self, rows: u32, columns: u32, data: Data) -> Report {
        let what = format!("{}, {rows}x{columns}, {data:?}", self.source.symbol);
        let operands = &self.problem.body().operands;
        let Run { inputs: values, outputs: got, report } = self.run(rows, columns, data, data.seed);
        let outputs = || operands.iter().filter(|operand| operand.role == Role::Output);
        if self.problem.body().is_by_columns() {
            let input = |at: usize, row: usize, column: usize| {
                let (height, width) = self.shape(&operands[at], rows, columns);
                values[at][if height == 1 { 0 } else { row } * width as usize + column]
            };
            let expected = oracle::columns(self.problem.body(), rows as usize, columns as usize, &input);
            for ((operand, got), expected) in outputs().zip(&got).zip(&expected) {
                for (column, (ball, got)) in expected.iter().zip(got).enumerate() {
                    let right = is_right(self.dtype(operand), *ball, *got);
                    assert!(right, "{what}: {}[{column}] is {got}, not {ball:?}", operand.name);
                }
            }
            return report;
        }
        for row in 0..rows {
            let input = |at: usize, row: usize, column: usize| {
                let (height, width) = self.shape(&operands[at], rows, columns);
                let (height, width) = (height as usize, width as usize);
                // Columns beyond the last are asked for where they repeat.
                if row < height { values[at][row * width + column % width] } else { f64::NAN }
            };
            let expected = oracle::row(self.problem.body(), row as usize, (rows as usize, columns as usize), &input);
            for ((operand, got), expected) in outputs().zip(&got).zip(&expected) {
                let width = expected.len();
                let index = self.problem.body().row_of_output(&operand.name);
                let index = index.map(|index| operands.iter().position(|it| it.name == index).unwrap());
                // Of a negative number a large one is made.
                let row = index.map_or(row, |index| values[index][row as usize] as i32 as u32);
                let (height, _) = self.shape(operand, rows, columns);
                if row >= height {
                    continue;
                }
                for (column, (ball, got)) in expected.iter().zip(&got[row as usize * width..]).enumerate() {
                    let right = is_right(self.dtype(operand), *ball, *got);
                    assert!(right, "{what}: {}[{row}, {column}] is {got}, not {ball:?}", operand.name);
                }
            }
        }
        report
    }

    fn run(&self, rows: u32, columns: u32, data: Data, order: u64) -> Run {
        let what = format!("{}, {rows}x{columns}, {data:?}", self.source.symbol);
        let operands = &self.problem.body().operands;
        let mut gpu = Gpu::new(self.gpu);
        let mut rng = StdRng::seed_from_u64(data.seed);
        let mut values = Vec::new();
        let mut placed = Vec::new();
        for (at, operand) in operands.iter().enumerate() {
            let (height, width) = self.shape(operand, rows, columns);
            let ld = width + if operand.kind == Kind::Matrix { data.padding[at % 3] } else { 0 };
            let dtype = self.dtype(operand);
            let skew = u64::from(data.skew[at % 3]) * u64::from(dtype.bytes());
            let place = allocate(&mut gpu, &operand.name, dtype, height, width, ld, skew);
            let elements: Vec<f64> = match operand.kind {
                Kind::Index => picks(&mut rng, rows),
                _ => (0..height * width)
                    .map(|number| match data.of_rows.get((number / width) as usize % data.of_rows.len().max(1)) {
                        Some((value, percent)) if rng.random_ratio(*percent, 100) => rounded(operand.dtype, *value),
                        _ => rounded(operand.dtype, draw(&mut rng, data)),
                    })
                    .collect(),
            };
            if operand.role == Role::Input {
                upload(&mut gpu, place, dtype, &elements);
            }
            values.push(elements);
            placed.push(place);
        }
        let options = Options { seed: order, instruction_budget: 1 << 26, ..Options::default() };
        let (signature, extents) = (signature(&self.problem), extents(rows, columns));
        let (launches, workspace) =
            arguments::steps(&mut gpu, MULTIPROCESSORS, &signature, &self.plan, extents, &placed);
        let reports = self.plan.kernels.iter().zip(&launches).map(|(kernel, launch)| {
            let report = gpu.launch(&self.module, &kernel.symbol, launch, &options);
            report.unwrap_or_else(|error| panic!("{what}: {error}"))
        });
        // What is counted is of the first kernel.
        let report = reports.collect::<Vec<_>>().swap_remove(0);
        assert!(workspace.is_left_as_found(&mut gpu), "{what}: a counter is not zero behind the launch");

        let outputs = || (0..operands.len()).filter(|&at| operands[at].role == Role::Output);
        let got: Vec<Vec<f64>> =
            outputs().map(|at| download(&mut gpu, placed[at], self.dtype(&operands[at]))).collect();
        Run { inputs: values, outputs: got, report }
    }

    /// Of an operand whose rows are picked one more row, so that some are not; of one whose columns repeat a few, or many.
    fn shape(&self, operand: &Operand, rows: u32, columns: u32) -> (u32, u32) {
        let body = self.problem.body();
        let rows = if body.is_picked(&operand.name) { rows + 1 } else { rows };
        let period = if columns.is_multiple_of(2) { 16 } else { 5 };
        let columns = if body.is_repeated(&operand.name) { period } else { columns };
        match operand.kind {
            Kind::Matrix => (rows, columns),
            Kind::Row => (1, columns),
            Kind::Column | Kind::Index => (rows, 1),
            Kind::Scalar | Kind::DeviceScalar => (1, 1),
        }
    }

    fn dtype(&self, operand: &Operand) -> Dtype {
        if self.is_reference && operand.role == Role::Output { Dtype::F32 } else { operand.dtype }
    }
}

/// Different numbers, in any order: some pick no row of as many as [`Compiled::shape`] says, on either side.
fn picks(rng: &mut StdRng, rows: u32) -> Vec<f64> {
    let mut numbers: Vec<f64> = (0..rows + 4).map(|number| f64::from(number) - 1.0).collect();
    numbers.shuffle(rng);
    numbers.truncate(rows as usize);
    numbers
}

fn draw(rng: &mut StdRng, data: Data) -> f64 {
    match data.special {
        Some(special) if rng.random_ratio(1, 40) => special,
        _ => rng.random_range(-3.0..3.0),
    }
}

fn upload(gpu: &mut Gpu, place: arguments::Placed, dtype: Dtype, elements: &[f64]) {
    for row in 0..place.rows {
        let from = (row * place.columns) as usize;
        let row_elements = &elements[from..from + place.columns as usize];
        let bytes: Vec<u8> = row_elements.iter().flat_map(|value| to_bytes(dtype, *value)).collect();
        let offset = u64::from(row) * u64::from(place.ld) * u64::from(dtype.bytes());
        gpu.write(place.pointer.offset(offset), &bytes).unwrap();
    }
}

/// Whether `got` is some number of the ball, rounded to `dtype`.
fn is_right(dtype: Dtype, ball: Ball, got: f64) -> bool {
    let Ball { value, error } = ball;
    if ball.is_special() {
        let value = rounded(dtype, value);
        return got.to_bits() == value.to_bits() || (got.is_nan() && value.is_nan());
    }
    let (low, high) = (rounded(dtype, value - error), rounded(dtype, value + error));
    error.is_infinite() || (low..=high).contains(&got)
}
