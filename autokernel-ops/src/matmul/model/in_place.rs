//! Few rows by a kernel that reads a weight of K rows where it lies, wherever these begin (`skinny_sm80`).
//!
//! A multiprocessor streams words of its own through registers, tile after tile, so that a step takes it as long as requests are on
//! their way, whether others do the same or not: on an H200 0.54 µs for 128 rows of 64 columns beside 8 rows of A and 0.80 beside 32
//! (`docs/results/drawn-h200/in-place.txt`). Until the first step ends, and from the last one on, 4.5 µs pass.

use super::load::Load;
use super::traits::Traits;
use crate::forecast::Machine;

/// A launch of one step of K takes so many microseconds less a step.
const LAUNCH_US: f64 = 4.5;
/// Of 8 rows of A and 64 loaded columns, and for each row more.
const STEP_US: f64 = 0.54;
const ROW_US: f64 = 0.011;
const ROWS: f64 = 8.0;
const COLUMNS: f64 = 64.0;
/// Of the datasheet's bandwidth: no more was seen.
const SHARE_OF_MEMORY: f64 = 0.8;

/// The time of a launch.
pub(super) fn ms(image: &Traits, load: &Load, machine: &Machine) -> f64 {
    let geometry = &image.geometry;
    let [m, n, k] = load.sizes;
    let tiles = f64::from(m.div_ceil(geometry.tile_m)) * f64::from(n.div_ceil(geometry.columns));
    let of_sm = tiles / f64::from(machine.sm_count.max(1));
    // Blocks that share a multiprocessor share what one of them lacks of a tile in the end.
    let turns = if image.blocks_per_sm(machine.capability) > 1 { of_sm.max(1.0) } else { of_sm.ceil() };
    let step_us = (STEP_US + ROW_US * (f64::from(geometry.tile_m) - ROWS)) * f64::from(geometry.tile_n) / COLUMNS;
    let steps = f64::from(k.div_ceil(geometry.tile_k).max(1));
    let memory_ms = load.bytes(image) / (machine.memory_gb_per_s * 1e6 * SHARE_OF_MEMORY);
    LAUNCH_US * 1e-3 + (turns * steps * step_us * 1e-3).max(memory_ms)
}
