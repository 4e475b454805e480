//! Which of the schedules that a kernel carries serves a shape: the time of a launch, by the blocks of keys of its tiles.
//!
//! The constants were fitted to one H200 at 512 to 16 384 tokens, heads of 64, 128 and 256, causal and not (within 10 %).

use autokernel_core::{Arch, Extents};

use super::plan::Sizes;
use super::problem::{Class, keys_of};
use super::schedule::Schedule;
use super::sequences::{Keys, Sequences};
use super::sm90::Sm90Schedule;
use crate::forecast::{Forecast, Machine};

/// Picoseconds of one query with one key on an SM: of the products for each element, and of the softmax that they do not hide.
const PRODUCTS: f64 = 0.305;
const SOFTMAX: f64 = 20.0;
/// The softmax hides behind the products of other consumers if these take so long; of what they do not cover it shows a part.
const COVER: f64 = 78.0;
const UNCOVERED: f64 = 0.17;
/// The same of a softmax whose scores have bounds, as a soft cap gives them, and are small of these: fitted to heads of 64 and 128.
const BOUNDED_SOFTMAX: f64 = 21.5;
const BOUNDED_COVER: f64 = 112.0;
/// A block of keys and a tile of queries beside that, and of a tile's first block what nothing overlaps.
const BLOCK: f64 = 100e3;
const TILE: f64 = 200e3;
const FIRST_BLOCK: f64 = 0.65;
const PICOSECONDS_PER_MS: f64 = 1e9;
const PICOSECONDS_PER_NS: f64 = 1e3;
/// Of the matrix units' rate what mma.sync reaches beside its loads from shared memory: an estimate, which nothing was fitted to.
const PORTABLE_SHARE: f64 = 0.55;
/// Counting and finding shares: an estimate, which nothing was fitted to. And of each tile gathering its queries and putting together what
/// blocks saw of it, by 112 packed sequences of 16 to 256 tokens on an H200 (`packed.txt`).
const SHARES: f64 = 1e6;
const SHARED_TILE: f64 = 3e6;
/// Keys of a sequence in pages, which the device alone knows: as many as make reading them the longest part.
const KEYS_IN_PAGES: u32 = 4096;

/// Lengths of packed sequences over their mean, which is all that tensors tell of them: the middles of the quarters of an exponential
/// distribution, of which the longest have most of the work.
const PACKED_LENGTHS: [f64; 4] = [0.13, 0.47, 0.98, 2.08];

/// Sequences of one length.
struct Alike {
    count: f64,
    queries: u32,
    keys: u32,
}

/// An image of attention on a GPU.
#[derive(Clone, Debug)]
pub struct Image {
    pub class: Class,
    /// The window of the problem; none where there is none, or where its width is not known.
    pub window: Option<u32>,
    pub schedule: Schedule,
    pub machine: Machine,
}

/// What a kernel carries where nothing was tuned: for long sequences, for short ones where their tiles are other, for fewer
/// queries than a warpgroup takes, and for few on many keys. Sequences whose lengths the device alone knows are mixed, and were not seen to
/// gain by tiles for the longest, nor by those for fewer than a warpgroup's. Caches mostly have few queries, whose tile comes first there.
pub fn portfolio(class: &Class) -> Vec<Sm90Schedule> {
    let few = Sm90Schedule::few_for(class);
    let sequences = class.sequences;
    let (long, moving) = (Sm90Schedule::whole_for(class), Sm90Schedule::moving_for(class));
    let other = match class.head_dim.max(class.value_dim) {
        0..=64 => Some((128, long.exp_by_fma)),
        97..=128 if class.may_stay_within() => Some((128, moving.exp_by_fma)),
        97..=128 if sequences.are_whole() => Some((176, moving.exp_by_fma)),
        _ => None,
    };
    let other = other.map(|(tile_keys, exp_by_fma)| Sm90Schedule { consumers: 2, tile_keys, exp_by_fma, ..moving });
    let short = sequences.are_whole().then_some(Sm90Schedule { consumers: 1, ping_pong: false, ..moving });
    match sequences.are_whole() || sequences.are_packed() {
        true => valid(class, [Some(long), other, short, Some(few)]),
        false => valid(class, [Some(few), Some(long), other]),
    }
}

