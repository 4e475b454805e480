//! Tensor maps: how the tensor memory accelerator (TMA) of Hopper is told of a matrix.

use std::ptr;

use cudarc::driver::sys;

use crate::layout::Layout;
use crate::{Dtype, Error, Result};

/// An encoded tensor map as kernels take it: 128 opaque bytes, 64-byte aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C, align(64))]
pub(super) struct TensorMap([u64; 16]);

impl TensorMap {
    /// What a kernel is given for an operand that it must not touch.
    pub const ZERO: Self = Self([0; 16]);
}

/// A line of the L2 cache, in bytes: a row of a load that straddles two costs two requests.
pub(super) const LINE: u64 = 128;

/// TMA's unit: bases and row strides are multiples of it, in bytes.
pub(super) const TMA_ALIGNMENT: u64 = 16;

/// Row strides must be below this, in bytes ("cuTensorMapEncodeTiled", CUDA driver API).
const MAX_STRIDE: u64 = 1 << 40;

/// A row-major matrix as TMA sees it, innermost dimension first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Global {
    /// Address of the first element.
    pub address: u64,
    /// Elements of a row.
    pub columns: u64,
    /// Rows.
    pub rows: u64,
    /// Bytes from one row to the next.
    pub stride: u64,
}

/// The part of a matrix that one copy moves, and how it lies in shared memory. Fixed for each operand of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CopyBox {
    pub dtype: Dtype,
    pub columns: u32,
    pub rows: u32,
    /// Bytes of a row of the box: 128, 64, 32, or 16 for no swizzle.
    pub swizzle: u32,
    /// Whether it is loaded; else it is stored.
    pub loaded: bool,
}

impl Global {
    /// A matrix of elements of that many bytes, at an address.
    ///
    /// A single row has no next one, so its stride is free: it is chosen aligned.
    pub fn new(address: u64, layout: Layout, element_bytes: usize) -> Self {
        let row_bytes = (layout.columns * element_bytes) as u64;
        let stride = match layout.rows {
            0 | 1 => row_bytes.next_multiple_of(TMA_ALIGNMENT),
            _ => (layout.ld * element_bytes) as u64,
        };
        Self { address, columns: layout.columns as u64, rows: layout.rows as u64, stride }
    }

    /// Elements from one row to the next.
    pub fn leading_dimension(&self, dtype: Dtype) -> i64 {
        (self.stride / dtype.bytes() as u64) as i64
    }

    /// Whether the first element is 16-byte aligned.
    pub const fn has_aligned_base(&self) -> bool {
        self.address.is_multiple_of(TMA_ALIGNMENT)
    }

    /// Whether TMA can address the matrix.
    pub const fn is_aligned(&self) -> bool {
        self.has_aligned_base() && self.stride.is_multiple_of(TMA_ALIGNMENT)
    }

    /// Whether no row of a load straddles two lines of L2.
    pub const fn rows_begin_at_lines(&self) -> bool {
        self.address.is_multiple_of(LINE) && (self.rows <= 1 || self.stride.is_multiple_of(LINE))
    }

    /// Whether TMA can store the matrix without touching what is beside it: a store writes whole 16-byte units, so a
    /// row that ends inside one would overwrite up to 14 bytes after its end. (Loads are exact: they give zeros there.)
    pub const fn is_storable(&self, dtype: Dtype) -> bool {
        self.is_aligned() && (self.columns * dtype.bytes() as u64).is_multiple_of(TMA_ALIGNMENT)
    }

