//! Allocations that fail with an error instead of aborting.

use std::sync::Arc;

use cudarc::driver::sys::CUresult;
use cudarc::driver::{CudaSlice, CudaStream};

use crate::{Device, Error, Number, Result};

/// Zeros on the host.
pub(crate) fn host_zeros<T: Number>(len: usize) -> Result<Vec<T>> {
    let mut data = host_empty(len)?;
    data.resize(len, T::default());
    Ok(data)
}

/// A copy on the host.
pub(crate) fn host_copy<T: Number>(source: &[T]) -> Result<Vec<T>> {
    let mut data = host_empty(source.len())?;
    data.extend_from_slice(source);
    Ok(data)
}

/// Room on the host for that many, none of which is there yet.
pub(crate) fn host_empty<T>(len: usize) -> Result<Vec<T>> {
    let mut data = Vec::new();
    data.try_reserve_exact(len).map_err(|_| Error::out_of_memory::<T>(&Device::cpu(), len as u128))?;
    Ok(data)
}

/// Zeros on the GPU, in stream order.
pub(crate) fn device_zeros<T: Number>(stream: &Arc<CudaStream>, len: usize) -> Result<CudaSlice<T>> {
    let mut slice = device_uninit(stream, len)?;
    stream.memset_zeros(&mut slice).map_err(Error::cuda("clearing a matrix"))?;
    Ok(slice)
}

/// A copy on the GPU, in stream order.
pub(crate) fn device_copy<T: Number>(stream: &Arc<CudaStream>, source: &[T]) -> Result<CudaSlice<T>> {
    if source.is_empty() {
        return device_zeros(stream, 0);
    }
    let mut slice = device_uninit(stream, source.len())?;
    stream.memcpy_htod(source, &mut slice).map_err(Error::cuda("copying a matrix to the GPU"))?;
    Ok(slice)
}

/// What `fill` writes on the GPU, in stream order: each of `len` elements, or it fails.
pub(crate) fn device_filled<T: Number>(
    stream: &Arc<CudaStream>,
    len: usize,
    fill: impl FnOnce(&mut CudaSlice<T>) -> Result<()>,
) -> Result<CudaSlice<T>> {
    let mut slice = device_uninit(stream, len)?;
    fill(&mut slice)?;
    Ok(slice)
}

/// Memory on the GPU with no defined content, at least one element; it must be written before it is read.
fn device_uninit<T: Number>(stream: &Arc<CudaStream>, len: usize) -> Result<CudaSlice<T>> {
    let out_of_memory = || Error::out_of_memory::<T>(&Device::from_cudarc(stream.clone()), len as u128);
    if len > isize::MAX as usize / size_of::<T>() {
        return Err(out_of_memory());
    }
    // The driver refuses to allocate nothing, so an empty matrix owns one element that it never shows.
    let len = len.max(1);
    // SAFETY: its callers write the whole slice, in stream order, before anything can read it.
    unsafe { stream.alloc(len) }.map_err(|error| match error.0 {
        CUresult::CUDA_ERROR_OUT_OF_MEMORY => out_of_memory(),
        _ => Error::cuda("allocating a matrix")(error),
    })
}