fn valid<const N: usize>(class: &Class, schedules: [Option<Sm90Schedule>; N]) -> Vec<Sm90Schedule> {
    let mut valid: Vec<Sm90Schedule> = Vec::new();
    for schedule in schedules.into_iter().flatten() {
        // What was cut until it fits may be another.
        if !valid.contains(&schedule) && schedule.check(class, Arch::SM_90A).is_ok() {
            valid.push(schedule);
        }
    }
    valid
}

impl Image {
    /// Picoseconds of one block of keys.
    fn block(&self) -> f64 {
        let pairs = f64::from(self.schedule.tile_queries() * self.schedule.tile_keys());
        let dims = f64::from(self.class.head_dim + self.class.value_dim);
        match self.schedule {
            Schedule::Sm80(_) => {
                let of_sm = self.machine.matrix_tflops / self.sm_count() * PORTABLE_SHARE;
                BLOCK + pairs * (2.0 * dims / of_sm + SOFTMAX)
            }
            Schedule::Sm90(Sm90Schedule { consumers, .. }) => {
                let products = PRODUCTS * dims;
                let (softmax, cover) =
                    if self.class.may_stay_within() { (BOUNDED_SOFTMAX, BOUNDED_COVER) } else { (SOFTMAX, COVER) };
                let uncovered = UNCOVERED * (cover - products * f64::from(consumers - 1)).max(0.0);
                BLOCK + pairs * (products + softmax + uncovered)
            }
        }
    }

    /// Blocks of keys that each tile takes of so many rows, of which `sharing` are a query: those that some query of the tile sees, as
    /// `KeyBlocks` counts them.
    fn blocks(&self, queries: u32, keys: u32, sharing: u32) -> impl Iterator<Item = f64> {
        let (tile, of_block) = (u64::from(self.schedule.tile_queries()), u64::from(self.schedule.tile_keys()));
        let sharing = u64::from(sharing);
        let (rows, causal, window) = (u64::from(queries) * sharing, self.class.causal, self.window);
        let seen = move |query: u64| keys_of(causal, window, [query as usize, queries as usize, keys as usize]);
        (0..rows.div_ceil(tile)).map(move |number| {
            let (first, last) = (number * tile, (number + 1).saturating_mul(tile).min(rows) - 1);
            let (first, last) = (seen(first / sharing).start as u64, seen(last / sharing).end as u64);
            last.div_ceil(of_block).saturating_sub(first / of_block) as f64
        })
    }

    /// All tiles over all SMs, and at the end, where some are idle, half of a tile.
    fn whole(&self, sizes: &Sizes) -> f64 {
        let (block, heads) = (self.block(), f64::from(sizes.heads));
        let (mut total, mut longest) = (0.0, 0f64);
        for sequences in self.sequences(sizes) {
            for blocks in self.blocks(sequences.queries, sequences.keys, 1) {
                let tile = TILE + block * (blocks + if blocks > 0.0 { FIRST_BLOCK } else { 0.0 });
                (total, longest) = (total + sequences.count * heads * tile, longest.max(tile));
            }
        }
        (total / self.sm_count() + longest / 2.0).max(longest)
    }

    /// The blocks of all tiles in equal shares, each as long as its products or as its bytes take.
    fn shared(&self, sizes: &Sizes) -> f64 {
        let sharing = sizes.heads / sizes.groups.max(1);
        let (mut blocks, mut tiles) = (0.0, 0.0);
        for sequences in self.sequences(sizes) {
            let groups = sequences.count * f64::from(sizes.groups);
            for of_tile in self.blocks(sequences.queries, sequences.keys, sharing) {
                (blocks, tiles) = (blocks + groups * of_tile, tiles + groups);
            }
        }
        let elements = f64::from(self.schedule.tile_keys()) * f64::from(self.class.head_dim + self.class.value_dim);
        let bytes = elements * f64::from(self.class.dtype.bytes());
        let read = bytes / (self.machine.memory_gb_per_s / self.sm_count()) * PICOSECONDS_PER_NS;
        let share = (blocks / self.sm_count()).ceil() * self.block().max(read);
        SHARES + share + (tiles / self.sm_count()).max(1.0) * (SHARED_TILE + TILE + FIRST_BLOCK * self.block())
    }

