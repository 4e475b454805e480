//! Every random body on a GPU. `AUTOKERNEL_BODIES` and `AUTOKERNEL_SEED` draw more and others when this is built,
//! `AUTOKERNEL_CASES` sets the shapes of each; with `AUTOKERNEL_PROCESSES=8` and `AUTOKERNEL_PROCESS` from 0 to 7 eight processes share them.

use gpu_tests::skip;
use random_bodies::{Checked, cases, check, check_all};

/// Also for compute-sanitizer, which runs what has `sanitize` in its name.
#[test]
fn sanitize_every_random_body_on_a_gpu() {
    let Some(device) = skip::gpu("gpu_random_bodies::sanitize_every_random_body_on_a_gpu") else { return };
    let capability = device.info().unwrap().compute_capability;
    check_all(&format!("on {device}"), |body| match body.arch().filter(|arch| arch.runs_on(capability)) {
        Some(_) => check(body, &device, cases(6)),
        None => Ok(Checked::default()),
    });
}
