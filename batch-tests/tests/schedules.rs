//! Every kind of schedule on batches and groups, compiled while the test runs, on emulated GPUs. Ordinarily a part is run; all of them
//! with `AUTOKERNEL_SOAK=1`.

use batch_tests::compiler::compiler;
use batch_tests::runs::runs;
use gpu_tests::{settings, skip};
use rayon::prelude::*;

/// Ordinarily one of so many kinds of schedules is run, of another problem others.
const SAMPLE: usize = 3;

#[test]
fn a_batch_is_the_same_by_every_kind_of_schedule() {
    let compiler = match compiler(env!("CARGO_TARGET_TMPDIR")) {
        Ok(compiler) => compiler,
        Err(reason) => return skip::log("schedules::a_batch_is_the_same_by_every_kind_of_schedule", &reason),
    };
    runs().par_iter().filter(|run| run.number.is_multiple_of(settings::one_of(SAMPLE))).for_each(|run| {
        run.emulate(&compiler).unwrap_or_else(|report| panic!("{} by {}: {report}", run.problem, run.schedule));
    });
}
