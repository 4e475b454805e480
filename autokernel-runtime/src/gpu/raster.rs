//! The raster order as kernels take it; mirrors `raster.cuh`.

use crate::{Error, Raster, RasterOrder, Result};

/// `autokernel::Raster`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub(super) struct RasterArgs {
    order: i32,
    group: i32,
}

impl RasterArgs {
    /// The raster of a grid of tiles (or of clusters). A group is cut to the extent of its axis, which changes no
    /// order and keeps the kernel's products within 32 bits.
    pub fn new(raster: Raster, (tiles_m, tiles_n): (u32, u32)) -> Self {
        let (order, extent) = match raster.order {
            RasterOrder::AlongM => (0, tiles_m),
            RasterOrder::AlongN => (1, tiles_n),
        };
        let group = raster.group.clamp(1, extent.max(1));
        Self { order, group: i32::try_from(group).unwrap_or(i32::MAX) }
    }
}

/// How many tiles (or clusters) there are.
///
/// # Errors
/// [`Error::TooLarge`] if a kernel cannot count them.
pub(super) fn count((tiles_m, tiles_n): (u32, u32)) -> Result<u32> {
    let tiles = u64::from(tiles_m) * u64::from(tiles_n);
    let max = i32::MAX as u64;
    u32::try_from(tiles).ok().filter(|_| tiles <= max).ok_or(Error::TooLarge {
        what: "the number of output tiles",
        given: u128::from(tiles),
        max: u128::from(max),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_cut_to_its_axis() {
        let along_m = Raster::new(RasterOrder::AlongM, 100);
        assert_eq!(RasterArgs::new(along_m, (7, 50)), RasterArgs { order: 0, group: 7 });
        let along_n = Raster::new(RasterOrder::AlongN, 100);
        assert_eq!(RasterArgs::new(along_n, (7, 50)), RasterArgs { order: 1, group: 50 });
        assert_eq!(RasterArgs::new(Raster::new(RasterOrder::AlongN, 0), (7, 50)).group, 1);
    }

    #[test]
    fn more_tiles_than_a_kernel_counts_are_refused() {
        assert_eq!(count((46340, 46340)).unwrap(), 46340 * 46340);
        assert!(count((46341, 46341)).is_err());
        assert!(count((u32::MAX, u32::MAX)).is_err());
    }
}
