//! What measurements of row-wise kernels share: a body of one element type, its images, and which of them the model chooses.

use autokernel::Extents;
use autokernel_codegen::matmul::model::Machine;
use autokernel_codegen::nvcc::Compiler;
use autokernel_codegen::problem::Problem;
use autokernel_codegen::rows::{self, AnySchedule};
use gpu_tests::rows::NamedBody;

use crate::images::{self, Compiled};

/// The kernel of `body` for elements of `dtype`.
///
/// # Panics
/// It is no body.
pub fn problem(body: &NamedBody, dtype: &str) -> rows::Problem {
    let function = syn::parse_str(&body.source.replace("TYPE", dtype)).expect("a function");
    rows::problem(&function).expect("a body")
}

/// `problem` by each of `schedules` that compiles.
///
/// # Panics
/// One breaks a rule.
pub fn compile(compiler: &Compiler, problem: &Problem, schedules: Vec<AnySchedule>) -> Vec<Compiled<AnySchedule>> {
    images::compile(compiler, schedules, |schedule| problem.emit(schedule).expect("a schedule of this problem"))
}

/// The milliseconds that the model predicts; infinitely many where it does not know the schedule.
pub fn predicted_ms(problem: &Problem, schedule: &AnySchedule, extents: &Extents, machine: Machine) -> f64 {
    let forecast = problem.class().forecast(schedule, None, machine);
    forecast.map_or(f64::INFINITY, |forecast| forecast.predicted_ms(extents))
}

/// The one of `carried` that a launch takes.
///
/// # Panics
/// There is none.
pub fn chosen(
    problem: &Problem,
    carried: impl IntoIterator<Item = AnySchedule>,
    extents: &Extents,
    machine: Machine,
) -> AnySchedule {
    let timed = carried.into_iter().map(|schedule| (predicted_ms(problem, &schedule, extents, machine), schedule));
    let (_, chosen) = timed.min_by(|left, right| left.0.total_cmp(&right.0)).expect("a kernel carries images");
    chosen
}
