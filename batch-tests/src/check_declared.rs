//! Every declared kernel on random problems.

use autokernel::Device;
use autokernel_codegen::matmul::Many;
use gpu_tests::settings;
use rand::SeedableRng;
use rand::rngs::StdRng;

use crate::check::{check, random};
use crate::declared::catalogue;

/// Holds each kernel against fp64 on `device` at `cases` random sizes (or `AUTOKERNEL_CASES`): up to `largest` rows, columns and
/// K, and `most` products or groups.
///
/// # Panics
/// One is wrong; the message says what draws it again.
pub fn check_declared(device: &Device, cases: u64, largest: u32, most: u32) {
    hold(device, cases, [largest; 3], most, |_| true);
}

/// The same of the kernels that multiply groups of rows, or sum them: up to so many rows in all.
///
/// # Panics
/// As [`check_declared`].
pub fn check_groups(device: &Device, cases: u64, rows: u32, most: u32) {
    hold(device, cases, [rows, 200, 200], most, |many| many == Many::Groups);
    hold(device, cases, [200, 200, rows], most, |many| many == Many::GroupsAlongK);
}

fn hold(device: &Device, cases: u64, largest: [u32; 3], most: u32, is_held: impl Fn(Many) -> bool) {
    let cases = settings::number("AUTOKERNEL_CASES", cases);
    let mut rng = StdRng::seed_from_u64(settings::number("AUTOKERNEL_SEED", 7));
    for kernel in catalogue() {
        let problem = kernel.problem();
        if !is_held(problem.many()) {
            continue;
        }
        for _ in 0..cases {
            let case = random(&mut rng, &problem, largest, most);
            check(device, &problem, case, |arguments| kernel.kernel.launch(device, arguments))
                .unwrap_or_else(|report| panic!("{}: {report}", kernel.name));
        }
        println!("{}: {cases} problems of up to {largest:?}, {most} products, on {device}", kernel.name);
    }
}
