//! Small products that show what a schedule does.

use autokernel_core::Extents;

use super::extents::{batched_extents, extents, grouped_extents};
use super::many::Many;
use super::problem::Class;
use super::schedule::{Geometry, Schedule};

/// Bytes of inputs by which an edge lies beyond a tile and rows are still aligned for TMA.
const BEYOND_BYTES: u32 = 48;

/// Groups of a probe: of fewer none is empty by Zipf's law.
const GROUPS: u32 = 3;

/// The products for `schedule`: one whose clusters walk over several tiles, with ragged edges and a ring that goes around;
/// one whose rows begin anywhere, with less than a tile; and a sum of nothing.
pub(super) fn of(schedule: &Schedule, class: &Class) -> Vec<Extents> {
    let Geometry { tile_m, columns, tile_k, cluster_m, cluster_n, split_k, .. } = schedule.geometry(class);
    let (rows, columns) = (tile_m * cluster_m, columns * cluster_n);
    let beyond = BEYOND_BYTES / class.input.bytes();
    // One block of K more than there are stages, for each of the blocks that share K, and a part of one.
    let around = tile_k * split_k * (schedule.stages() + 1) + beyond;
    let granule = class.weights.map_or(1, |weights| weights.granule());
    // What groups share is as much as three of them need, so that one may be empty and another have more than a tile.
    let probe = |m: u32, n, k: u32| match (class.many(), k.next_multiple_of(granule)) {
        (Many::One, k) => extents(m, n, k),
        (Many::Batch, k) => batched_extents(2, m, n, k),
        (Many::Masked, k) => batched_extents(GROUPS, m, n, k),
        (Many::Groups, k) => grouped_extents(GROUPS, 2 * m, n, k),
        (Many::GroupsAlongK, k) => grouped_extents(GROUPS, m, n, 2 * k),
    };
    vec![
        probe(rows + beyond, columns + beyond, around),
        probe(rows / 2 + 3, columns / 2 + 5, tile_k + 13),
        probe(3, columns / 2 + 1, 0),
    ]
}

#[cfg(test)]
mod tests {
    use autokernel_core::{Arch, Dtype};

    use super::*;
    use crate::matmul::problem::{Layout, Problem};
    use crate::matmul::schedule::Sm90Schedule;
    use crate::matmul::sizes;

    #[test]
    fn the_first_probe_has_ragged_tiles_each_way_and_more_blocks_of_k_than_stages_for_each_that_shares_it() {
        let class = Problem::new(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap()).class();
        let plain = Sm90Schedule { tile_m: 128, tile_n: 256, cluster_m: 2, stages: 4, ..Sm90Schedule::PLAIN };
        for (schedule, blocks) in [(plain, 6), (Sm90Schedule { cluster_m: 1, splits: true, split_k: 2, ..plain }, 11)] {
            let rows = 128 * schedule.cluster_m;
            let [m, n, k] = sizes(&of(&schedule.into(), &class)[0]);
            assert!(m > rows && m < 2 * rows && n > 256 && n < 512 && !k.is_multiple_of(64));
            assert_eq!(k.div_ceil(64), blocks);
        }
        for arch in [Arch::SM_80, Arch::SM_90A] {
            let probes = of(&Schedule::default_for(&class, arch), &class);
            assert!(
                probes.iter().any(|probe| sizes(probe)[2] == 0)
                    && probes.iter().any(|probe| !sizes(probe)[2].is_multiple_of(8))
            );
        }
    }
}
