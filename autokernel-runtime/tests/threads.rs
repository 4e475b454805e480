//! What may be sent to other threads, and shared by them; with the feature `emulator` and without.

use autokernel_runtime::{
    AnyKernel, AnyView, AnyViewMut, Argument, Batch, BatchView, BatchViewMut, Column, ColumnBatch, ColumnBatchView,
    ColumnView, ColumnViewMut, CompiledKernel, Device, DeviceInfo, Embedded, Error, Heads, HeadsView, HeadsViewMut,
    Index, IndexView, Kernel, KernelDescriptor, Matrix, MatrixView, MatrixViewMut, PageTable, PageTableView, Plan,
    Planner, Routes, Row, RowBatch, RowBatchView, RowView, RowViewMut, Scalar, ScalarView, ScalarViewMut, bf16, i4x2,
};

/// Compiles for what threads may share.
fn shared<T: Send + Sync>() {}

#[test]
fn devices_operands_and_views_are_sent_and_shared() {
    shared::<Device>();
    shared::<DeviceInfo>();
    shared::<(Matrix<bf16>, MatrixView<'_, bf16>, MatrixViewMut<'_, bf16>)>();
    shared::<(Matrix<i4x2>, MatrixView<'_, i4x2>, MatrixViewMut<'_, i4x2>)>();
    shared::<(Batch<bf16>, BatchView<'_, bf16>, BatchViewMut<'_, bf16>)>();
    shared::<(Row<bf16>, RowView<'_, bf16>, RowViewMut<'_, bf16>)>();
    shared::<(Column<bf16>, ColumnView<'_, bf16>, ColumnViewMut<'_, bf16>)>();
    shared::<(RowBatch<bf16>, RowBatchView<'_, bf16>, ColumnBatch<bf16>, ColumnBatchView<'_, bf16>)>();
    shared::<(Scalar<f32>, ScalarView<'_, f32>, ScalarViewMut<'_, f32>)>();
    shared::<(Heads<bf16>, HeadsView<'_, bf16>, HeadsViewMut<'_, bf16>)>();
    shared::<(Index, IndexView<'_>, PageTable, PageTableView<'_>, Routes)>();
    shared::<(Argument<'_>, AnyView<'_>, AnyViewMut<'_>)>();
}

#[test]
fn kernels_plans_and_errors_are_sent_and_shared() {
    shared::<(Kernel<bf16, bf16>, AnyKernel, CompiledKernel)>();
    shared::<(Embedded, KernelDescriptor, Plan<'_>, Planner)>();
    shared::<Error>();
    // What `?` makes of one in most programs.
    let _: Box<dyn std::error::Error + Send + Sync> = Error::NoDriver.into();
}

#[cfg(feature = "emulator")]
#[test]
fn emulated_gpus_and_kernels_are_sent_and_shared() {
    shared::<(autokernel_runtime::EmulatedKernel, autokernel_runtime::Emulation)>();
}

#[test]
fn threads_use_one_matrix_and_one_device() {
    let device = Device::cpu();
    let matrix = Matrix::from_slice(&device, &[1.0f32, 2.0], 1, 2).unwrap();
    let copies = std::thread::scope(|scope| {
        [(); 2].map(|()| scope.spawn(|| matrix.to_device(&device))).map(|thread| thread.join().unwrap().unwrap())
    });
    assert!(copies.iter().all(|copy| copy.as_slice() == matrix.as_slice()));
}
