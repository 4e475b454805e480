//! Row-wise kernels, compiled when this crate was built, held against what their bodies give in fp64.

use autokernel::{Argument, CompiledKernel, ComputeCapability, Device, Dtype, Image, LaunchPlan, Result, bf16, f16};
use autokernel_codegen::rows::oracle::{self, Ball};
use autokernel_codegen::rows::{AnySchedule, Kind, Operand, Problem, RowsSchedule, plan};

pub mod declared;

use crate::host::{Guarded, HostMatrix, Sample, Values};
use crate::placement::Placement;

include!("bodies.rs");

/// A kernel as the build script compiled it.
pub struct RowsImage {
    /// The body's name.
    pub name: &'static str,
    /// What `TYPE` stands for in it.
    pub dtype: &'static str,
    problem: &'static str,
    schedule: &'static str,
    plan: &'static str,
    cubin: &'static [u8],
}

/// Every kernel; none where the build found no nvcc.
pub const IMAGES: &[RowsImage] = include!(concat!(env!("OUT_DIR"), "/rows_images.rs"));

/// The GPUs that the images run on.
pub const GPU: ComputeCapability = ComputeCapability::new(9, 0);

/// A kernel that is loaded.
pub struct RowsKernel {
    /// What it computes.
    pub problem: Problem,
    /// How.
    pub schedule: RowsSchedule,
    /// The kernel itself.
    pub kernel: CompiledKernel,
}

impl RowsImage {
    /// Loads it on `device`.
    ///
    /// # Errors
    /// The driver refuses it.
    pub fn load(&self, device: &Device) -> Result<RowsKernel> {
        let problem: Problem = serde_json::from_str(self.problem).expect("written by the build script");
        let schedule: AnySchedule = serde_json::from_str(self.schedule).expect("written by the build script");
        let schedule = RowsSchedule::try_from(&schedule).expect("written by the build script");
        let plan: LaunchPlan = serde_json::from_str(self.plan).expect("written by the build script");
        let signature = plan::signature(&problem);
        // SAFETY: the build script compiled the image from the source that was emitted with this plan.
        let kernel = unsafe { CompiledKernel::load(device, &signature, &plan, Image::Cubin(self.cubin)) }?;
        Ok(RowsKernel { problem, schedule, kernel })
    }
}

/// An operand on a device, inside a guarded buffer.
enum Placed {
    Bf16(Guarded<bf16>),
    F16(Guarded<f16>),
    F32(Guarded<f32>),
}

/// What a buffer holds, read back.
struct Read {
    elements: Vec<f64>,
    bits: Vec<u32>,
    broken_guard: Option<String>,
}

/// `$value` of what is inside, whatever its type.
macro_rules! of_placed {
    ($placed:expr, $inner:ident => $value:expr) => {
        match $placed {
            Placed::Bf16($inner) => $value,
            Placed::F16($inner) => $value,
            Placed::F32($inner) => $value,
        }
    };
}

impl Placed {
    fn new(device: &Device, operand: &Operand, placement: Placement, seed: Option<u64>) -> Result<(Self, Vec<f64>)> {
        fn typed<T: Sample>(device: &Device, at: Placement, seed: Option<u64>) -> Result<(Guarded<T>, Vec<f64>)> {
            let host = match seed {
                Some(seed) => HostMatrix::<T>::filled(at, Values::Uniform, seed),
                None => HostMatrix::<T>::poison(at),
            };
            Ok((host.upload(device)?, host.to_f64()))
        }
        match operand.dtype {
            Dtype::Bf16 => typed(device, placement, seed).map(|(there, values)| (Placed::Bf16(there), values)),
            Dtype::F16 => typed(device, placement, seed).map(|(there, values)| (Placed::F16(there), values)),
            Dtype::F32 => typed(device, placement, seed).map(|(there, values)| (Placed::F32(there), values)),
        }
    }

    fn argument(&mut self, operand: &Operand) -> Result<Argument<'_>> {
        match operand.role {
            autokernel::Role::Input => of_placed!(self, it => Ok(it.view()?.into())),
            autokernel::Role::Output => of_placed!(self, it => Ok(it.view_mut()?.into())),
        }
    }

    fn read(&self) -> Result<Read> {
        fn typed<T: Sample>(there: &Guarded<T>) -> Result<Read> {
            let host = there.download()?;
            let bits = host.elements().map(Sample::bits).collect();
            Ok(Read { elements: host.to_f64(), bits, broken_guard: host.first_broken_guard() })
        }
        of_placed!(self, it => typed(it))
    }
}