    fn sm_count(&self) -> f64 {
        f64::from(self.machine.sm_count.max(1))
    }

    /// The sequences of a batch, as the tensors tell them.
    fn sequences(&self, sizes: &Sizes) -> Vec<Alike> {
        let batch = sizes.batch.max(1);
        let Sequences { packed_queries, keys } = self.class.sequences;
        let mean = Alike {
            count: f64::from(sizes.batch),
            queries: if packed_queries { sizes.queries.div_ceil(batch) } else { sizes.queries },
            keys: match keys {
                Keys::Whole | Keys::Counted => sizes.keys,
                Keys::Packed => sizes.keys.div_ceil(batch),
                Keys::Paged(_) => KEYS_IN_PAGES,
            },
        };
        if !self.class.sequences.are_packed() || batch == 1 {
            return vec![mean];
        }
        let of = |length: f64| {
            let scaled = |mean: u32| (f64::from(mean) * length).ceil() as u32;
            let count = mean.count / PACKED_LENGTHS.len() as f64;
            Alike { count, queries: scaled(mean.queries), keys: scaled(mean.keys) }
        };
        PACKED_LENGTHS.map(of).into()
    }
}

impl Forecast for Image {
    fn predicted_ms(&self, extents: &Extents) -> f64 {
        let sizes = Sizes::of(extents);
        let picoseconds = if self.schedule.shares_keys() { self.shared(&sizes) } else { self.whole(&sizes) };
        picoseconds / PICOSECONDS_PER_MS
    }
}

#[cfg(test)]
mod tests {
    use autokernel_core::{ComputeCapability, Dtype};

