//! What this crate's kernels take, and what is left to candle's own operations.

use candle_core::{DType, Device, Result, Tensor};

use crate::layout::Rows;

/// Whether kernels take these tensors: all of one type of 16 bits, with elements, on a device that they run on.
pub(crate) fn is_served(tensors: &[&Tensor]) -> bool {
    let dtype = tensors.first().map(|tensor| tensor.dtype());
    let is_served =
        |tensor: &&Tensor| Some(tensor.dtype()) == dtype && tensor.elem_count() > 0 && has_kernels(tensor.device());
    matches!(dtype, Some(DType::BF16 | DType::F16)) && tensors.iter().all(is_served)
}

pub(crate) fn has_kernels(device: &Device) -> bool {
    match device {
        Device::Cpu => true,
        Device::Cuda(_) => cfg!(feature = "cuda"),
        Device::Metal(_) => false,
    }
}

/// Whether a gradient may be asked for through one of these.
pub(crate) fn is_trained(tensors: &[&Tensor]) -> bool {
    tensors.iter().any(|tensor| tensor.track_op())
}

/// The tensor, or a copy of it where its elements do not lie as the rows of a matrix do.
pub(crate) fn in_rows(tensor: &Tensor) -> Result<Tensor> {
    if Rows::of(tensor.layout()).is_ok() { Ok(tensor.clone()) } else { tensor.contiguous() }
}
