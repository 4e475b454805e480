//! Row-wise kernels, compiled when this crate was built, held against what their bodies give in fp64.

use autokernel::{Argument, CompiledKernel, ComputeCapability, Device, Image, LaunchPlan, Result};
use autokernel_codegen::rows::oracle;
use autokernel_codegen::rows::{AnySchedule, Kind, Operand, Problem, Schedule, plan};

pub mod declared;
pub mod derived;

use crate::host::Values;
use crate::operands::{Ran, Setup, Told, is_right, run_twice};
use crate::place::Place;

include!("bodies.rs");
include!("rings.rs");

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

/// Every kernel; none where the build found no nvcc, and in a dev build without a GPU.
pub const IMAGES: &[RowsImage] = include!(concat!(env!("OUT_DIR"), "/rows_images.rs"));

/// The GPUs that the images run on.
pub const GPU: ComputeCapability = ComputeCapability::new(9, 0);

/// A kernel that is loaded.
pub struct RowsKernel {
    /// What it computes.
    pub problem: Problem,
    /// How.
    pub schedule: Schedule,
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
        let schedule = Schedule::try_from(&schedule).expect("written by the build script");
        let plan: LaunchPlan = serde_json::from_str(self.plan).expect("written by the build script");
        let signature = plan::signature(&problem);
        // SAFETY: the build script compiled the image from the source that was emitted with this plan.
        let kernel = unsafe { CompiledKernel::load(device, &signature, &plan, Image::Cubin(self.cubin)) }?;
        Ok(RowsKernel { problem, schedule, kernel })
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
    place: impl FnMut(usize, usize) -> Place,
) -> Result<Told, String> {
    let launch = |arguments: &mut [Argument<'_>]| kernel.kernel.launch(device, arguments);
    check_launch(device, &kernel.problem, launch, (rows, columns), (Values::Uniform, seed), place)
}

/// As [`check`], of anything that launches `problem` on operands of `device`.
///
/// # Errors
/// A report of what is not so.
pub fn check_launch(
    device: &Device,
    problem: &Problem,
    launch: impl Fn(&mut [Argument<'_>]) -> Result<()>,
    (rows, columns): (usize, usize),
    (values, seed): (Values, u64),
    place: impl FnMut(usize, usize) -> Place,
) -> Result<Told, String> {
    let body = problem.body();
    let operands = &body.operands;
    // Fewer rows to pick from than are picked, or more.
    let picked_rows = 1 + seed as usize % (2 * rows);
    let rows_of = |operand: &Operand| if body.is_picked(&operand.name) { picked_rows } else { rows };
    // Columns that repeat are few, or more than a row has.
    let period = 1 + seed as usize % (columns + columns / 4 + 1);
    let width = |operand: &Operand| if body.is_repeated(&operand.name) { period } else { columns };
    let sizes = operands.iter().map(|operand| match operand.kind {
        Kind::Matrix => (rows_of(operand), width(operand)),
        Kind::Row => (1, width(operand)),
        Kind::Column | Kind::Index => (1, rows_of(operand)),
        Kind::Scalar | Kind::DeviceScalar => (1, 1),
    });
    let report = |reason: String| format!("{rows}x{columns}, seed {seed}: {reason}");
    let setup = Setup { operands, sizes: &sizes.collect::<Vec<_>>(), values, seed };
    let Ran { values, written } = run_twice(device, &setup, place, launch).map_err(report)?;
    let outputs: Vec<usize> = (0..operands.len()).filter(|&at| operands[at].role == autokernel::Role::Output).collect();
    if body.is_by_columns() {
        let input = |at: usize, row: usize, column: usize| match operands[at].kind {
            Kind::Matrix => values[at][row * columns + column],
            Kind::Row => values[at][column],
            Kind::Column | Kind::Index => values[at][row],
            Kind::Scalar | Kind::DeviceScalar => values[at][0],
        };
        let mut told = Told::default();
        for (&at, expected) in outputs.iter().zip(oracle::columns(body, rows, columns, &input)) {
            for (column, (ball, &got)) in expected.iter().zip(&written[at]).enumerate() {
                told.count(*ball);
                if !is_right(operands[at].dtype, *ball, got) {
                    let name = &operands[at].name;
                    return Err(report(format!("`{name}`[{column}] is {got}, not {ball:?}")));
                }
            }
        }
        return Ok(told);
    }
    // Which rows of each output were written.
    let mut is_written: Vec<Vec<bool>> = outputs.iter().map(|&at| vec![false; rows_of(&operands[at])]).collect();
    let mut told = Told::default();
    for row in 0..rows {
        let input = |at: usize, row: usize, column: usize| match operands[at].kind {
            Kind::Matrix | Kind::Column if row >= rows_of(&operands[at]) => f64::NAN,
            Kind::Matrix => values[at][row * width(&operands[at]) + column % width(&operands[at])],
            Kind::Row => values[at][column % width(&operands[at])],
            Kind::Column | Kind::Index => values[at][row],
            Kind::Scalar | Kind::DeviceScalar => values[at][0],
        };
        let expected = oracle::row(body, row, columns, &input);
        for ((&at, is_written), expected) in outputs.iter().zip(&mut is_written).zip(expected) {
            let index = body.row_of_output(&operands[at].name);
            let index = index.and_then(|index| operands.iter().position(|operand| operand.name == index));
            // Of a negative number a large one is made.
            let row = index.map_or(row, |index| values[index][row] as i64 as usize);
            let Some(is_written) = is_written.get_mut(row) else { continue };
            *is_written = true;
            for (column, ball) in expected.iter().enumerate() {
                told.count(*ball);
                let got = written[at][row * expected.len() + column];
                if !is_right(operands[at].dtype, *ball, got) {
                    let name = &operands[at].name;
                    return Err(report(format!("`{name}`[{row}, {column}] is {got}, not {ball:?}")));
                }
            }
        }
    }
    for (&at, is_written) in outputs.iter().zip(&is_written) {
        let width = written[at].len() / is_written.len();
        let left = (0..is_written.len()).filter(|row| !is_written[*row]);
        let touched = left.flat_map(|row| row * width..(row + 1) * width).find(|&place| !written[at][place].is_nan());
        if let Some(place) = touched {
            let (name, row) = (&operands[at].name, place / width);
            return Err(report(format!("row {row} of `{name}` was written, which no index picks")));
        }
    }
    Ok(told)
}
