//! What the blocks that run side by side on a GPU ask for, by the order of tiles.

use autokernel_core::Extents;

use super::{Machine, Traits};
use crate::matmul::extents::products;
use crate::matmul::raster::{Raster, RasterOrder};

/// SMs of a GPC, on which blocks of successive numbers seem to run. Of 1167 forms that were timed in four and more orders at drawn shapes,
/// on an H200 and an H100, the order whose runs of so many tiles have the fewest different rows and columns, times those of each half of
/// the SMs, takes 0.4 % longer than the fastest of its orders in the mean and 4.5 % at the 99th percentile, whole sides of up to 16 and 12
/// tiles 0.9 and 20 % (`docs/results/drawn-h100/orders.txt`).
const OF_A_GPC: u64 = 18;
/// Parts of L2, each of which holds what its own SMs read.
const PARTS_OF_L2: u64 = 2;

/// So many turns of a launch are looked at, at equal steps.
const TURNS: u64 = 4;

/// How the clusters of a launch are numbered and run.
pub(super) struct Walk {
    /// Clusters along M and N, of each product.
    clusters: [u32; 2],
    /// Of rows and of columns, what a cluster loads.
    sides: [f64; 2],
    /// Clusters of all products.
    all: u64,
    /// Of them, those that run at once.
    at_once: u64,
    /// Blocks of a cluster.
    blocks: u64,
    sm_count: u64,
}

impl Walk {
    pub fn new(image: &Traits, extents: &Extents, machine: &Machine) -> Self {
        let geometry = &image.geometry;
        let clusters = [0, 1].map(|axis| image.grid.parts(axis, extents).max(1));
        let blocks = u64::from(image.blocks_of_cluster().max(1));
        let sm_count = u64::from(machine.sm_count);
        let all = of_product(clusters) * u64::from(products(extents).max(1));
        Walk {
            clusters,
            sides: [geometry.tile_m * geometry.cluster_m, geometry.tile_n * geometry.cluster_n].map(f64::from),
            all,
            at_once: all.min(sm_count / blocks).max(1),
            blocks,
            sm_count,
        }
    }

    /// Clusters along M and N, of each product.
    pub fn clusters(&self) -> [u32; 2] {
        self.clusters
    }

    /// What SMs of a GPC ask for, times what those of a part of L2 do: to compare rasters by.
    pub fn asked(&self, raster: Raster) -> f64 {
        self.asked_by(OF_A_GPC, raster) * self.asked_by(self.sm_count / PARTS_OF_L2, raster)
    }

    /// The different rows and columns that each `sms` neighbouring SMs ask for.
    fn asked_by(&self, sms: u64, raster: Raster) -> f64 {
        let run = (sms / self.blocks).max(1);
        let turns = self.all.div_ceil(self.at_once);
        let looked_at = turns.min(TURNS);
        let of_turn = |number: u64| {
            let first = number * turns / looked_at * self.at_once;
            let end = (first + self.at_once).min(self.all);
            let runs = (0..(end - first).div_ceil(run)).map(|number| first + number * run);
            runs.map(|begin| self.different(raster, begin, (begin + run).min(end))).sum::<f64>()
        };
        (0..looked_at).map(of_turn).sum()
    }

    /// The different rows and columns of clusters from `first` up to `end`. Products of a batch share none.
    fn different(&self, raster: Raster, first: u64, end: u64) -> f64 {
        let of_product = of_product(self.clusters);
        let mut sum = 0.0;
        let mut at = first;
        while at < end {
            let begun = at / of_product * of_product;
            let next = (begun + of_product).min(end);
            let [along_m, along_n] = different(raster, at - begun, next - begun, self.clusters);
            sum += self.sides[0] * along_m as f64 + self.sides[1] * along_n as f64;
            at = next;
        }
        sum
    }
}

fn of_product(clusters: [u32; 2]) -> u64 {
    clusters.map(u64::from).iter().product()
}

/// How many different places along M and along N the tiles from `first` up to `end` have, in a grid of so many.
fn different(raster: Raster, first: u64, end: u64, [tiles_m, tiles_n]: [u32; 2]) -> [u64; 2] {
    let along_m = raster.order == RasterOrder::AlongM;
    let (fast_tiles, slow_tiles) = if along_m { (tiles_m, tiles_n) } else { (tiles_n, tiles_m) };
    let (fast_tiles, slow_tiles) = (u64::from(fast_tiles), u64::from(slow_tiles));
    let group = u64::from(raster.group).clamp(1, fast_tiles);
    let of_group = group * slow_tiles;
    let (mut fast, mut slow, mut slow_before) = (0, 0, slow_tiles);
    let mut at = first;
    while at < end {
        // A group, of which the last may be narrower, is swept along the slow side.
        let number = at / of_group;
        let size = group.min(fast_tiles - number * group);
        let next = ((number + 1) * of_group).min(end);
        let (begin, last) = (at - number * of_group, next - 1 - number * of_group);
        let (slow_begin, slow_last) = (begin / size, last / size);
        fast += match slow_last - slow_begin {
            0 => last - begin + 1,
            1 => size.min(size - begin % size + last % size + 1),
            _ => size,
        };
        // What the group before ended with is not counted again.
        slow += (slow_last + 1).min(slow_before).saturating_sub(slow_begin);
        slow_before = slow_begin;
        at = next;
    }
    if along_m { [fast, slow] } else { [slow, fast] }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_places_of_any_run_of_tiles_are_as_many_as_those_of_each_tile() {
        let orders = [RasterOrder::AlongM, RasterOrder::AlongN];
        for tiles @ [tiles_m, tiles_n] in [[1, 1], [1, 9], [7, 1], [5, 4], [12, 10], [14, 3]] {
            for raster in orders.into_iter().flat_map(|order| [1, 2, 3, 8, 32].map(|group| Raster { order, group })) {
                let all = u64::from(tiles_m * tiles_n);
                for (first, end) in (0..all).flat_map(|first| (first + 1..=all).map(move |end| (first, end))) {
                    let places: Vec<[u32; 2]> = (first..end).map(|tile| raster.tile(tile, tiles)).collect();
                    let along =
                        |axis: usize| places.iter().map(|place| place[axis]).collect::<BTreeSet<_>>().len() as u64;
                    let counted = different(raster, first, end, tiles);
                    assert_eq!(counted, [along(0), along(1)], "{raster:?}, {first} to {end} of {tiles:?}");
                }
            }
        }
    }
}