    use super::*;
    use crate::attention::problem::ScoreClass;
    use crate::expr::Cost;

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
            sequences: Sequences::default(),
        }
    }

    /// What is carried and predicted to be fastest, and its milliseconds.
    fn fastest(class: &Class, extents: &Extents) -> (Sm90Schedule, f64) {
        let image = |schedule: Sm90Schedule| Image {
            class: class.clone(),
            window: None,
            schedule: schedule.into(),
            machine: H200,
        };
        let times = portfolio(class).into_iter().map(|schedule| (schedule, image(schedule).predicted_ms(extents)));
        times.min_by(|(_, a), (_, b)| a.total_cmp(b)).unwrap()
    }

    /// The same of sequences of so many tokens, with its TFLOP/s.
    fn best(class: &Class, [batch, heads, tokens]: [u32; 3]) -> (Sm90Schedule, f64) {
        let extents = Sizes { batch, heads, groups: heads, queries: tokens, keys: tokens }.extents(class);
        let (best, ms) = fastest(class, &extents);
        (best, crate::operation::Class::work(class, &extents).operations / ms / 1e9)
    }

    /// Whether blocks share keys by it.
    fn shares(class: &Class, sizes: Sizes) -> bool {
        fastest(class, &sizes.extents(class)).0.share_keys
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
            let (schedule, predicted) = best(&class(dim, causal), shape);
            assert!((predicted / tflops - 1.0).abs() < 0.1, "{dim} {causal} {shape:?}: {schedule}, {predicted}");
        }
        let tiles = |dim, causal, shape| {
            let (schedule, _) = best(&class(dim, causal), shape);
            (schedule.tile_queries(), schedule.tile_keys)
        };
        assert_eq!(tiles(128, false, [32, 16, 512]), (128, 128));
        assert_eq!(tiles(128, true, [8, 16, 2048]), (128, 128));
        assert_eq!(tiles(128, true, [1, 16, 16_384]), (128, 176));
        assert_eq!(tiles(64, true, [32, 32, 512]), (128, 128));
        assert_eq!(tiles(64, true, [8, 32, 2048]), (192, 128));
    }

    /// `score = 50.0 * (score * scale / 50.0).tanh();`
    fn capped(dim: u32, causal: bool) -> Class {
        let cost = Cost { registers: 0, special_functions: 1 };
        let score = Some(ScoreClass { operands: Vec::new(), cost, bounded: true, climbs: false });
        Class { score, ..class(dim, causal) }
    }

    #[test]
    fn it_chooses_what_was_measured_fastest_for_caps_on_an_h200() {
        // TFLOP/s of two consumers and of three, of docs/results/attention-h200/caps-shipped.txt.
        let measured: [(u32, bool, u32, [f64; 2]); 16] = [
            (128, false, 512, [439.0, 395.0]),
            (128, false, 2048, [565.0, 580.0]),
            (128, false, 8192, [613.0, 623.0]),
            (128, false, 16_384, [621.0, 628.0]),
            (128, true, 512, [290.0, 244.0]),
            (128, true, 2048, [474.0, 448.0]),
            (128, true, 8192, [571.0, 581.0]),
            (128, true, 16_384, [589.0, 607.0]),
            (64, false, 512, [325.0, 347.0]),
            (64, false, 2048, [400.0, 454.0]),
            (64, false, 8192, [412.0, 494.0]),
            (64, false, 16_384, [412.0, 500.0]),
            (64, true, 512, [221.0, 201.0]),
            (64, true, 2048, [348.0, 360.0]),
            (64, true, 8192, [409.0, 463.0]),
            (64, true, 16_384, [419.0, 485.0]),
        ];
        for (dim, causal, tokens, tflops) in measured {
            let (batch, heads) = (16_384 / tokens, 2048 / dim);
            let (schedule, _) = best(&capped(dim, causal), [batch, heads, tokens]);
            let got = tflops[schedule.consumers as usize - 2];
            let behind = 1.0 - got / tflops[0].max(tflops[1]);
            assert!(behind < 0.01, "{dim} {causal} {tokens}: {schedule}");
        }
    }

    #[test]
    fn a_window_costs_the_blocks_of_keys_that_its_tiles_see() {
        let schedule = Sm90Schedule::default_for(&class(128, true));
        assert_eq!((schedule.tile_queries(), schedule.tile_keys), (128, 128));
        let image = |causal, window: Option<u32>| Image {
            class: Class { windowed: window.is_some(), ..class(128, causal) },
            window,
            schedule: schedule.into(),
            machine: H200,
        };
        let blocks = |causal, window, [queries, keys, sharing]: [u32; 3]| {
            image(causal, window).blocks(queries, keys, sharing).collect::<Vec<_>>()
        };
        assert_eq!(blocks(true, None, [512, 512, 1]), [1.0, 2.0, 3.0, 4.0]);
        assert_eq!(blocks(true, Some(128), [512, 512, 1]), [1.0, 2.0, 2.0, 2.0]);
        assert_eq!(blocks(true, Some(1), [512, 512, 1]), [1.0; 4]);
        assert_eq!(blocks(false, Some(128), [512, 512, 1]), [2.0, 3.0, 3.0, 2.0]);
        assert_eq!(blocks(true, Some(128), [128, 512, 4]), [2.0; 4], "each tile has 32 queries, at the last keys");
        assert_eq!(blocks(true, Some(128), [512, 128, 1]), [0.0, 0.0, 0.0, 1.0], "most queries see no key");
        assert_eq!(blocks(true, Some(1024), [1, 131_072, 8]), [8.0]);
        let ms = |window| {
            let sizes = Sizes { batch: 1, heads: 16, groups: 16, queries: 16_384, keys: 16_384 };
            let image = image(true, window);
            image.predicted_ms(&sizes.extents(&image.class))
        };
        assert_eq!(ms(Some(16_384)), ms(None));
        assert!(ms(Some(1024)) < 0.2 * ms(None), "{} of {}", ms(Some(1024)), ms(None));
    }

    #[test]
    fn few_queries_on_many_keys_get_blocks_that_share_keys_and_long_sequences_do_not() {
        let shares = |sizes| shares(&class(128, true), sizes);
        for (batch, queries, keys) in [(1, 1, 8192), (16, 1, 8192), (64, 4, 4096), (1, 16, 131_072)] {
            assert!(shares(Sizes { batch, heads: 32, groups: 8, queries, keys }), "{batch} {queries} {keys}");
        }
        for tokens in [512, 2048, 16_384] {
            assert!(!shares(Sizes { batch: 8, heads: 32, groups: 8, queries: tokens, keys: tokens }), "{tokens}");
        }
    }

    #[test]
    fn it_chooses_what_was_measured_fastest_for_packed_sequences_on_an_h200() {
        // TFLOP/s of two consumers and of three, heads of 64, of docs/results/attention-h200/packed-sweep.txt. But for one causal sequence
        // of 8192 beside 64 of 128, whose mean tells nothing of it: two are taken where three are 1.19 times as fast.
        let measured: [(bool, u32, [f64; 2]); 11] = [
            (true, 32, [267.0, 238.0]),
            (true, 8, [410.0, 424.0]),
            (true, 2, [462.0, 560.0]),
            (true, 15, [346.0, 347.0]),
            (true, 112, [100.0, 79.0]),
            (false, 32, [387.0, 415.0]),
            (false, 8, [444.0, 554.0]),
            (false, 2, [474.0, 598.0]),
            (false, 15, [399.0, 477.0]),
            (false, 112, [172.0, 166.0]),
            (false, 65, [473.0, 592.0]),
        ];
        for (causal, batch, tflops) in measured {
            let sequences = Sequences { packed_queries: true, keys: Keys::Packed };
            let class = Class { sequences, ..class(64, causal) };
            let extents = Sizes { batch, heads: 32, groups: 8, queries: 16_384, keys: 16_384 }.extents(&class);
            let (best, _) = fastest(&class, &extents);
            let behind = 1.0 - tflops[best.consumers as usize - 2] / tflops[0].max(tflops[1]);
            assert!(!best.share_keys && behind < 0.04, "{causal} {batch}: {best}");
        }
    }

    #[test]
    fn many_queries_on_a_cache_get_tiles_of_one_head_and_few_share_keys() {
        let caches = [Keys::Counted, Keys::Paged(64)];
        for (packed_queries, keys) in [false, true].into_iter().flat_map(|packed| caches.map(|keys| (packed, keys))) {
            let class = Class { sequences: Sequences { packed_queries, keys }, ..class(128, true) };
            let shares = |batch, queries, keys| {
                let queries = if packed_queries { batch * queries } else { queries };
                shares(&class, Sizes { batch, heads: 32, groups: 8, queries, keys })
            };
            for (batch, queries, keys) in [(1, 1, 8192), (16, 1, 8192), (64, 4, 4096)] {
                assert!(shares(batch, queries, keys), "{batch} {queries} {keys}");
            }
            for (batch, queries, keys) in [(8, 512, 4096), (32, 128, 2048), (1, 2048, 8192)] {
                assert!(!shares(batch, queries, keys), "{batch} {queries} {keys}");
            }
        }
    }

    #[test]
    fn packed_sequences_get_tiles_of_one_head_where_their_mean_has_many_queries() {
        let sequences = Sequences { packed_queries: true, keys: Keys::Packed };
        let class = Class { sequences, ..class(128, true) };
        let shares = |batch, queries, keys| shares(&class, Sizes { batch, heads: 32, groups: 8, queries, keys });
        for (batch, queries, keys) in [(1, 1, 8192), (16, 16, 16 * 8192), (64, 256, 64 * 4096)] {
            assert!(shares(batch, queries, keys), "{batch} {queries} {keys}");
        }
        for batch in [1, 2, 8, 32, 65, 112] {
            assert!(!shares(batch, 16_384, 16_384), "{batch}");
        }
    }
}
