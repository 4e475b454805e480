//! Products of floats and of weights of 8 and 4 bits by the way of a user, on the CPU and on emulated GPUs.

use autokernel::{Arch, Device, Emulation};
use gpu_tests::{skip, weights};

#[test]
fn weights_of_few_bits_are_multiplied_exactly_on_the_cpu() {
    weights::check(&Device::cpu(), 12).unwrap();
    weights::check_smallest(&Device::cpu()).unwrap();
}

#[test]
fn weights_of_few_bits_are_multiplied_exactly_on_an_emulated_hopper() {
    on_emulated("weights_of_few_bits_are_multiplied_exactly_on_an_emulated_hopper", Arch::SM_90A);
}

#[test]
fn weights_of_few_bits_are_multiplied_exactly_on_an_emulated_ampere() {
    on_emulated("weights_of_few_bits_are_multiplied_exactly_on_an_emulated_ampere", Arch::SM_80);
}

fn on_emulated(test: &str, arch: Arch) {
    for kernel in weights::KERNELS {
        if let Some(reason) = &kernel.descriptor().unwrap().not_compiled {
            return skip::log(&format!("declared_weights::{test}"), reason);
        }
    }
    let device = Device::emulated_with(Emulation::new(arch).seed(7)).unwrap();
    weights::check(&device, 3).unwrap();
    weights::check_smallest(&device).unwrap();
}

#[test]
fn packed_numbers_and_scales_that_do_not_fit_k_are_refused() {
    let device = Device::cpu();
    let text = |sizes| weights::refusal(&device, sizes);
    let halves = text([[2, 256], [8, 256], [2, 8]]);
    assert!(halves.contains("`k` is 256 by") && halves.contains("512 by the columns of `w` (8x256)"), "{halves}");
    let groups = text([[2, 256], [8, 128], [3, 8]]);
    assert!(groups.contains("`k` is 256 by") && groups.contains("384 by the rows of `scales` (3x8)"), "{groups}");
    let parts = text([[2, 40], [8, 20], [2, 8]]);
    assert!(parts.contains("rows of `w` have 20 elements, and 16 stand together"), "{parts}");
    let columns = text([[2, 256], [8, 128], [2, 7]]);
    assert!(columns.contains("`n`"), "{columns}");
}
