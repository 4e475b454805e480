//! The time of a launch, predicted from how its tiles fall on a GPU and a few constants.
//!
//! A roofline, one level down: a stage takes what the slowest of matrix units, L2 and the latency of loads takes, a
//! tile its stages, an SM its tiles (whole waves of them, by [`Placement`](autokernel_core::Placement)), and none is
//! faster than the memory. The constants are fitted to recordings, as shares of what datasheets say, so that they carry
//! over to a GPU nobody measured.

mod batches;
mod bodies;
mod constants;
mod copies;
mod forecast;
mod gather;
mod gpus;
mod in_place;
mod instruction;
mod load;
mod order;
mod rows_of_tiles;
mod stores;
mod sustained;
mod traffic;
mod traits;
mod turns;
mod unpacking;
mod walk;

use autokernel_core::Extents;

pub use crate::forecast::Machine;
pub use constants::Constants;
use copies::Copies;
pub use forecast::{forecast, splits_of};
use load::Load;
use rows_of_tiles::RowsOfTiles;
pub use traits::Traits;
use turns::Turns;

use super::sm90::Sharing;

/// Until the flag of sums that are handed on is seen by another SM, in microseconds. An estimate: a store, a fence and a
/// load, each to L2 and back.
const HAND_ON_US: f64 = 2.0;

/// What a kernel that reads few rows' factors in place, of rows along K, takes over what the constants, fitted to others, say: an H200
/// took 0.8 to 1.0 (`docs/results/drawn-h200/in-place.txt`).
const IN_PLACE_ALONG_K: f64 = 1.1;

/// Predicts times on one GPU.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Model {
    /// The GPU.
    pub machine: Machine,
    /// What a fit found.
    pub constants: Constants,
}

impl Model {
    /// The time of a launch of those extents after a rest, as recordings have it, in milliseconds.
    pub fn predicted_ms(&self, image: &Traits, extents: &Extents) -> f64 {
        self.best_sharing(image, &Load::of_products(extents)).1
    }

    /// The time of a launch that takes `rested_ms` after a rest, where launches like it go on before and behind it.
    pub fn sustained_ms(&self, image: &Traits, extents: &Extents, rested_ms: f64) -> f64 {
        sustained::ms(image, extents, &self.machine, rested_ms)
    }

    /// The time of a launch on groups of rows, whose sizes nobody knows before: the mean of even and of uneven ones.
    fn predicted_ms_of_groups(&self, image: &Traits, extents: &Extents) -> f64 {
        let loads = [Load::of_equal_groups(extents), Load::of_uneven_groups(image, extents)];
        loads.iter().map(|load| self.best_sharing(image, load).1).sum::<f64>() / loads.len() as f64
    }

    /// How many waves of tiles clusters best share.
    pub fn shared_waves(&self, image: &Traits, extents: &Extents) -> u32 {
        self.best_sharing(image, &Load::of_products(extents)).0
    }

    fn best_sharing(&self, image: &Traits, load: &Load) -> (u32, f64) {
        let most = if image.stream_k { Sharing::MOST_WAVES } else { 0 };
        let shared = |waves| (waves, self.sharing_ms(image, load, waves));
        let others = (1..=most).map(shared);
        others.fold(shared(0), |best, other| if other.1 < best.1 { other } else { best })
    }

    /// The time where clusters share so many waves of tiles.
    fn sharing_ms(&self, image: &Traits, load: &Load, shared_waves: u32) -> f64 {
        let constants = self.constants.of_load(load);
        Model { constants, ..*self }.on_its_gpu(image, load).launch_ms(image, load, shared_waves)
    }

    /// The same by constants that are the load's and the GPU's own.
    fn launch_ms(&self, image: &Traits, load: &Load, shared_waves: u32) -> f64 {
        let Model { machine, constants } = self;
        if image.reads_in_place && image.b_is_row_major {
            return in_place::ms(image, load, machine);
        }
        let geometry = &image.geometry;
        let [.., k] = load.sizes;
        let stages = f64::from(k.div_ceil(geometry.tile_k * geometry.split_k).max(1));
        let turns = Turns::new(image, &load.tiled, machine, shared_waves);
        let copies = Copies::new(image, load);
        let rows = RowsOfTiles::new(image, load);

        let held = if image.reads_in_place { IN_PLACE_ALONG_K } else { 1.0 };
        let tile_ms = stages * self.stage_ms(image, load, &copies, &turns);
        let main_ms = turns.longest * tile_ms;
        let memory_ms = rows.memory() * load.bytes(image) / (machine.memory_gb_per_s * 1e6 * constants.memory);
        let stores = self.stores(image, load, stages * self.loads_ms(image, load, &copies, &turns), tile_ms);
        // Memory is written meanwhile too, but what the last tile stores nothing hides.
        let busy_ms = main_ms + stores.seen_ms * (turns.longest - 1.0).max(0.0);
        let all = norm(busy_ms, memory_ms, constants.memory_norm)
            + stores.last_ms
            + turns.longest * (constants.tile_us + load.alone_us(image)) * 1e-3
            + self.split_ms(image, turns.longest)
            + self.hand_on_ms(image, &turns)
            + copies.ms(machine)
            + self.clusters_ms(image, load)
            + constants.launch_us * 1e-3;
        held * rows.all() * all
    }

