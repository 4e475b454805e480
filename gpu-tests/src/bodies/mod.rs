//! Products with bodies, held against what they give in fp64: the product's error is that of its sums, and what the body
//! makes of it is carried through its expressions.

pub mod declared;
pub mod derived;
mod timed_set;

use autokernel::{
    Argument, CompiledKernel, Device, Dtype, Extents, Image, LaunchPlan, Result, Role, Signature, matmul,
};
use autokernel_codegen::problem;
use autokernel_codegen::product::{Body, Problem, oracle};
use autokernel_codegen::rows::oracle::Ball;
use autokernel_codegen::rows::{Kind, Operand};

use crate::host::Values;
use crate::operands::{Ran, Setup, Told, is_right, run_twice};
use crate::place::Place;
use crate::tolerance::accumulation;
use crate::{reference, settings, shapes};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

pub use timed_set::TimedSet;

include!("timed.rs");
include!("timed_fp8.rs");
include!("timed_fp8_output.rs");
include!("timed_loss.rs");
include!("timed_math.rs");
include!("timed_types.rs");
include!("timed_weights.rs");
include!("timed_block_scales.rs");

/// A kernel of [`TIMED`], [`TIMED_FP8`] or another such list as the build script compiled it, for [`GPU`](crate::rows::GPU).
pub struct TimedImage {
    /// The name of what it computes.
    pub name: &'static str,
    /// How, in a line.
    pub schedule: &'static str,
    pub(crate) problem: &'static str,
    pub(crate) plan: &'static str,
    pub(crate) cubin: &'static [u8],
}

impl TimedImage {
    /// What it computes.
    pub fn problem(&self) -> problem::Problem {
        serde_json::from_str(self.problem).expect("written by the build script")
    }

    /// What a launch of it takes.
    pub fn signature(&self) -> Signature {
        self.problem().signature()
    }

    /// Loads it on `device`.
    ///
    /// # Errors
    /// The driver refuses it.
    pub fn load(&self, device: &Device) -> Result<CompiledKernel> {
        let plan: LaunchPlan = serde_json::from_str(self.plan).expect("written by the build script");
        // SAFETY: the build script compiled the image from the source that was emitted with this plan.
        unsafe { CompiledKernel::load(device, &self.signature(), &plan, Image::Cubin(self.cubin)) }
    }
}

/// Every kernel; none where the build found no nvcc.
pub const TIMED_IMAGES: &[TimedImage] = include!(concat!(env!("OUT_DIR"), "/timed_images.rs"));

