//! Tensor maps: how the tensor memory accelerator (TMA) of Hopper is told of a matrix.

use std::ptr;

use autokernel_core::TileBox;
use cudarc::driver::sys;

use crate::launch::{Region, TensorMap, Transfer};
use crate::{Dtype, Error, Result, Role};

/// Encodes the map of a transfer, on the host alone.
///
/// # Errors
/// [`Error::TooLarge`] for a stride of 2⁴⁰ bytes or more, or the driver's own error.
pub(super) fn encode(transfer: &Transfer, region: &Region) -> Result<TensorMap> {
    Transfer::check(region)?;
    let Transfer { tile: TileBox { rows, columns, swizzle }, dtype, role, .. } = *transfer;
    // Innermost dimension first; of these the map takes as many as it has axes.
    let [outer, inner] = transfer.outer(region);
    let dimensions = [region.columns, region.rows, inner.size, outer.size];
    let strides = [region.stride, inner.stride, outer.stride];
    let extents = [columns, rows, 1, 1];
    let element_strides = [1; 4];
    // The driver wants the alignment of its own type, which is larger in newer bindings than the kernel's 64.
    let mut map = sys::CUtensorMap { opaque: [0; 16] };
    // SAFETY: all arrays have the rank's length or more and outlive the call, which only writes `map`. The address is
    // not read: the kernel is what uses it, inside the bounds given here.
    unsafe {
        sys::cuTensorMapEncodeTiled(
            &mut map,
            data_type(dtype),
            transfer.map_rank() as u32,
            ptr::without_provenance_mut(region.address as usize),
            dimensions.as_ptr(),
            strides.as_ptr(),
            extents.as_ptr(),
            element_strides.as_ptr(),
            sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
            swizzle_mode(swizzle),
            promotion(role),
            // Reads outside the matrix give zeros, which add nothing to a sum.
            sys::CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
        )
    }
    .result()
    .map_err(Error::cuda("encoding a tensor map"))?;
    Ok(map.opaque)
}

fn data_type(dtype: Dtype) -> sys::CUtensorMapDataType {
    use sys::CUtensorMapDataType as Type;
    match dtype {
        Dtype::Bf16 => Type::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
        Dtype::F16 => Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
        Dtype::F32 => Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
        Dtype::E4m3 | Dtype::E5m2 | Dtype::I8 | Dtype::I4x2 => Type::CU_TENSOR_MAP_DATA_TYPE_UINT8,
        Dtype::I32 => Type::CU_TENSOR_MAP_DATA_TYPE_INT32,
    }
}

fn swizzle_mode(bytes: u32) -> sys::CUtensorMapSwizzle {
    use sys::CUtensorMapSwizzle as Swizzle;
    match bytes {
        128 => Swizzle::CU_TENSOR_MAP_SWIZZLE_128B,
        64 => Swizzle::CU_TENSOR_MAP_SWIZZLE_64B,
        32 => Swizzle::CU_TENSOR_MAP_SWIZZLE_32B,
        _ => Swizzle::CU_TENSOR_MAP_SWIZZLE_NONE,
    }
}

/// How much L2 fetches from memory for a load: one line. Two fetch what another block reads at the same time: decoding reads keys and
/// values at 4.58 TB/s by one and at 4.14 by two (H200, 64 sequences of 8192), a product of few rows its weights in up to 5 % less time
/// by one, and products of many rows take as long by either.
fn promotion(role: Role) -> sys::CUtensorMapL2promotion {
    use sys::CUtensorMapL2promotion as Promotion;
    match role {
        Role::Output => Promotion::CU_TENSOR_MAP_L2_PROMOTION_NONE,
        Role::Input => Promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
    }
}
