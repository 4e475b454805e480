//! What a launch asks of a GPU: its tiles, what they multiply, and the bytes that it moves.

use autokernel_core::Extents;

use super::Traits;
use crate::matmul::extents::{batched_extents, matrices, products, sizes};

/// Experts of a mixture without a row, one of so many.
const EMPTY: u32 = 8;
/// More groups than these are taken for even: to count them all would take longer than a launch.
const MOST_GROUPS: u32 = 4096;

/// What a launch asks for, by one image.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Its tiles, as those of a batch.
    pub tiled: Extents,
    /// M, N and K of a product, in the mean.
    pub sizes: [u32; 3],
    /// Rows of A and of C, and matrices of B.
    pub rows: f64,
    pub weights: f64,
    /// Whether a tile's rows of A are there to load beyond those that it stores: behind a group's last row the next group's begin.
    pub next_rows_follow: bool,
}

impl Load {
    /// Products of one size; counted as if nothing were shared by those of a batch.
    pub fn of_products(extents: &Extents) -> Self {
        let sizes @ [m, ..] = sizes(extents);
        let count = f64::from(products(extents));
        Load { tiled: *extents, sizes, rows: count * f64::from(m), weights: count, next_rows_follow: false }
    }

    /// Groups of as many rows each.
    pub fn of_equal_groups(extents: &Extents) -> Self {
        let ([m, n, k], groups) = (sizes(extents), matrices(extents).max(1));
        Load { next_rows_follow: true, ..Load::of_products(&batched_extents(groups, m.div_ceil(groups), n, k)) }
    }

    /// Groups as the loads of experts often are: sizes by Zipf's law, and some empty. Tiles of groups that are larger than the mean
    /// are as many more as those of smaller ones are fewer, but for the parts of tiles that stay empty.
    pub fn of_uneven_groups(image: &Traits, extents: &Extents) -> Self {
        let ([m, n, k], groups) = (sizes(extents), matrices(extents).max(1));
        if groups > MOST_GROUPS {
            return Load::of_equal_groups(extents);
        }
        let filled = (groups - groups / EMPTY).min(m).max(1);
        let shares: f64 = (1..=filled).map(|rank| f64::from(rank).recip()).sum();
        let of_cluster = f64::from((image.geometry.tile_m * image.geometry.cluster_m).max(1));
        let clusters = |rank: u32| (f64::from(m) / (f64::from(rank) * shares * of_cluster)).ceil();
        let clusters: f64 = (1..=filled).map(clusters).sum();
        let one_row_of_tiles = batched_extents(clusters.max(1.0) as u32, 1, n, k);
        Load {
            tiled: one_row_of_tiles,
            sizes: [m.div_ceil(filled), n, k],
            rows: f64::from(m),
            weights: f64::from(filled),
            next_rows_follow: true,
        }
    }

    /// Bytes that are read and written.
    pub fn bytes(&self, image: &Traits) -> f64 {
        let [_, n, k] = self.sizes.map(f64::from);
        let summed = f64::from(image.geometry.tile_n / image.geometry.columns);
        let of_c = image.output_bytes + image.body_bytes;
        let of_factors = image.input_bytes * self.rows + image.weight_bytes * self.weights * summed * n;
        of_factors * k + of_c * self.rows * n
    }
}

#[cfg(test)]
mod tests {
    use autokernel_core::Dtype;

    use super::*;
    use crate::matmul::extents::grouped_extents;
    use crate::matmul::problem::{Layout, Problem};
    use crate::matmul::schedule::{Schedule, Sm90Schedule};

    fn of_tiles(tile_m: u32) -> Traits {
        let class = Problem::new(Dtype::Bf16, Layout::Nt, "identity".parse().unwrap()).class();
        Traits::new(&class, &Schedule::from(Sm90Schedule { tile_m, ..Sm90Schedule::PLAIN }))
    }

    #[test]
    fn uneven_groups_have_a_part_of_a_tile_each_beside_those_that_their_rows_fill() {
        // Of 8 groups 7 have rows: 1000, 500, 333, … of 2593.
        let (extents, image) = (grouped_extents(8, 2593, 512, 64), of_tiles(128));
        let load = Load::of_uneven_groups(&image, &extents);
        let tiles = [1000, 500, 333, 250, 200, 167, 143].map(|rows: u32| rows.div_ceil(128)).iter().sum::<u32>();
        assert_eq!(load.tiled, batched_extents(tiles, 1, 512, 64));
        let bytes = 2.0 * (2593.0 * 64.0 + 7.0 * 512.0 * 64.0) + 2.0 * 2593.0 * 512.0;
        assert_eq!(load.bytes(&image), bytes);
    }

    #[test]
    fn groups_of_no_rows_and_more_groups_than_rows_are_counted_too() {
        let image = of_tiles(64);
        for (groups, rows) in [(0, 0), (1, 0), (5, 0), (64, 3), (1, 1), (u32::MAX >> 2, 9)] {
            let load = Load::of_uneven_groups(&image, &grouped_extents(groups, rows, 64, 64));
            let tiles = matrices(&load.tiled);
            assert!(tiles >= 1 && tiles <= groups.max(1), "{groups} groups of {rows} rows: {tiles} tiles");
            assert!(load.bytes(&image).is_finite());
        }
    }
}
