//! How many blocks a kernel is launched with, or why it cannot be.

use autokernel_core::Grid;

use crate::{Error, Extents, Result};

/// The most parts and blocks that a kernel counts: an `int`.
const MAX_COUNT: u64 = i32::MAX as u64;

/// Blocks of a launch.
///
/// # Errors
/// [`Error::TooLarge`] if a kernel cannot count its parts, or a grid the blocks.
pub(crate) fn blocks(symbol: &str, grid: &Grid, extents: &Extents, sm_count: u32) -> Result<u32> {
    let blocks = grid.blocks(extents, sm_count);
    let most = blocks.max(grid.clusters(extents));
    u32::try_from(blocks).ok().filter(|_| most <= MAX_COUNT).ok_or_else(|| Error::TooLarge {
        what: format!("the number of tiles of `{symbol}`"),
        given: u128::from(most),
        max: u128::from(MAX_COUNT),
    })
}

#[cfg(test)]
mod tests {
    use autokernel_core::Residency;
    use autokernel_core::plan::Axis;

    use super::*;
    use crate::matmul;

    fn launched(cluster: u32, residency: Residency, m: u32, n: u32) -> Option<u32> {
        let axes = vec![Axis { dim: 0, step: 1 }, Axis { dim: 1, step: 1 }];
        blocks("product", &Grid { axes, cluster, tiles: 1, residency }, &matmul::extents(m, n, 64), 132).ok()
    }

    #[test]
    fn more_parts_than_a_kernel_counts_are_refused_however_few_blocks_walk_over_them() {
        for residency in [Residency::OneEach, Residency::Persistent { blocks_per_sm: 1 }] {
            assert!(launched(1, residency, 46340, 46340).is_some());
            assert_eq!(launched(1, residency, 46341, 46341), None);
            assert_eq!(launched(1, residency, u32::MAX, u32::MAX), None);
        }
    }

    #[test]
    fn more_blocks_than_a_grid_has_are_refused() {
        assert_eq!(launched(4, Residency::OneEach, 23170, 23170), Some(4 * 23170 * 23170));
        assert_eq!(launched(8, Residency::OneEach, 23170, 23170), None);
    }

    #[test]
    fn nothing_to_divide_is_no_block() {
        assert_eq!(launched(2, Residency::OneEach, 0, 5), Some(0));
        assert_eq!(launched(2, Residency::Persistent { blocks_per_sm: 1 }, 0, 5), Some(0));
    }
}