/// Runs `launch`, which computes `problem` on operands of `device`, twice on operands of that shape: guards must stay, both
/// runs give the same bits, and every element is what the body gives.
///
/// # Errors
/// A report of what is not so.
///
/// # Panics
/// The problem has no body.
pub fn check_launch(
    device: &Device,
    problem: &Problem,
    (shape, values, seed): (Extents, Values, u64),
    place: impl FnMut(usize, usize) -> Place,
    launch: impl Fn(&mut [Argument<'_>]) -> Result<()>,
) -> std::result::Result<Told, String> {
    let body = problem.body.as_ref().expect("a problem with a body");
    let report = |reason: String| format!("{problem}, {shape}, seed {seed}, {device}: {reason}");
    let sizes = sizes(problem, body, &shape);
    let setup = Setup { operands: body.operands(), sizes: &sizes, values, seed };
    let ran = run_twice(device, &setup, place, launch).map_err(report)?;
    judge(problem, body, &shape, &ran).map_err(report)
}

/// As [`check_launch`], of every declared kernel on random shapes of up to `largest` in each dimension, `cases` each where
/// `AUTOKERNEL_CASES` says no other number.
///
/// # Panics
/// One gives something else; the message says where.
pub fn check_declared(device: &Device, cases: u64, largest: u32) {
    let mut rng = StdRng::seed_from_u64(settings::number("AUTOKERNEL_SEED", 41));
    for kernel in declared::catalogue().iter().filter(|kernel| kernel.serves(device)) {
        let problem = kernel.problem();
        for case in 0..settings::number("AUTOKERNEL_CASES", cases) {
            let shape = shapes::with_known(&shapes::random(&mut rng, largest), &problem);
            let (values, seed) = (if case % 2 == 0 { Values::Uniform } else { Values::Integers }, rng.random());
            let mut places = StdRng::seed_from_u64(seed);
            let place = |rows, columns| Place::random(&mut places, rows, columns);
            let launch = |arguments: &mut [Argument<'_>]| kernel.kernel.launch(device, arguments);
            check_launch(device, &problem, (shape, values, seed), place, launch)
                .unwrap_or_else(|report| panic!("{}: {report}", kernel.name));
        }
    }
}

/// Rows and columns of each operand.
fn sizes(problem: &Problem, body: &Body, shape: &Extents) -> Vec<(usize, usize)> {
    let [m, n, k] = matmul::sizes(shape).map(|size| size as usize);
    let factors = body.factors();
    let size = |(at, operand): (u8, &Operand)| match (operand.kind, factors.iter().position(|factor| *factor == at)) {
        (Kind::Matrix, Some(0)) if problem.layout.transpose_a() => (k, m),
        (Kind::Matrix, Some(0)) => (m, k),
        (Kind::Matrix, Some(_)) if problem.layout.transpose_b() => (n, k),
        (Kind::Matrix, Some(_)) => (k, n),
        (Kind::Matrix, None) if body.is_repeated(&operand.name) => (m, own_columns(&operand.name)),
        (Kind::Matrix, None) => (m, n),
        (Kind::Row, _) if body.is_repeated(&operand.name) => (1, own_columns(&operand.name)),
        (Kind::Row, _) => (1, n),
        (Kind::Column | Kind::Index, _) => (1, m),
        (Kind::Scalar | Kind::DeviceScalar, _) => (1, 1),
    };
    (0..).zip(body.operands()).map(size).collect()
}

/// Columns of a table that repeats along a row: some that a tile has, and some that pairs are torn by.
fn own_columns(name: &str) -> usize {
    if name.len().is_multiple_of(2) { 16 } else { 7 }
}

fn judge(problem: &Problem, body: &Body, shape: &Extents, ran: &Ran) -> std::result::Result<Told, String> {
    let Ran { values, written } = ran;
    let [m, n, k] = matmul::sizes(shape).map(|size| size as usize);
    let factors: Vec<&[f64]> = body.factors().into_iter().map(|factor| &*values[usize::from(factor)]).collect();
    let product = |b: &&[f64]| reference::product(shape, problem.layout, factors[0], b);
    let products: Vec<Vec<f64>> = factors[1..].iter().map(product).collect();
    let operands = body.operands();
    let outputs: Vec<usize> = (0..operands.len()).filter(|&at| operands[at].role == Role::Output).collect();
    let mut told = Told::default();
    let repeats = |operand: usize| body.is_repeated(&operands[operand].name);
    let own = |operand: usize, row: usize, column: usize| {
        let columns = own_columns(&operands[operand].name);
        values[operand].get(row * columns + column % columns).copied().unwrap_or(0.0)
    };
    let input = |operand: usize, row: usize, column: usize| match operands[operand].kind {
        Kind::Matrix if repeats(operand) => own(operand, row, column),
        Kind::Matrix => values[operand].get(row * n + column).copied().unwrap_or(0.0),
        Kind::Row if repeats(operand) => own(operand, 0, column),
        Kind::Row => values[operand][column],
        Kind::Column | Kind::Index => values[operand].get(row).copied().unwrap_or(0.0),
        Kind::Scalar | Kind::DeviceScalar => values[operand][0],
    };
    let error = |sum: f64| match problem.input {
        _ if !sum.is_finite() => 0.0,
        Dtype::I8 => sum.abs() * f64::from(f32::EPSILON) / 2.0, // of whatever size
        input => accumulation(input, k as f64),
    };
    let ball = |sums: &Vec<f64>, at: usize| Ball { value: sums[at], error: error(sums[at]) };
    let sums = |at: usize| products.iter().map(|sums| ball(sums, at)).collect::<Vec<_>>();
    let of_kind = |wanted: Kind| outputs.iter().copied().filter(move |&output| operands[output].kind == wanted);
    let mut wrong = |expected: Vec<Ball>, kind: Kind, at: usize| {
        expected.iter().for_each(|&ball| told.count(ball));
        let is_wrong = |&(output, ball): &(usize, Ball)| !is_right(operands[output].dtype, ball, written[output][at]);
        let (output, ball) = of_kind(kind).zip(expected).find(is_wrong)?;
        Some(format!("`{}`[{at}] is {}, not {ball:?}", operands[output].name, written[output][at]))
    };
    let elements = (0..m).find_map(|row| {
        let sums_of_row: Vec<Vec<Ball>> = (0..n).map(|column| sums(row * n + column)).collect();
        let expected = oracle::elements(body, row, &sums_of_row, &|operand, column| input(operand, row, column));
        expected.into_iter().enumerate().find_map(|(column, expected)| {
            let told = wrong(expected, Kind::Matrix, row * n + column)?;
            Some(format!("{told}, in row {row} and column {column}, of the sums {:?}", sums_of_row[column]))
        })
    });
    let rows = if n == 0 || of_kind(Kind::Column).next().is_none() { 0 } else { m };
    let elements_or_rows = elements.or_else(|| {
        (0..rows).find_map(|row| {
            let sums: Vec<Vec<Ball>> = (0..n).map(|column| sums(row * n + column)).collect();
            wrong(oracle::of_row(body, row, &sums, &|operand, column| input(operand, row, column)), Kind::Column, row)
        })
    });
    // Without elements nothing is written.
    let is_folded = m > 0 && n > 0 && of_kind(Kind::DeviceScalar).next().is_some();
    let of_all_rows = || {
        let of_row = |row: usize| (0..n).map(|column| sums(row * n + column)).collect::<Vec<_>>();
        let sums: Vec<Vec<Vec<Ball>>> = (0..m).map(of_row).collect();
        wrong(oracle::of_rows(body, &sums, &input), Kind::DeviceScalar, 0)
    };
    elements_or_rows.or_else(|| is_folded.then(of_all_rows).flatten()).map_or(Ok(told), Err)
}
