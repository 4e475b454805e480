//! What anybody may write: random bodies of both attributes, each by a random schedule.
//!
//! `AUTOKERNEL_BODIES` and `AUTOKERNEL_SEED` draw more and others (see `build/main.rs`), `AUTOKERNEL_CASES` sets the shapes of
//! each. A failure prints the command that repeats it.

use autokernel::{Arch, Device, Emulation};
use gpu_tests::{settings, skip};
use random_bodies::{BODIES, Body, Checked, check};

/// Of all elements, so many at most may have an interval that says nothing of them.
const MOST_UNTOLD: f64 = 0.25;

fn cases(default: u64) -> u64 {
    settings::number("AUTOKERNEL_CASES", default)
}

/// Checks every body; panics with all failures.
fn check_all(what: &str, one: impl Fn(&Body) -> Result<Checked, String>) {
    let mut all = Checked::default();
    let mut failures = Vec::new();
    for body in BODIES {
        match one(body) {
            Ok(checked) => all = all.and(checked),
            Err(report) => failures.push(report),
        }
    }
    let Checked { problems, told } = all;
    println!("{what}: {} bodies, {problems} problems, {told}", BODIES.len());
    assert!(failures.is_empty(), "{} of {} bodies:\n\n{}", failures.len(), BODIES.len(), failures.join("\n\n"));
    // Of a few bodies the share is theirs.
    assert!(BODIES.len() < 20 || told.untold_share() < MOST_UNTOLD, "too little is said: {told}");
}

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

#[test]
fn every_random_body_is_itself_on_a_gpu() {
    let test = "random_bodies::every_random_body_is_itself_on_a_gpu";
    let Some(device) = skip::gpu(test) else { return };
    let capability = device.info().unwrap().compute_capability;
    check_all(&format!("on {device}"), |body| match body.arch().filter(|arch| arch.runs_on(capability)) {
        Some(_) => check(body, &device, cases(6)),
        None => Ok(Checked::default()),
    });
}
