//! Tensor maps: how the tensor memory accelerator (TMA) of Hopper is told of a matrix.

use std::ptr;

use autokernel_core::TileBox;
use cudarc::driver::sys;

use super::region::{Region, TMA_ALIGNMENT};
use crate::{Dtype, Error, Result, Role};

/// An encoded tensor map as kernels take it: 128 opaque bytes.
pub(super) type TensorMap = [u64; 16];

/// What a kernel is given for an operand that it must not touch by TMA.
pub(super) const NO_MAP: TensorMap = [0; 16];

/// Row strides must be below this, in bytes ("cuTensorMapEncodeTiled", CUDA driver API).
const MAX_STRIDE: u64 = 1 << 40;

/// What TMA moves of an operand and to which end. Fixed for each map of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Transfer {
    pub tile: TileBox,
    pub dtype: Dtype,
    /// Inputs are loaded, outputs stored.
    pub role: Role,
}

impl Transfer {
    /// Whether TMA can move a matrix: any that has elements can be loaded, as its alignment has been seen to.
    pub fn can_move(&self, region: &Region) -> bool {
        !region.is_empty() && (self.role == Role::Input || region.is_storable(self.dtype))
    }

    /// Encodes the map, on the host alone.
    ///
    /// # Errors
    /// [`Error::TooLarge`] for a row stride of 2⁴⁰ bytes or more, or the driver's own error.
    pub fn encode(&self, region: &Region) -> Result<TensorMap> {
        if region.stride >= MAX_STRIDE {
            let (given, max) = (u128::from(region.stride), u128::from(MAX_STRIDE - TMA_ALIGNMENT));
            return Err(Error::TooLarge { what: "a leading dimension in bytes".to_owned(), given, max });
        }
        let TileBox { rows, columns, swizzle } = self.tile;
        // Innermost dimension first.
        let dimensions = [region.columns, region.rows];
        let strides = [region.stride];
        let extents = [columns, rows];
        let element_strides = [1, 1];
        // The driver wants the alignment of its own type, which is larger in newer bindings than the kernel's 64.
        let mut map = sys::CUtensorMap { opaque: [0; 16] };
        // SAFETY: all arrays have the rank's length and outlive the call, which only writes `map`. The address is
        // not read: the kernel is what uses it, inside the bounds given here.
        unsafe {
            sys::cuTensorMapEncodeTiled(
                &mut map,
                data_type(self.dtype),
                2,
                ptr::without_provenance_mut(region.address as usize),
                dimensions.as_ptr(),
                strides.as_ptr(),
                extents.as_ptr(),
                element_strides.as_ptr(),
                sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
                swizzle_mode(swizzle),
                promotion(self.role, region.rows_begin_at_lines()),
                // Reads outside the matrix give zeros, which add nothing to a sum.
                sys::CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
            )
        }
        .result()
        .map_err(Error::cuda("encoding a tensor map"))?;
        Ok(map.opaque)
    }
}

fn data_type(dtype: Dtype) -> sys::CUtensorMapDataType {
    use sys::CUtensorMapDataType as Type;
    match dtype {
        Dtype::Bf16 => Type::CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
        Dtype::F16 => Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
        Dtype::F32 => Type::CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
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

/// How much L2 fetches from memory for a load: two lines where rows begin at lines, and else one, as a row that
/// straddles two would fetch up to four. At 1000x1000x1000 that takes 0.0085 instead of 0.0091 ms (H200, plain product).
fn promotion(role: Role, rows_begin_at_lines: bool) -> sys::CUtensorMapL2promotion {
    use sys::CUtensorMapL2promotion as Promotion;
    match (role, rows_begin_at_lines) {
        (Role::Output, _) => Promotion::CU_TENSOR_MAP_L2_PROMOTION_NONE,
        (Role::Input, true) => Promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
        (Role::Input, false) => Promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TILE: TileBox = TileBox { rows: 64, columns: 64, swizzle: 128 };

    #[test]
    fn loads_of_rows_that_straddle_lines_fetch_no_line_beside_them() {
        use sys::CUtensorMapL2promotion as Promotion;
        assert_eq!(promotion(Role::Input, true), Promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
        assert_eq!(promotion(Role::Input, false), Promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_128B);
        assert_eq!(promotion(Role::Output, true), Promotion::CU_TENSOR_MAP_L2_PROMOTION_NONE);
    }

    #[test]
    fn what_has_elements_is_loaded_and_what_can_be_stored_exactly_is_stored() {
        let odd_end = Region { address: 256, columns: 12, rows: 5, stride: 64 };
        let of = |role| Transfer { tile: TILE, dtype: Dtype::Bf16, role };
        assert!(of(Role::Input).can_move(&odd_end) && !of(Role::Output).can_move(&odd_end));
        assert!(of(Role::Output).can_move(&Region { columns: 16, ..odd_end }));
        assert!(!of(Role::Input).can_move(&Region { columns: 0, ..odd_end }), "without K there is nothing to load");
    }

    #[test]
    fn a_stride_that_tma_cannot_hold_is_refused_before_the_driver_is_asked() {
        let wide = Region { address: 0, columns: 1, rows: 2, stride: MAX_STRIDE };
        let load = Transfer { tile: TILE, dtype: Dtype::F16, role: Role::Input };
        assert!(matches!(load.encode(&wide), Err(Error::TooLarge { .. })));
    }
}
