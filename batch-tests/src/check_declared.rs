//! Every declared kernel on random problems.

use autokernel::{Arch, Device, Emulation};
use autokernel_codegen::matmul::Many;
use gpu_tests::settings;
use rand::SeedableRng;
use rand::rngs::StdRng;

use crate::catalogue::{Declared, catalogue};
use crate::check::{check, random};

/// Holds each kernel against fp64 on `device` at `cases` random sizes (or `AUTOKERNEL_CASES`): up to `largest` rows, columns and
/// K, and `most` products or groups.
///
/// # Panics
/// One is wrong; the message says what draws it again.
pub fn check_declared(device: &Device, cases: u64, largest: u32, most: u32) {
    hold(device, cases, [largest; 3], most, |kernel| kernel.runs_on(device));
}

/// The same on an emulated GPU, of the kernels that have an image for its arch.
///
/// # Panics
/// As [`check_declared`].
pub fn check_emulated(arch: Arch, cases: u64, largest: u32, most: u32) {
    let device = Device::emulated_with(Emulation::new(arch).seed(3)).expect("the build has an emulator");
    hold(&device, cases, [largest; 3], most, |kernel| kernel.has_image(arch.capability));
}

/// The same of the kernels that multiply groups of rows, or sum them: up to so many rows in all.
///
/// # Panics
/// As [`check_declared`].
pub fn check_groups(device: &Device, cases: u64, rows: u32, most: u32) {
    let is_of = |kernel: &Declared, many| kernel.runs_on(device) && kernel.problem().many() == many;
    hold(device, cases, [rows, 200, 200], most, |kernel| is_of(kernel, Many::Groups));
    hold(device, cases, [200, 200, rows], most, |kernel| is_of(kernel, Many::GroupsAlongK));
}

fn hold(device: &Device, cases: u64, largest: [u32; 3], most: u32, is_held: impl Fn(&Declared) -> bool) {
    let cases = settings::number("AUTOKERNEL_CASES", cases);
    let mut rng = StdRng::seed_from_u64(settings::number("AUTOKERNEL_SEED", 7));
    for kernel in catalogue() {
        if !is_held(&kernel) {
            continue;
        }
        let problem = kernel.problem();
        for _ in 0..cases {
            let case = random(&mut rng, &problem, largest, most);
            check(device, &problem, case, |arguments| kernel.kernel.launch(device, arguments))
                .unwrap_or_else(|report| panic!("{}: {report}", kernel.name));
        }
        println!("{}: {cases} problems of up to {largest:?}, {most} products, on {device}", kernel.name);
    }
}
