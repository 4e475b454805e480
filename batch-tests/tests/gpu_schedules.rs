//! Every kind of schedule on batches and groups, compiled while the test runs, on a GPU.

use autokernel::Arch;
use batch_tests::compiler::compiler;
use batch_tests::runs::{Run, runs};
use gpu_tests::skip;
use rayon::prelude::*;

#[test]
fn a_batch_is_the_same_by_every_kind_of_schedule_on_the_gpu() {
    let test = "gpu_schedules::a_batch_is_the_same_by_every_kind_of_schedule_on_the_gpu";
    let Some(device) = skip::gpu(test) else { return };
    let compiler = match compiler(env!("CARGO_TARGET_TMPDIR")) {
        Ok(compiler) => compiler,
        Err(reason) => return skip::log(test, &reason),
    };
    let of_gpu: Vec<Run> = runs().into_iter().filter(|run| run.arch == Arch::SM_90A).collect();
    of_gpu.par_iter().for_each(|run| drop(run.compiled(&compiler)));
    for run in of_gpu {
        run.on_gpu(&compiler, &device).unwrap_or_else(|report| panic!("{} by {}: {report}", run.problem, run.schedule));
    }
}