    /// What one stage of a tile takes: the slowest of four, and a share of the others.
    fn stage_ms(&self, image: &Traits, load: &Load, copies: &Copies, turns: &Turns) -> f64 {
        let Model { machine, constants } = self;
        let geometry = &image.geometry;
        let (tile_m, tile_n, tile_k) =
            (f64::from(geometry.tile_m), f64::from(geometry.tile_n), f64::from(geometry.tile_k));
        let rate_per_sm = machine.matrix_tflops * 1e9 * constants.sustained / f64::from(machine.sm_count.max(1));
        let reached = image.efficiency * image.instruction.share_of_rate(machine.capability);
        let compute_ms = 2.0 * tile_m * tile_n * tile_k / (rate_per_sm * reached);
        let l2_ms = self.loads_ms(image, load, copies, turns);
        let clustered = geometry.cluster_m * geometry.cluster_n > 1;
        let wait = if clustered { constants.cluster_wait } else { 1.0 };
        // Of the stages only as many as the ring holds are on their way at once (Little's law).
        let latency_ms = (constants.load_us * wait / image.ring + constants.pass_us) * 1e-3 / turns.resident;
        let unpacking_ms = tile_n * tile_k / image.unpacked_per_ms;
        let limits = [compute_ms.max(unpacking_ms), l2_ms, latency_ms, image.gather_ms];
        let slowest = limits.into_iter().fold(0.0, f64::max);
        slowest + constants.contention * (limits.iter().sum::<f64>() - slowest)
    }

    /// What L2 takes to give a block the operands of one stage.
    fn loads_ms(&self, image: &Traits, load: &Load, copies: &Copies, turns: &Turns) -> f64 {
        let bytes = self.requested(image, load, copies) * f64::from(image.geometry.tile_k);
        let share_of_sms = turns.active / f64::from(self.machine.sm_count.max(1));
        bytes * share_of_sms.powf(RowsOfTiles::new(image, load).crowding()) / (self.constants.l2_gb_per_s * 1e6)
    }

    /// Bytes that an SM stores in a millisecond.
    fn stored_per_ms(&self) -> f64 {
        self.constants.l2_gb_per_s * 1e6 * self.constants.store
    }

    /// What the cluster takes longest that hands on a tile's sums and finishes another: it stores them once, and loads
    /// those of each contributor, about as fast as it stores.
    fn hand_on_ms(&self, image: &Traits, turns: &Turns) -> f64 {
        if turns.contributors == 0.0 {
            return 0.0;
        }
        let bytes = f64::from(image.geometry.tile_m * image.geometry.tile_n * 4);
        HAND_ON_US * 1e-3 + (1.0 + turns.contributors) * bytes / self.stored_per_ms()
    }

    /// What the blocks of a cluster take to add up their shares of K, tile after tile: barriers, and each sends its
    /// partial sums but for its own part to the others.
    fn split_ms(&self, image: &Traits, longest: f64) -> f64 {
        let geometry = &image.geometry;
        if geometry.split_k == 1 {
            return 0.0;
        }
        let sent = 1.0 - 1.0 / f64::from(geometry.split_k);
        let bytes = f64::from(geometry.tile_m * geometry.tile_n * 4) * sent;
        longest * (self.constants.split_us * 1e-3 + bytes / (self.constants.peer_gb_per_s * 1e6))
    }
}

/// Of two times that overlap: the longer where `exponent` is large, their sum where it is 1.
fn norm(a: f64, b: f64, exponent: f64) -> f64 {
    let (longer, shorter) = (a.max(b).max(f64::MIN_POSITIVE), a.min(b));
    longer * (1.0 + (shorter / longer).powf(exponent)).powf(exponent.recip())
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;
