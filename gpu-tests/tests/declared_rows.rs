//! Declared row-wise kernels by the way of a user, wherever their operands lie: on the CPU, on emulated GPUs, on a GPU. What
//! they must give is computed in fp64 from the body that the build embedded.
//!
//! `AUTOKERNEL_CASES` sets how many shapes each kernel gets (12), `AUTOKERNEL_SEED` draws others.

use autokernel::{Arch, Device, Emulation, Plan, Reason, builtin, rows::extents};
use gpu_tests::placement::Placement;
use gpu_tests::rows::check_launch;
use gpu_tests::rows::declared::{Declared, catalogue};
use gpu_tests::{settings, skip};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Launches every kernel on random shapes of up to about `elements` elements.
fn check(device: &Device, cases: u64, elements: usize) {
    let seed = settings::number("AUTOKERNEL_SEED", 21);
    let mut rng = StdRng::seed_from_u64(seed);
    for kernel in catalogue() {
        let problem = kernel.problem();
        for case in 0..settings::number("AUTOKERNEL_CASES", cases) {
            let columns = rng.random_range(1..=elements / 2);
            let rows = rng.random_range(1..=(elements / columns).clamp(1, 70));
            let mut places = StdRng::seed_from_u64(seed ^ case);
            let place = |rows, columns| Placement::random(&mut places, rows, columns);
            let checked = check_launch(
                device,
                &problem,
                |arguments| kernel.kernel.launch(device, arguments),
                rows,
                columns,
                seed + case,
                place,
            );
            checked.unwrap_or_else(|report| panic!("{} on {device}: {report}", kernel.name));
        }
    }
}

/// Why nothing can be launched, if so.
fn not_compiled() -> Option<String> {
    let reason = |kernel: Declared| kernel.kernel.descriptor().unwrap().not_compiled.clone();
    catalogue().into_iter().find_map(reason)
}

#[test]
fn every_declared_row_kernel_is_its_body_on_the_cpu() {
    check(&Device::cpu(), 12, 6000);
}

#[test]
fn every_declared_row_kernel_is_its_body_on_an_emulated_gpu_of_each_arch() {
    if let Some(reason) = not_compiled() {
        return skip::log(
            "declared_rows::every_declared_row_kernel_is_its_body_on_an_emulated_gpu_of_each_arch",
            &reason,
        );
    }
    for arch in [Arch::SM_80, Arch::SM_90A] {
        check(&Device::emulated_with(Emulation::new(arch).seed(3)).unwrap(), 2, 700);
    }
}

#[test]
fn every_declared_row_kernel_is_its_body_on_the_gpu() {
    let Some(device) = skip::gpu("declared_rows::every_declared_row_kernel_is_its_body_on_the_gpu") else { return };
    check(&device, 12, 200_000);
}

#[test]
fn each_width_gets_an_image_of_the_portfolio_that_the_model_predicts() {
    let test = "declared_rows::each_width_gets_an_image_of_the_portfolio_that_the_model_predicts";
    if let Some(reason) = not_compiled() {
        return skip::log(test, &reason);
    }
    for arch in [Arch::SM_80, Arch::SM_90A] {
        let device = Device::emulated(arch).unwrap();
        let mut chosen = std::collections::BTreeSet::new();
        for (rows, columns) in [(16_384, 64), (16_384, 1024), (8192, 4096), (2048, 65_536)] {
            let plan = builtin::softmax::KERNEL.plan(&device, &extents(rows, columns)).unwrap();
            let Plan::Gpu { variant, reason: Reason::Predicted { .. }, .. } = plan else { panic!("{plan}") };
            assert_eq!(variant.arch, arch);
            chosen.insert(variant.schedule.clone());
        }
        assert!(chosen.len() >= 3, "widths are as different as their schedules: {chosen:?}");
    }
}
