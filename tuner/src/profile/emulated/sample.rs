//! Which part of a launch is emulated.

use autokernel_core::{Extents, Grid};
use serde::Serialize;

use crate::target::Target;

/// Parts of the grid that are kept: the fewest that have neighbours each way, and an edge where there is one.
const PARTS: u32 = 4;
/// Operations of what is kept: some seconds.
const OPERATIONS: f64 = 2e9;
/// What is cut off is a multiple of this, so that rows keep their alignment.
const WHOLE: u32 = 128;

/// The part of a launch that is emulated.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Sample {
    /// The extents that were run, all of them by rows that follow each other without gaps.
    pub shape: Extents,
    /// Parts of the grid that clusters took, of which each has `tiles_of_a_part` tiles.
    pub parts: u64,
    /// Parts of the whole launch.
    pub of: u64,
    /// Tiles of a part.
    pub tiles_of_a_part: u32,
    /// Blocks that ran, on as few multiprocessors.
    pub blocks: u64,
}

impl Sample {
    /// A few parts of `grid`, with the last ones where they are ragged; dimensions that are not divided are cut as far as time
    /// asks for it.
    pub fn new(target: &Target, grid: &Grid) -> Self {
        let kept = if grid.axes.len() > 1 { PARTS / 2 } else { PARTS };
        let mut sizes: Vec<u32> = target.shape.sizes().collect();
        for axis in &grid.axes {
            if let Some(size) = sizes.get_mut(usize::from(axis.dim)) {
                *size = first_parts(*size, axis.step, kept);
            }
        }
        let divided = |dim: usize| grid.axes.iter().any(|axis| usize::from(axis.dim) == dim);
        let extents = |sizes: &[u32]| {
            let named = target.shape.iter().zip(sizes).map(|((name, _), size)| (name, *size));
            Extents::collect(named).unwrap_or(target.shape)
        };
        while target.problem.work(&extents(&sizes)).operations > OPERATIONS {
            let whole = sizes.iter_mut().enumerate().filter(|(dim, size)| !divided(*dim) && **size >= 2 * WHOLE);
            let Some((_, longest)) = whole.max_by_key(|(_, size)| **size) else { break };
            *longest = *longest % WHOLE + *longest / WHOLE / 2 * WHOLE;
        }
        let shape = extents(&sizes);
        let blocks = grid.blocks(&shape, 2 * grid.cluster.max(1));
        let (parts, of) = (grid.clusters(&shape), grid.clusters(&target.shape));
        Sample { shape, parts, of, tiles_of_a_part: grid.tiles, blocks }
    }
}

/// The extent of `count` parts of `step`, the last of which is as ragged as the last one of `size` is.
fn first_parts(size: u32, step: u32, count: u32) -> u32 {
    if size.div_ceil(step) <= count {
        return size;
    }
    match size % step {
        0 => count * step,
        ragged => (count - 1) * step + ragged,
    }
}

#[cfg(test)]
mod tests {
    use autokernel_codegen::arch::Arch;
    use autokernel_codegen::dtype::Dtype;
    use autokernel_codegen::matmul::{extents, sizes};
    use autokernel_codegen::problem::{Layout, Problem};
    use autokernel_core::Residency;
    use autokernel_core::plan::Axis;

    use super::*;

    #[test]
    fn a_few_parts_with_a_ragged_edge_are_kept_and_a_long_sum_is_cut_so_that_rows_stay_aligned() {
        let problem = Problem::matmul(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap());
        let grid = Grid {
            axes: vec![Axis { dim: 0, step: 256 }, Axis { dim: 1, step: 128 }],
            cluster: 2,
            tiles: 2,
            residency: Residency::Persistent { blocks_per_sm: 1 },
            split: None,
        };
        let sample = |m, n, k| {
            let target = Target { problem: problem.clone(), arch: Arch::SM_90A, shape: extents(m, n, k) };
            Sample::new(&target, &grid)
        };
        let large = sample(4096, 4096, 4096);
        assert_eq!((large.shape, large.parts, large.of, large.blocks), (extents(512, 256, 4096), 4, 512, 4));
        assert_eq!(sample(4000, 4096, 520).shape, extents(256 + 160, 256, 520));
        assert_eq!(sample(16, 100, 64).shape, extents(16, 100, 64));
        let [_, _, k] = sizes(&sample(4096, 4096, 65_544).shape);
        assert!(k < 65_544 / 4 && k % 128 == 65_544 % 128, "{k}");
    }
}
