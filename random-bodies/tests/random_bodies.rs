//! What anybody may write: random bodies of both attributes, each by a random schedule.
//!
//! `AUTOKERNEL_BODIES` and `AUTOKERNEL_SEED` draw more and others (see `build/main.rs`), `AUTOKERNEL_CASES` sets the shapes of
//! each. A failure prints the command that repeats it.

use autokernel::{Arch, Device, Emulation};
use gpu_tests::skip;
use random_bodies::{BODIES, Body, Checked, cases, check, check_all};

#[test]
fn every_random_body_that_passes_the_rules_compiles_without_a_spill() {
    let refused = |body: &Body| Some(format!("{}\n{}", body.refused?, body.describe()));
    let refused: Vec<String> = BODIES.iter().filter_map(refused).collect();
    assert!(refused.is_empty(), "{} of {} bodies:\n\n{}", refused.len(), BODIES.len(), refused.join("\n\n"));
}

#[test]
fn every_random_body_is_itself_on_the_cpu() {
    check_all("on the CPU", |body| check(body, &Device::cpu(), cases(6)));
}

#[test]
fn every_random_body_is_itself_on_an_emulated_gpu() {
    let test = "random_bodies::every_random_body_is_itself_on_an_emulated_gpu";
    if let Some(reason) = BODIES.iter().find_map(|body| body.kernel.descriptor().unwrap().not_compiled.clone()) {
        return skip::log(test, &reason);
    }
    check_all("emulated", |body| {
        let Some(arch) = body.arch() else { return Ok(Checked::default()) };
        // A portable image runs on every GPU.
        let gpu = if arch == Arch::SM_80 && body.seed.is_multiple_of(3) { Arch::SM_90A } else { arch };
        let device = Device::emulated_with(Emulation::new(gpu).seed(body.seed % 4)).unwrap();
        check(body, &device, cases(3))
    });
}
