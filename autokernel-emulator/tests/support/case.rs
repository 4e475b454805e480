//! One product by one of our kernels, on the emulator, held against fp64.

use autokernel_codegen::arch::Arch;
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::emit::KernelSource;
use autokernel_codegen::matmul::emit::{emit, kernel};
use autokernel_codegen::matmul::extents;
use autokernel_codegen::matmul::plan::signature;
use autokernel_codegen::matmul::problem::{Layout, Problem};
use autokernel_codegen::matmul::schedule::{Raster, RasterOrder, Schedule, SkinnySchedule, Sm80Schedule, Sm90Schedule};
use autokernel_emulator::{Gpu, Module, Options, Report};

use super::arguments;
use super::compile::{Change, Compiler};
use super::host::{Matrix, Shape, allocate, download, product, rounded};

/// A problem and how it is computed.
#[derive(Clone, Debug)]
pub struct Case {
    pub problem: Problem,
    pub schedule: Schedule,
}

/// What became of a run.
#[derive(Debug)]
pub enum Outcome {
    Right(Box<Report>),
    Wrong(String),
    Fault(String),
}

impl Outcome {
    pub fn expect_right(self, what: &str) -> Report {
        match self {
            Outcome::Right(report) => *report,
            Outcome::Wrong(why) | Outcome::Fault(why) => panic!("{what}: {why}"),
        }
    }
}

/// How a run is varied.
#[derive(Clone, Copy, Debug)]
pub struct Variation {
    pub seed: u64,
    /// Elements that rows are longer than they need be.
    pub padding: [u32; 3],
    /// Elements by which A and B begin beside an aligned address.
    pub skew: [u32; 2],
    /// Bytes by which C begins beside an aligned address.
    pub skew_c: u64,
    /// Operands are eighths, and not integers: epilogues that saturate show their shape.
    pub eighths: bool,
    /// Operands are the largest whole numbers of 8 bits, all of one sign: sums need more digits than fp32 has.
    pub largest: bool,
    /// A row of A and a column of B are no numbers, and so a row and a column of C.
    pub not_numbers: bool,
    pub multiprocessors: u32,
}

impl Default for Variation {
    fn default() -> Self {
        let multiprocessors = arguments::MULTIPROCESSORS;
        Variation {
            seed: 0,
            padding: [0; 3],
            skew: [0; 2],
            skew_c: 0,
            eighths: false,
            largest: false,
            not_numbers: false,
            multiprocessors,
        }
    }
}

impl Case {
    pub fn arch(&self) -> Arch {
        match self.schedule {
            Schedule::Sm80(_) if [Dtype::E4m3, Dtype::E5m2].contains(&self.problem.input) => Arch::SM_89,
            Schedule::Skinny(SkinnySchedule { overlap: false, .. }) | Schedule::Sm80(_) => Arch::SM_80,
            Schedule::Skinny(_) | Schedule::Sm90(_) => Arch::SM_90A,
        }
    }

    pub fn source(&self) -> KernelSource {
        emit(&self.problem, &self.schedule)
    }

    pub fn check(&self) {
        self.schedule.check(&self.problem.class(), self.arch()).unwrap();
    }

    pub fn compile(&self, compiler: &Compiler, change: Option<Change<'_>>) -> Result<Module, String> {
        let ptx = compiler.ptx(&self.source(), self.arch(), change)?;
        Module::parse(&ptx).map_err(|error| error.to_string())
    }

