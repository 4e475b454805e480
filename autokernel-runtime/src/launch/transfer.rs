//! What TMA moves of an operand, whoever encodes the map for it.

use autokernel_core::TileBox;

use super::region::{Region, Span, TMA_ALIGNMENT};
use crate::{Dtype, Error, Result, Role};

/// An encoded tensor map as kernels take it: 128 opaque bytes.
pub(crate) type TensorMap = [u64; 16];

/// What a kernel is given for an operand that it must not touch by TMA.
pub(crate) const NO_MAP: TensorMap = [0; 16];

/// The axes of a batch of matrices.
const BATCH_AXES: usize = 3;

/// Row strides must be below this, in bytes ("cuTensorMapEncodeTiled", CUDA driver API).
const MAX_STRIDE: u64 = 1 << 40;

/// What TMA moves of an operand and to which end. Fixed for each map of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Transfer {
    pub tile: TileBox,
    pub dtype: Dtype,
    /// Inputs are loaded, outputs stored.
    pub role: Role,
    /// Axes of the operand.
    pub rank: usize,
}

impl Transfer {
    /// Whether TMA can move a matrix: any that has elements and is aligned can be loaded.
    pub fn can_move(&self, region: &Region) -> bool {
        let is_movable = match self.role {
            Role::Input => region.is_aligned(TMA_ALIGNMENT, true),
            Role::Output => region.is_storable(self.dtype),
        };
        !region.is_empty() && is_movable
    }

    /// Axes of the map: a matrix's two, or as many as the operand has.
    pub const fn map_rank(&self) -> usize {
        if self.rank <= 2 { 2 } else { self.rank }
    }

    /// The axes outside of rows, as a map takes them: of a batch that is one matrix for all, that one.
    pub fn outer(&self, region: &Region) -> [Span; 2] {
        let of_batch = |axis: Span| if axis.stride == 0 { Span { size: axis.distinct(), ..Span::ONE } } else { axis };
        if self.rank == BATCH_AXES { region.outer.map(of_batch) } else { region.outer }
    }

    /// Refuses what no map can describe.
    ///
    /// # Errors
    /// [`Error::TooLarge`] for a stride of 2⁴⁰ bytes or more.
    pub fn check(region: &Region) -> Result<()> {
        let widest = region.outer.iter().map(|axis| axis.stride).fold(region.stride, u64::max);
        if widest < MAX_STRIDE {
            return Ok(());
        }
        let (given, max) = (u128::from(widest), u128::from(MAX_STRIDE - TMA_ALIGNMENT));
        Err(Error::TooLarge { what: "a leading dimension in bytes".to_owned(), given, max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TILE: TileBox = TileBox { rows: 64, columns: 64, swizzle: 128 };

    #[test]
    fn what_is_aligned_is_loaded_and_what_can_be_stored_exactly_is_stored() {
        let odd_end = Region { address: 256, columns: 12, rows: 5, stride: 64, ..Region::default() };
        let of = |role| Transfer { tile: TILE, dtype: Dtype::Bf16, role, rank: 2 };
        assert!(of(Role::Input).can_move(&odd_end) && !of(Role::Output).can_move(&odd_end));
        assert!(of(Role::Output).can_move(&Region { columns: 16, ..odd_end }));
        assert!(!of(Role::Input).can_move(&Region { columns: 0, ..odd_end }), "without K there is nothing to load");
        let [skewed, odd_rows] = [Region { address: 258, ..odd_end }, Region { stride: 66, ..odd_end }];
        assert!(!of(Role::Input).can_move(&skewed) && !of(Role::Input).can_move(&odd_rows));
    }

    #[test]
    fn a_stride_that_tma_cannot_hold_is_refused_before_anything_is_encoded() {
        let wide = Region { address: 0, columns: 1, rows: 2, stride: MAX_STRIDE, ..Region::default() };
        assert!(matches!(Transfer::check(&wide), Err(Error::TooLarge { .. })));
        assert!(Transfer::check(&Region { stride: MAX_STRIDE - TMA_ALIGNMENT, ..wide }).is_ok());
    }
}
