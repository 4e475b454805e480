//! Which of the schedules that a kernel carries serves a shape: the time of a launch, by the blocks of keys of its tiles.
//!
//! The constants were fitted to one H200 at 512 to 16 384 tokens, heads of 64, 128 and 256, causal and not (within 10 %).

use autokernel_core::{Arch, Extents};

use super::plan::Sizes;
use super::problem::Class;
use super::rules::ROWS_OF_CONSUMER;
use super::schedule::AttentionSchedule;
use crate::forecast::{Forecast, Machine};

/// Picoseconds of one query with one key on an SM: of the products for each element, and of the softmax that they do not hide.
const PRODUCTS: f64 = 0.305;
const SOFTMAX: f64 = 20.0;
/// The softmax hides behind the products of other consumers if these take so long; of what they do not cover it shows a part.
const COVER: f64 = 78.0;
const UNCOVERED: f64 = 0.17;
/// A block of keys and a tile of queries beside that, and of a tile's first block what nothing overlaps.
const BLOCK: f64 = 100e3;
const TILE: f64 = 200e3;
const FIRST_BLOCK: f64 = 0.65;
const PICOSECONDS_PER_MS: f64 = 1e9;

/// An image of attention on a GPU.
#[derive(Clone, Debug)]
pub struct Image {
    pub class: Class,
    pub schedule: AttentionSchedule,
    pub machine: Machine,
}

/// What a kernel carries where nothing was tuned: for long sequences, for short ones where their tiles are other, and for fewer
/// queries than a warpgroup takes.
pub fn portfolio(class: &Class) -> Vec<AttentionSchedule> {
    let long = AttentionSchedule::default_for(class);
    let other = match class.head_dim.max(class.value_dim) {
        0..=64 => Some((2, 128)),
        97..=128 => Some((2, 176)),
        _ => None,
    };
    let other = other.map(|(consumers, tile_keys)| AttentionSchedule { consumers, tile_keys, ..long });
    let few = AttentionSchedule { consumers: 1, ping_pong: false, ..long };
    let all = [Some(long), other, Some(few)].into_iter().flatten();
    all.filter(|schedule| schedule.check(class, Arch::SM_90A).is_ok()).collect()
}

impl Image {
    /// Picoseconds of one block of keys.
    fn block(&self) -> f64 {
        let AttentionSchedule { consumers, tile_keys, .. } = self.schedule;
        let products = PRODUCTS * f64::from(self.class.head_dim + self.class.value_dim);
        let uncovered = UNCOVERED * (COVER - products * f64::from(consumers - 1)).max(0.0);
        let pairs = f64::from(consumers * ROWS_OF_CONSUMER * tile_keys);
        BLOCK + pairs * (products + SOFTMAX + uncovered)
    }

    /// Blocks of keys that each tile of a head takes.
    fn blocks(&self, sizes: &Sizes) -> impl Iterator<Item = f64> {
        let (rows, keys) = (u64::from(self.schedule.tile_queries()), u64::from(self.schedule.tile_keys));
        let &Sizes { queries, keys: all, .. } = sizes;
        let (queries, all, causal) = (u64::from(queries), u64::from(all), self.class.causal);
        (0..queries.div_ceil(rows)).map(move |tile| {
            let last = (tile + 1).saturating_mul(rows).min(queries);
            let seen = if causal { (all + last).saturating_sub(queries) } else { all };
            seen.div_ceil(keys) as f64
        })
    }
}

impl Forecast for Image {
    /// All tiles over all SMs, and at the end, where some are idle, half of a tile.
    fn predicted_ms(&self, extents: &Extents) -> f64 {
        let sizes = Sizes::of(extents);
        let (block, heads) = (self.block(), f64::from(sizes.batch) * f64::from(sizes.heads));
        let (mut total, mut longest) = (0.0, 0f64);
        for blocks in self.blocks(&sizes) {
            let tile = TILE + block * (blocks + if blocks > 0.0 { FIRST_BLOCK } else { 0.0 });
            (total, longest) = (total + heads * tile, longest.max(tile));
        }
        let share = total / f64::from(self.machine.sm_count.max(1));
        (share + longest / 2.0).max(longest) / PICOSECONDS_PER_MS
    }
}

#[cfg(test)]
mod tests {
    use autokernel_core::{ComputeCapability, Dtype};

    use super::*;

    const H200: Machine = Machine {
        capability: ComputeCapability { major: 9, minor: 0 },
        sm_count: 132,
        matrix_tflops: 989.0,
        memory_gb_per_s: 4800.0,
    };

    fn class(dim: u32, causal: bool) -> Class {
        Class {
            dtype: Dtype::Bf16,
            head_dim: dim,
            value_dim: dim,
            causal,
            windowed: false,
            log_sum_exp: false,
            score: None,
        }
    }

    /// The schedule that is predicted to be fastest, and its TFLOP/s.
    fn best(dim: u32, causal: bool, [batch, heads, tokens]: [u32; 3]) -> (AttentionSchedule, f64) {
        let class = class(dim, causal);
        let extents = Sizes { batch, heads, groups: heads, queries: tokens, keys: tokens }.extents(&class);
        let ms = |schedule: &AttentionSchedule| {
            Image { class: class.clone(), schedule: *schedule, machine: H200 }.predicted_ms(&extents)
        };
        let schedules = portfolio(&class);
        let best = *schedules.iter().min_by(|a, b| ms(a).total_cmp(&ms(b))).unwrap();
        let operations = crate::operation::Class::work(&class, &extents).operations;
        (best, operations / ms(&best) / 1e9)
    }

    #[test]
    fn it_chooses_what_was_measured_fastest_on_an_h200_and_is_within_a_tenth_of_its_speed() {
        let measured = [
            (128, false, [32, 16, 512], 505.0),
            (128, false, [1, 16, 16_384], 670.0),
            (128, true, [8, 16, 2048], 522.0),
            (128, true, [1, 16, 16_384], 658.0),
            (64, false, [1, 32, 16_384], 545.0),
            (64, true, [8, 32, 2048], 399.0),
            (256, false, [2, 8, 8192], 733.0),
            (256, true, [2, 8, 8192], 667.0),
        ];
        for (dim, causal, shape, tflops) in measured {
            let (schedule, predicted) = best(dim, causal, shape);
            assert!((predicted / tflops - 1.0).abs() < 0.1, "{dim} {causal} {shape:?}: {schedule}, {predicted}");
        }
        let tiles = |dim, causal, shape| {
            let (schedule, _) = best(dim, causal, shape);
            (schedule.tile_queries(), schedule.tile_keys)
        };
        assert_eq!(tiles(128, false, [32, 16, 512]), (128, 128));
        assert_eq!(tiles(128, true, [8, 16, 2048]), (128, 128));
        assert_eq!(tiles(128, true, [1, 16, 16_384]), (128, 176));
        assert_eq!(tiles(64, true, [32, 32, 512]), (128, 128));
        assert_eq!(tiles(64, true, [8, 32, 2048]), (192, 128));
    }
}
