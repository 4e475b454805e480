//! Every random body on a GPU. `AUTOKERNEL_BODIES` and `AUTOKERNEL_SEED` draw more and others when this is built,
//! `AUTOKERNEL_CASES` sets the shapes of each.

use autokernel::Device;
use gpu_tests::skip;
use random_bodies::{Checked, cases, check, check_all};

fn check_on(device: &Device, default_cases: u64) {
    let capability = device.info().unwrap().compute_capability;
    check_all(&format!("on {device}"), |body| match body.arch().filter(|arch| arch.runs_on(capability)) {
        Some(_) => check(body, device, cases(default_cases)),
        None => Ok(Checked::default()),
    });
}

#[test]
fn every_random_body_is_itself_on_a_gpu() {
    let Some(device) = skip::gpu("gpu_random_bodies::every_random_body_is_itself_on_a_gpu") else { return };
    check_on(&device, 6);
}

/// For compute-sanitizer.
#[test]
fn sanitize_every_random_body() {
    let Some(device) = skip::gpu("gpu_random_bodies::sanitize_every_random_body") else { return };
    check_on(&device, 6);
}
