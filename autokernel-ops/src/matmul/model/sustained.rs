//! What a load that lasts costs: near the matrix units' rate a GPU draws what its power limit allows, and its clock falls.
//!
//! By 1200 times under load of what leads at 40 drawn shapes of bf16 (both layouts) and of e4m3 on an H200, each beside its own after a rest
//! (`docs/results/drawn-h200/load-seed77.txt.gz`). How much is lost goes with how near to the rate a launch comes and with the area of its
//! tiles: 80x128 loses 6 %, 144x256 as much as 20, so that small tiles lead which a rested chip runs slower.

use autokernel_core::Extents;

use super::instruction::Instruction;
use super::{Machine, Traits};
use crate::matmul::extents::flops;

/// Shares of the datasheet's rate from which on the clock falls, and at which it has fallen as far as it does.
const FALLS_FROM: f64 = 0.5;
const FALLS_TO: f64 = 0.75;
/// What tiles of so many elements then take more, and the exponent by which that goes with their area.
const MORE: f64 = 0.12;
const AREA: f64 = 128.0 * 128.0;
const BY_AREA: f64 = 0.8;

/// The time of a launch that takes `rested_ms` after a rest, where launches like it go on before and behind it. Of instructions other than
/// Hopper's nobody measured it.
pub(super) fn ms(image: &Traits, extents: &Extents, machine: &Machine, rested_ms: f64) -> f64 {
    if image.instruction != Instruction::Wgmma {
        return rested_ms;
    }
    let geometry = &image.geometry;
    let products = f64::from(geometry.tile_n / geometry.columns);
    let share = products * flops(extents) / (rested_ms * 1e9 * machine.matrix_tflops);
    let fallen = ((share - FALLS_FROM) / (FALLS_TO - FALLS_FROM)).clamp(0.0, 1.0);
    let area = f64::from(geometry.tile_m) * f64::from(geometry.tile_n);
    rested_ms * (1.0 + MORE * (area / AREA).powf(BY_AREA) * fallen)
}

#[cfg(test)]
mod tests {
    use autokernel_core::{Arch, ComputeCapability, Dtype};

    use super::*;
    use crate::matmul::extents::extents;
    use crate::matmul::problem::{Class, Layout, Problem};
    use crate::matmul::schedule::{Schedule, Sm90Schedule};

    const H200: Machine = Machine {
        capability: ComputeCapability::new(9, 0),
        sm_count: 132,
        matrix_tflops: 989.4,
        memory_gb_per_s: 4800.0,
    };

    fn class() -> Class {
        Problem::new(Dtype::Bf16, Layout::Nt, "identity".parse().unwrap()).class()
    }

    /// What a launch of 4096³ by `schedule` takes under load, over `rested_ms`.
    fn over_rested(schedule: Schedule, rested_ms: f64) -> f64 {
        let traits = Traits::new(&class(), &schedule);
        ms(&traits, &extents(4096, 4096, 4096), &H200, rested_ms) / rested_ms
    }

    fn of_tiles(tile_m: u32, tile_n: u32) -> Schedule {
        Schedule::Sm90(Sm90Schedule { tile_m, tile_n, consumers: 2, stages: 3, ..Sm90Schedule::PLAIN })
    }

    #[test]
    fn a_launch_near_the_rate_takes_longer_under_load_by_larger_tiles_more() {
        // 137.4 GFLOP at 0.79 of the datasheet's rate.
        let more = |schedule| over_rested(schedule, 0.176) - 1.0;
        assert!((more(of_tiles(128, 128)) - MORE).abs() < 1e-9);
        assert!((more(of_tiles(128, 256)) / MORE - 2f64.powf(BY_AREA)).abs() < 1e-9);
        assert!(more(of_tiles(128, 64)) < MORE);
    }

    #[test]
    fn a_launch_far_from_the_rate_takes_as_long_as_after_a_rest() {
        assert_eq!(over_rested(of_tiles(128, 256), 0.28), 1.0, "0.496 of the rate");
        let between = over_rested(of_tiles(128, 128), 0.222);
        assert!((between - 1.0 - MORE / 2.0).abs() < 0.002, "{between}");
    }

    #[test]
    fn of_two_launches_by_one_image_that_which_is_slower_after_a_rest_is_slower_under_load() {
        let times: Vec<f64> = (0..200).map(|step| 0.14 + 0.001 * f64::from(step)).collect();
        let under_load: Vec<f64> = times.iter().map(|ms| ms * over_rested(of_tiles(192, 256), *ms)).collect();
        assert!(under_load.is_sorted(), "{under_load:?}");
    }

    #[test]
    fn nothing_is_known_of_the_families_before_hopper() {
        assert_eq!(over_rested(Schedule::default_for(&class(), Arch::SM_80), 0.176), 1.0);
    }
}
