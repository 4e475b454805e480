//! Products that make the scales of their 8-bit outputs by the way of a user, on the CPU and on an emulated Hopper.

use autokernel::{Arch, Device, Emulation};
use gpu_tests::{made_scales, skip};

#[test]
fn scales_are_made_and_taken_by_the_next_product_on_the_cpu() {
    made_scales::check(&Device::cpu(), 12).unwrap();
}

#[test]
fn scales_are_made_and_taken_by_the_next_product_on_an_emulated_hopper() {
    let test = "declared_made_scales::scales_are_made_and_taken_by_the_next_product_on_an_emulated_hopper";
    for kernel in made_scales::KERNELS {
        if let Some(reason) = &kernel.descriptor().unwrap().not_compiled {
            return skip::log(test, reason);
        }
    }
    let hopper = Device::emulated_with(Emulation::new(Arch::SM_90A).seed(7)).unwrap();
    made_scales::check(&hopper, 3).unwrap();
}

#[test]
fn scales_that_do_not_cover_the_result_are_refused() {
    let told = made_scales::refusal(&Device::cpu(), 300, 2);
    assert!(told.contains("`out_scales` (3x2) are 2, and 3 blocks of 128 cover `n`"), "{told}");
}
