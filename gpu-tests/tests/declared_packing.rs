//! Packing by the way of a user, on the CPU and on emulated GPUs, and products of what it makes.

use autokernel::{Arch, Device, Emulation, Matrix, bf16, f16, quantise};
use gpu_tests::packing::{self, nibbles_in_groups};
use gpu_tests::{skip, weights};

#[test]
fn weights_are_packed_on_the_cpu_with_the_bits_of_the_hosts_functions() {
    packing::check(&Device::cpu(), 40).unwrap();
    packing::check_what_no_scale_holds(&Device::cpu()).unwrap();
}

#[test]
fn weights_are_packed_on_an_emulated_hopper_with_the_bits_of_the_hosts_functions() {
    on_emulated("weights_are_packed_on_an_emulated_hopper_with_the_bits_of_the_hosts_functions", Arch::SM_90A);
}

#[test]
fn weights_are_packed_on_an_emulated_ampere_with_the_bits_of_the_hosts_functions() {
    on_emulated("weights_are_packed_on_an_emulated_ampere_with_the_bits_of_the_hosts_functions", Arch::SM_80);
}

fn on_emulated(test: &str, arch: Arch) {
    let Some(device) = emulated(test, arch) else { return };
    packing::check(&device, 6).unwrap();
    packing::check_what_no_scale_holds(&device).unwrap();
}

/// An emulated GPU, if there are images for it.
fn emulated(test: &str, arch: Arch) -> Option<Device> {
    if let Some(reason) = &packing::kernels()[0].descriptor().unwrap().not_compiled {
        skip::log(&format!("declared_packing::{test}"), reason);
        return None;
    }
    Some(Device::emulated_with(Emulation::new(arch).seed(7)).unwrap())
}

#[test]
fn what_is_packed_on_a_device_is_multiplied_there() {
    let test = "what_is_packed_on_a_device_is_multiplied_there";
    for device in [Some(Device::cpu()), emulated(test, Arch::SM_90A)].into_iter().flatten() {
        let (m, n, k) = (5, 9, 256);
        // Weights of which each group's largest is 7, so that numbers are the weights.
        let of = |at: usize| if at.is_multiple_of(128) { 7.0 } else { (at * 5 % 15) as f32 - 7.0 };
        let wide: Vec<f32> = (0..n * k).map(of).collect();
        let w: Vec<bf16> = wide.iter().map(|weight| bf16::from_f32(*weight)).collect();
        let x: Vec<f16> = (0..m * k).map(|at| f16::from_f32((at * 3 % 7) as f32 - 3.0)).collect();
        let mut packed = Matrix::zeros(&device, n, k / 2).unwrap();
        let mut scales = Matrix::zeros(&device, k / 128, n).unwrap();
        let mut out = Matrix::zeros(&device, m, n).unwrap();
        let w = Matrix::from_slice(&device, &w, n, k).unwrap();
        nibbles_in_groups::launch_on(&device, &w, &mut packed, &mut scales).unwrap();
        let x_there = Matrix::from_slice(&device, &x, m, k).unwrap();
        weights::packed::launch_on(&device, &x_there, &packed, &scales, &mut out).unwrap();
        let dot = |row: usize, column: usize| -> f32 {
            (0..k).map(|at| x[row * k + at].to_f32() * wide[column * k + at]).sum()
        };
        let expected: Vec<f32> = (0..m * n).map(|at| dot(at / n, at % n)).collect();
        assert_eq!(out.to_vec().unwrap(), expected, "{device}");
        assert_eq!(packed.to_vec().unwrap(), quantise(&wide, k, 128).unwrap().0);
    }
}

#[test]
fn numbers_and_scales_that_do_not_fit_the_weights_are_refused() {
    let text = |sizes| packing::refusal(&Device::cpu(), sizes);
    let halves = text([[8, 256], [8, 256], [2, 8]]);
    assert!(halves.contains("`k` is 256 by") && halves.contains("512 by the columns of `packed` (8x256)"), "{halves}");
    let groups = text([[8, 256], [8, 128], [3, 8]]);
    assert!(groups.contains("384 by the rows of `scales` (3x8)"), "{groups}");
    let part = text([[8, 192], [8, 96], [1, 8]]);
    assert!(part.contains("`k` is 192 by") && part.contains("128 by the rows of `scales`"), "{part}");
    let units = text([[8, 40], [8, 20], [1, 8]]);
    assert!(units.contains("16 stand together"), "{units}");
    assert!(text([[8, 256], [7, 128], [2, 8]]).contains("`n`"));
}
