//! Declared row-wise kernels by the way of a user, wherever their operands lie: on the CPU and on emulated GPUs. What they
//! must give is computed in fp64 from the body that the build embedded.
//!
//! `AUTOKERNEL_CASES` sets how many shapes each kernel gets (12), `AUTOKERNEL_SEED` draws others.

use autokernel::{Arch, Device, Emulation, Plan, Reason, builtin, rows::extents};
use gpu_tests::rows::declared::{Declared, catalogue, check};
use gpu_tests::skip;

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
