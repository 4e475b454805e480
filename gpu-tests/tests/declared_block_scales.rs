//! Products of 8-bit floats whose blocks have scales by the way of a user, on the CPU and on an emulated Hopper.

use autokernel::{Arch, Device, Emulation};
use gpu_tests::{block_scales, skip};

#[test]
fn scaled_blocks_are_multiplied_exactly_on_the_cpu() {
    block_scales::check(&Device::cpu(), 12).unwrap();
}

#[test]
fn activations_of_16_bits_are_quantised_by_a_row_wise_kernel_and_multiplied_on_the_cpu() {
    block_scales::check_from_16_bits(&Device::cpu(), [70, 200, 512], 1).unwrap();
}

#[test]
fn scaled_blocks_are_multiplied_exactly_on_an_emulated_hopper() {
    let test = "declared_block_scales::scaled_blocks_are_multiplied_exactly_on_an_emulated_hopper";
    for kernel in block_scales::KERNELS {
        if let Some(reason) = &kernel.descriptor().unwrap().not_compiled {
            return skip::log(test, reason);
        }
    }
    let hopper = Device::emulated_with(Emulation::new(Arch::SM_90A).seed(7)).unwrap();
    block_scales::check(&hopper, 3).unwrap();
    block_scales::check_from_16_bits(&hopper, [33, 140, 256], 2).unwrap();
}

#[test]
fn scales_that_do_not_cover_the_factors_are_refused() {
    let device = Device::cpu();
    let text = |sizes| block_scales::refusal(&device, sizes);
    let along_k = text([[2, 300], [2, 2], [200, 300], [2, 3]]);
    assert!(along_k.contains("the columns of `x_scales` (2x2) are 2, and 3 blocks of 128 cover `k`"), "{along_k}");
    let columns = text([[2, 300], [2, 3], [200, 300], [1, 3]]);
    assert!(columns.contains("the rows of `w_scales` (1x3) are 1, and 2 blocks of 128 cover `n`"), "{columns}");
    let rows = text([[2, 300], [3, 3], [200, 300], [2, 3]]);
    assert!(rows.contains("`m` is 2 by"), "{rows}");
}
