//! Declared row-wise kernels by the way of a user, wherever their operands lie: on the CPU and on emulated GPUs. What they
//! must give is computed in fp64 from the body that the build embedded.
//!
//! `AUTOKERNEL_CASES` sets how many shapes each kernel gets (12), `AUTOKERNEL_SEED` draws others.

use autokernel::{Arch, Column, Device, Emulation, Matrix, Plan, Reason, Row, bf16, builtin, rows::extents};
use gpu_tests::rows::declared::{Declared, catalogue, check, extremes};
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
        // A build may carry few of them.
        let carried =
            builtin::softmax::KERNEL.descriptor().unwrap().variants.iter().filter(|it| it.arch == arch).count();
        assert!(chosen.len() >= carried.min(3), "widths are as different as their schedules: {chosen:?}");
    }
}

/// What a row-wise kernel that writes a `Scalar` is told to do instead.
#[test]
fn the_numbers_of_all_rows_are_reduced_along_the_only_column_of_a_matrix() {
    let emulated = Device::emulated_with(Emulation::new(Arch::SM_80).seed(3)).unwrap();
    let devices = [Some(Device::cpu()), not_compiled().is_none().then_some(emulated)];
    for device in devices.into_iter().flatten() {
        let (rows, columns) = (5, 300);
        let numbers: Vec<f32> = (0..rows * columns).map(|at| (at * 37 % 251) as f32 - 125.0).collect();
        let narrow: Vec<bf16> = numbers.iter().map(|number| bf16::from_f32(*number)).collect();
        let x = Matrix::from_slice(&device, &narrow, rows, columns).unwrap();
        let mut of_rows = Column::<f32>::zeros(&device, rows).unwrap();
        builtin::row_max(&x, &mut of_rows).unwrap();
        let [mut most, mut least, mut last] = [(); 3].map(|()| Row::<f32>::zeros(&device, 1).unwrap());
        let of_rows = of_rows.view().as_matrix(rows, 1).unwrap();
        extremes::launch(of_rows, &mut most, &mut least, &mut last).unwrap();
        let expected = numbers.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        assert_eq!(most.to_vec().unwrap(), [expected], "on {device}");
    }
}
