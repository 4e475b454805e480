//! Kernels that write over what they read.

use autokernel::{Arch, Device, Emulation};
use gpu_tests::in_place::{check, softmax};
use gpu_tests::skip;

#[test]
fn what_is_written_over_is_read_before_on_the_cpu() {
    for columns in [1, 7, 300, 4099] {
        check(&Device::cpu(), 5, columns).unwrap();
    }
}

#[test]
fn what_is_written_over_is_read_before_on_an_emulated_gpu_of_each_arch() {
    for arch in [Arch::SM_90A, Arch::SM_80] {
        let descriptor = softmax::KERNEL.descriptor().unwrap();
        if descriptor.variants.iter().all(|variant| variant.arch != arch || variant.image.is_none()) {
            skip::log("in_place on an emulated GPU", "the build had no nvcc");
            continue;
        }
        let device = Device::emulated_with(Emulation::new(arch).seed(7)).unwrap();
        check(&device, 3, 300).unwrap();
        check(&device, 2, 4099).unwrap();
    }
}

/// Rows of all lengths: of whole vectors and not, on chip and longer than that.
#[test]
fn what_is_written_over_is_read_before_on_a_gpu() {
    let Some(device) = skip::gpu("in_place::what_is_written_over_is_read_before_on_a_gpu") else { return };
    for columns in [1, 8, 77, 256, 1000, 1024, 4096, 4099, 8192, 16_384, 32_769, 65_536, 70_001, 131_072] {
        check(&device, 1, columns).unwrap();
        check(&device, 5, columns).unwrap();
    }
    for (rows, columns) in [(300, 77), (1000, 512), (400, 4096), (260, 4099)] {
        check(&device, rows, columns).unwrap();
    }
}

#[test]
fn an_output_that_is_read_is_one_parameter_of_the_function_and_two_operands_of_the_kernel() {
    let _: fn(&mut autokernel::Matrix<f32>) -> autokernel::Result<()> = softmax;
    let descriptor = softmax::KERNEL.descriptor().unwrap();
    let names: Vec<&str> = descriptor.signature.operands.iter().map(|operand| operand.name.as_str()).collect();
    assert_eq!(names, ["x", "x_before"]);
}