/// Runs the kernel twice on `rows` rows of `columns` elements that lie as `place` says: guards must stay, both runs give
/// the same bits, and every element is what the body gives.
///
/// # Errors
/// A report of what is not so.
pub fn check(
    device: &Device,
    kernel: &RowsKernel,
    rows: usize,
    columns: usize,
    seed: u64,
    place: impl FnMut(usize, usize) -> Placement,
) -> Result<(), String> {
    let launch = |arguments: &mut [Argument<'_>]| kernel.kernel.launch(device, arguments);
    check_launch(device, &kernel.problem, launch, rows, columns, seed, place)
}

/// As [`check`], of anything that launches `problem` on operands of `device`.
///
/// # Errors
/// A report of what is not so.
pub fn check_launch(
    device: &Device,
    problem: &Problem,
    launch: impl Fn(&mut [Argument<'_>]) -> Result<()>,
    rows: usize,
    columns: usize,
    seed: u64,
    mut place: impl FnMut(usize, usize) -> Placement,
) -> Result<(), String> {
    let failed = |error: autokernel::Error| format!("{rows}x{columns}, seed {seed}: {error}");
    let operands = &problem.body().operands;
    let (mut placed, mut values) = (Vec::new(), Vec::new());
    for (at, operand) in operands.iter().enumerate() {
        let placement = match operand.kind {
            Kind::Matrix => place(rows, columns),
            Kind::Row => place(1, columns),
            Kind::Column => place(1, rows),
            Kind::Scalar => Placement::dense(1, 1),
        };
        let seed = (operand.role == autokernel::Role::Input).then_some(seed.wrapping_mul(31) + at as u64);
        let (there, host) = Placed::new(device, operand, placement, seed).map_err(failed)?;
        placed.push(there);
        values.push(host);
    }
    let mut runs = Vec::new();
    for _ in 0..2 {
        let arguments =
            placed.iter_mut().zip(&values).zip(operands).map(|((placed, values), operand)| match operand.kind {
                Kind::Scalar => Ok(Argument::Scalar(values[0] as f32)),
                _ => placed.argument(operand),
            });
        let mut arguments = arguments.collect::<Result<Vec<_>>>().map_err(failed)?;
        launch(&mut arguments).map_err(failed)?;
        drop(arguments);
        runs.push(placed.iter().map(Placed::read).collect::<Result<Vec<_>>>().map_err(failed)?);
    }
    let place = |at: usize| format!("{rows}x{columns}, seed {seed}, `{}`", operands[at].name);
    for (at, (first, second)) in runs[0].iter().zip(&runs[1]).enumerate() {
        if let Some(broken) = first.broken_guard.as_ref().or(second.broken_guard.as_ref()) {
            return Err(format!("{}: written outside: {broken}", place(at)));
        }
        if first.bits != second.bits {
            return Err(format!("{}: two runs gave different bits", place(at)));
        }
    }
    let outputs: Vec<usize> = (0..operands.len()).filter(|&at| operands[at].role == autokernel::Role::Output).collect();
    for row in 0..rows {
        let input = |at: usize, column: usize| match operands[at].kind {
            Kind::Matrix => values[at][row * columns + column],
            Kind::Row => values[at][column],
            Kind::Column => values[at][row],
            Kind::Scalar => values[at][0],
        };
        for (&at, expected) in outputs.iter().zip(oracle::row(problem.body(), columns, &input)) {
            for (column, ball) in expected.iter().enumerate() {
                let got = runs[0][at].elements[row * expected.len() + column];
                if !is_right(operands[at].dtype, *ball, got) {
                    return Err(format!("{}: [{row}, {column}] is {got}, not {ball:?}", place(at)));
                }
            }
        }
    }
    Ok(())
}

/// Whether `got` is some number of the ball, rounded to `dtype`.
fn is_right(dtype: Dtype, ball: Ball, got: f64) -> bool {
    let rounded = |value: f64| match dtype {
        Dtype::Bf16 => bf16::from_f32(oracle::to_odd(value)).to_f64(),
        Dtype::F16 => f16::from_f32(oracle::to_odd(value)).to_f64(),
        Dtype::F32 => f64::from(value as f32),
    };
    let Ball { value, error } = ball;
    if value.is_nan() || value.is_infinite() {
        return got == value || (got.is_nan() && value.is_nan());
    }
    error.is_infinite() || (rounded(value - error)..=rounded(value + error)).contains(&got)
}
