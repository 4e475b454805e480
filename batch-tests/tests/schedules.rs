//! Every kind of schedule on batches and groups, compiled while the test runs, on emulated GPUs.

use batch_tests::compiler::compiler;
use batch_tests::runs::runs;
use gpu_tests::skip;
use rayon::prelude::*;

#[test]
fn a_batch_is_the_same_by_every_kind_of_schedule() {
    let compiler = match compiler(env!("CARGO_TARGET_TMPDIR")) {
        Ok(compiler) => compiler,
        Err(reason) => return skip::log("schedules::a_batch_is_the_same_by_every_kind_of_schedule", &reason),
    };
    runs().par_iter().for_each(|run| {
        run.emulate(&compiler).unwrap_or_else(|report| panic!("{} by {}: {report}", run.problem, run.schedule));
    });
}