    /// Runs the product of integers, which must come out exactly.
    pub fn run(&self, module: &Module, shape: Shape, variation: Variation) -> Outcome {
        let Shape { m, n, k } = shape;
        let layout = self.problem.layout;
        let mut gpu = Gpu::new(match self.arch() {
            Arch::SM_90A => autokernel_emulator::Arch::Sm90a,
            _ => autokernel_emulator::Arch::Sm80,
        });
        // Operands of TMA have rows of a multiple of 16 bytes: the runtime sees to it.
        let input_bytes = self.problem.input.bytes();
        let unit = if matches!(self.schedule, Schedule::Sm90(_)) { 16 / input_bytes } else { 1 };
        let [pad_a, pad_b, pad_c] = variation.padding;
        let (a_rows, a_columns) = if layout.transpose_a() { (k, m) } else { (m, k) };
        let (b_rows, b_columns) = if layout.transpose_b() { (n, k) } else { (k, n) };
        let mut a = Matrix::integers(a_rows, a_columns, (a_columns + pad_a).next_multiple_of(unit), 1 + variation.seed);
        let mut b = Matrix::integers(b_rows, b_columns, (b_columns + pad_b).next_multiple_of(unit), 2 + variation.seed);
        if variation.eighths {
            a.values.iter_mut().chain(&mut b.values).for_each(|value| *value /= 8.0);
        }
        if variation.largest {
            a.values.iter_mut().chain(&mut b.values).for_each(|value| *value = value.abs() - 128.0);
        }
        if variation.not_numbers {
            a.spoil(layout.transpose_a());
            b.spoil(!layout.transpose_b());
        }
        let (input, output) = (self.problem.input, self.problem.output);
        let [skew_a, skew_b] = variation.skew.map(|elements| u64::from(elements * input_bytes));
        let second = self.problem.second.unwrap_or(input);
        let (at_a, at_b) = (a.upload_at(&mut gpu, "A", input, skew_a), b.upload_at(&mut gpu, "B", second, skew_b));
        let c = allocate(&mut gpu, "C", output, m, n, n + pad_c, variation.skew_c);

        let (_, plan) = kernel(&self.problem, &self.schedule);
        let extents = extents(m, n, k);
        let (signature, operands) = (signature(&self.problem), [at_a, at_b, c]);
        let (launch, workspace) =
            arguments::on(&mut gpu, variation.multiprocessors, &signature, &plan, extents, &operands);
        let options = Options { seed: variation.seed, instruction_budget: 1 << 26, ..Options::default() };
        let report = match gpu.launch(module, &self.source().symbol, &launch, &options) {
            Ok(report) => report,
            Err(error) => return Outcome::Fault(error.to_string()),
        };
        let got = download(&mut gpu, c, output);
        if !workspace.is_left_as_found(&mut gpu) {
            return Outcome::Wrong("a flag of the workspace stays set".to_owned());
        }
        if !workspace.is_empty() {
            // In the workspace as the first launch left it.
            if let Err(error) = gpu.launch(module, &self.source().symbol, &launch, &options) {
                return Outcome::Fault(format!("the second launch: {error}"));
            }
            if download(&mut gpu, c, output) != got {
                return Outcome::Wrong("the second launch gives something else".to_owned());
            }
        }
        for (at, (got, sum)) in got.iter().zip(product(&a, &b, layout, shape)).enumerate() {
            let (expected, tolerance) = self.expected(sum);
            // Written so that a NaN is wrong where none is expected.
            let right = (got - expected).abs() <= tolerance || (got.is_nan() && expected.is_nan());
            if !right {
                let (row, column) = (at as u32 / n, at as u32 % n);
                return Outcome::Wrong(format!("C[{row}, {column}] is {got}, expected {expected}"));
            }
        }
        Outcome::Right(Box::new(report))
    }

    /// What becomes of a sum, and how far a result may be from it: sums are exact, most epilogues are not.
    fn expected(&self, sum: f64) -> (f64, f64) {
        let output = self.problem.output;
        let exact = match self.problem.epilogue.to_string().as_str() {
            "identity" => Some(sum),
            "relu" => Some(sum.max(0.0)),
            "leaky_relu(0.25)" => Some(if sum > 0.0 { sum } else { 0.25 * sum }),
            _ => None,
        };
        if let Some(exact) = exact {
            return (rounded(output, exact), 0.0);
        }
        let value = match self.problem.epilogue.to_string().as_str() {
            "gelu" => 0.5 * sum * (1.0 + libm::erf(sum / 2f64.sqrt())),
            "gelu_tanh" => {
                0.5 * sum * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (sum + 0.044_715 * sum.powi(3))).tanh())
            }
            "silu" => sum / (1.0 + (-sum).exp()),
            "sigmoid" => 1.0 / (1.0 + (-sum).exp()),
            "tanh" => sum.tanh(),
            "leaky_relu(0.01)" => {
                if sum > 0.0 {
                    sum
                } else {
                    0.01 * sum
                }
            }
            other => panic!("no reference of {other}"),
        };
        let unit = match output {
            Dtype::Bf16 => 1.0 / 256.0,
            Dtype::F16 => 1.0 / 2048.0,
            Dtype::F32 => 1.0 / f64::from(1 << 20),
            Dtype::E4m3 | Dtype::E5m2 | Dtype::I8 | Dtype::I4x2 | Dtype::I32 => panic!("nothing is stored as {output}"),
        };
        (value, unit * value.abs() + 1e-6)
    }
}

pub fn problem(input: Dtype, output: Dtype, layout: Layout, epilogue: &str) -> Problem {
    Problem { output, ..Problem::new(input, layout, epilogue.parse().unwrap()) }
}

pub const RASTER: Raster = Raster { order: RasterOrder::AlongM, group: 2 };

/// The plainest schedule of the sm90 family, to vary.
pub const SM90: Sm90Schedule =
    Sm90Schedule { tile_m: 64, tile_n: 64, stages: 3, raster: RASTER, ..Sm90Schedule::PLAIN };

/// The plainest schedule of the sm80 family, to vary.
pub const SM80: Sm80Schedule =
    Sm80Schedule { tile_m: 64, tile_n: 64, tile_k: 32, warps_m: 2, warps_n: 2, stages: 3, raster: RASTER };

/// The plainest schedule of the skinny_sm80 family for B stored as [k, n], to vary.
pub const SKINNY: SkinnySchedule =
    SkinnySchedule { tile_m: 8, tile_n: 64, tile_k: 256, warps: 8, stages: 2, overlap: false, raster: RASTER };