    /// Encodes the map, on the host alone.
    ///
    /// # Errors
    /// [`Error::TooLarge`] for a row stride of 2⁴⁰ bytes or more, or the driver's own error.
    pub fn encode(&self, part: CopyBox) -> Result<TensorMap> {
        if self.stride >= MAX_STRIDE {
            let (given, max) = (u128::from(self.stride), u128::from(MAX_STRIDE - TMA_ALIGNMENT));
            return Err(Error::TooLarge { what: "a leading dimension in bytes", given, max });
        }
        let dimensions = [self.columns, self.rows];
        let strides = [self.stride];
        let extents = [part.columns, part.rows];
        let element_strides = [1, 1];
        // The driver wants the alignment of its own type, which is larger in newer bindings than the kernel's 64.
        let mut map = sys::CUtensorMap { opaque: [0; 16] };
        // SAFETY: all arrays have the rank's length and outlive the call, which only writes `map`. The address is
        // not read: the kernel is what uses it, inside the bounds given here.
        unsafe {
            sys::cuTensorMapEncodeTiled(
                &mut map,
                data_type(part.dtype),
                2,
                ptr::without_provenance_mut(self.address as usize),
                dimensions.as_ptr(),
                strides.as_ptr(),
                extents.as_ptr(),
                element_strides.as_ptr(),
                sys::CUtensorMapInterleave::CU_TENSOR_MAP_INTERLEAVE_NONE,
                swizzle(part.swizzle),
                promotion(part.loaded, self.rows_begin_at_lines()),
                // Reads outside the matrix give zeros, which add nothing to a sum.
                sys::CUtensorMapFloatOOBfill::CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
            )
        }
        .result()
        .map_err(Error::cuda("encoding a tensor map"))?;
        Ok(TensorMap(map.opaque))
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

fn swizzle(row_bytes: u32) -> sys::CUtensorMapSwizzle {
    use sys::CUtensorMapSwizzle as Swizzle;
    match row_bytes {
        128 => Swizzle::CU_TENSOR_MAP_SWIZZLE_128B,
        64 => Swizzle::CU_TENSOR_MAP_SWIZZLE_64B,
        32 => Swizzle::CU_TENSOR_MAP_SWIZZLE_32B,
        _ => Swizzle::CU_TENSOR_MAP_SWIZZLE_NONE,
    }
}

/// How much L2 fetches from memory for a load: two lines where rows begin at lines, and else one, as a row that
/// straddles two would fetch up to four. At 1000x1000x1000 that takes 0.0085 instead of 0.0091 ms (H200, plain product).
fn promotion(loaded: bool, rows_begin_at_lines: bool) -> sys::CUtensorMapL2promotion {
    use sys::CUtensorMapL2promotion as Promotion;
    match (loaded, rows_begin_at_lines) {
        (false, _) => Promotion::CU_TENSOR_MAP_L2_PROMOTION_NONE,
        (true, true) => Promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
        (true, false) => Promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_is_aligned_when_its_base_and_its_stride_are() {
        let aligned = Global { address: 256, columns: 3, rows: 5, stride: 16 };
        assert!(aligned.is_aligned());
        assert!(!Global { address: 258, ..aligned }.is_aligned());
        assert!(!Global { stride: 18, ..aligned }.is_aligned());
    }

    #[test]
    fn loads_of_rows_that_straddle_lines_fetch_no_line_beside_them() {
        use sys::CUtensorMapL2promotion as Promotion;
        let lined = Global { address: 256, columns: 1000, rows: 5, stride: 2048 };
        let straddling = [Global { stride: 2000, ..lined }, Global { address: 272, ..lined }];
        assert!(lined.rows_begin_at_lines() && Global { rows: 1, stride: 2000, ..lined }.rows_begin_at_lines());
        assert!(!straddling.iter().any(Global::rows_begin_at_lines));
        assert_eq!(promotion(true, true), Promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_256B);
        assert_eq!(promotion(true, false), Promotion::CU_TENSOR_MAP_L2_PROMOTION_L2_128B);
        assert_eq!(promotion(false, true), Promotion::CU_TENSOR_MAP_L2_PROMOTION_NONE);
    }

    #[test]
    fn a_row_that_ends_inside_a_16_byte_unit_is_not_stored_by_tma() {
        let row = Global { address: 256, columns: 8, rows: 5, stride: 64 };
        assert!(row.is_storable(Dtype::Bf16) && row.is_storable(Dtype::F32));
        assert!(!Global { columns: 12, ..row }.is_storable(Dtype::Bf16));
        assert!(Global { columns: 12, ..row }.is_storable(Dtype::F32));
        assert!(!Global { columns: 1, rows: 1, stride: 16, ..row }.is_storable(Dtype::F16));
    }

    #[test]
    fn a_single_row_is_aligned_whatever_its_leading_dimension() {
        let row = Layout { rows: 1, columns: 5, ld: 7 };
        assert_eq!(Global::new(32, row, 2), Global { address: 32, columns: 5, rows: 1, stride: 16 });
        assert_eq!(Global::new(32, Layout { rows: 2, ..row }, 2).stride, 14);
    }

    #[test]
    fn a_stride_that_tma_cannot_hold_is_refused_before_the_driver_is_asked() {
        let wide = Global { address: 0, columns: 1, rows: 2, stride: MAX_STRIDE };
        let part = CopyBox { dtype: Dtype::F16, columns: 64, rows: 64, swizzle: 128, loaded: true };
        assert!(matches!(wide.encode(part), Err(Error::TooLarge { .. })));
    }
}
