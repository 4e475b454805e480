//! How many blocks a kernel is launched with, or why it cannot be.

use autokernel_core::KernelStep;

use crate::select::Knobs;
use crate::{Error, Extents, Result};

/// The most parts and blocks that a kernel counts: an `int`.
const MAX_COUNT: u64 = i32::MAX as u64;

/// Blocks of a launch with those knobs.
///
/// # Errors
/// [`Error::TooLarge`] if a kernel cannot count its parts, or a grid the blocks.
pub(crate) fn blocks(kernel: &KernelStep, knobs: &Knobs, extents: &Extents, sm_count: u32) -> Result<u32> {
    let KernelStep { symbol, grid, .. } = kernel;
    let blocks = grid.blocks_split_into(sharing(kernel, knobs), extents, sm_count);
    let most = blocks.max(grid.clusters(extents));
    u32::try_from(blocks).ok().filter(|_| most <= MAX_COUNT).ok_or_else(|| Error::TooLarge {
        what: format!("the number of tiles of `{symbol}`"),
        given: u128::from(most),
        max: u128::from(MAX_COUNT),
    })
}

/// Blocks of a cluster, where the launch says it: an image whose clusters are compiled in has them without being told.
pub(crate) fn cluster(kernel: &KernelStep, knobs: &Knobs) -> Option<u32> {
    kernel.grid.split?;
    Some(kernel.grid.cluster_split_into(sharing(kernel, knobs)).0).filter(|blocks| *blocks > 1)
}

/// The blocks that share a tile, as the knobs or the plan say; none where launches do not say that.
fn sharing(kernel: &KernelStep, knobs: &Knobs) -> Option<u32> {
    let field = usize::from(kernel.grid.split?.field);
    kernel.knob(field, knobs.value(field)).and_then(|value| u32::try_from(value).ok())
}

#[cfg(test)]
mod tests {
    use autokernel_core::plan::{Axis, Split};
    use autokernel_core::{Arg, Field, Grid, LaunchPlan, Residency};

    use super::*;
    use crate::matmul;

    fn kernel(grid: Grid) -> KernelStep {
        let split = Field { name: "split_k".to_owned(), arg: Arg::Knob { value: 2 } };
        let symbol = "product".to_owned();
        KernelStep { symbol, threads: 128, shared_bytes: 0, overlaps_previous: false, grid, args: vec![split] }
    }

    fn grid(cluster: u32, residency: Residency) -> Grid {
        let axes = vec![Axis { dim: 0, step: 1 }, Axis { dim: 1, step: 1 }];
        Grid { axes, cluster, tiles: 1, residency, split: None }
    }

    fn launched(cluster: u32, residency: Residency, m: u32, n: u32) -> Option<u32> {
        blocks(&kernel(grid(cluster, residency)), &Knobs::NONE, &matmul::extents(m, n, 64), 132).ok()
    }

    #[test]
    fn a_launch_says_how_many_blocks_share_a_tile_or_its_plan_does() {
        let whole = Residency::Persistent { blocks_per_sm: 1 };
        let split = Grid { split: Some(Split { field: 0, whole }), ..grid(2, Residency::OneEach) };
        let plan = LaunchPlan::of_kernel(kernel(split), Vec::new());
        let of = |knobs: &Knobs| {
            let step = &plan.kernels[0];
            (blocks(step, knobs, &matmul::extents(20, 10, 64), 132).ok(), cluster(step, knobs))
        };
        let knobs = |split| Knobs::new(&plan, [("split_k", split)].into_iter()).unwrap();
        assert_eq!(of(&Knobs::NONE), (Some(400), Some(2)));
        assert_eq!(of(&knobs(7)), (Some(1400), Some(7)));
        assert_eq!([1, 0, -3, i32::MIN].map(|split| of(&knobs(split)).0), [Some(132); 4], "fewer than one are one");
        assert_eq!(of(&knobs(1)).1, None);
        assert_eq!(cluster(&kernel(grid(4, Residency::OneEach)), &Knobs::NONE), None);
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
