//! Memory of the caller as matrices.

use autokernel::cudarc::driver::DeviceRepr;
use autokernel::{Column, Matrix, Number, Result};

use crate::session::Session;

/// A dense matrix in the caller's memory. It must never be dropped, as it would free that memory: its holders are handed out for good.
///
/// # Safety
/// At `address` there are `rows * columns` elements in memory of the session's GPU, for as long as the process runs.
pub unsafe fn matrix<T: Number + DeviceRepr>(
    session: &Session,
    address: u64,
    rows: usize,
    columns: usize,
) -> Result<Matrix<T>> {
    // SAFETY: by the caller's promise.
    let slice = unsafe { session.stream.upgrade_device_ptr(address, rows * columns) };
    Matrix::from_cudarc(slice, rows, columns)
}

/// The same of a number a row.
///
/// # Safety
/// As [`matrix`].
pub unsafe fn column(session: &Session, address: u64, rows: usize) -> Column<f32> {
    // SAFETY: by the caller's promise.
    Column::from_cudarc(unsafe { session.stream.upgrade_device_ptr(address, rows) })
}
