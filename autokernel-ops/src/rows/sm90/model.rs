//! The time of a launch by Hopper's family: what it moves and computes as the portable family, and what its rings hide.

use autokernel_core::Extents;

use super::default::{leads, row_bytes, widest};
use super::schedule::Sm90Schedule;
use crate::forecast::{Forecast, Machine};
use crate::operation::Class as _;
use crate::rows::plan;
use crate::rows::problem::Class;
use crate::rows::sm80::{self, LAUNCH_US, Sm80Schedule};

/// What a launch of blocks that fill an SM begins later, in microseconds: they find no room before those of the launch before
/// have left, and their first rows come together.
const STAY_US: f64 = 1.9;
/// From a request to its data, in microseconds, while others are under way.
const LOAD_US: f64 = 1.4;
/// Of what the portable family takes, what rows take that begin anywhere and come by the ring, where that family reads several `Row`s again
/// for each.
const SHIFTED: f64 = 0.9;
/// Gigabytes a second and SM of a memory from which on that is so of elements of more than 16 bits: an H200 has 36, an H100, where the portable
/// family leads, 25.
const FAST_MEMORY: f64 = 30.0;
/// Rows of a team from which on what it begins later no longer matters.
const FEW_TURNS: u32 = 4;
/// Bytes of a row from which on `Row`s that are kept pay, where the portable family reads several again for each: those of a carried image that
/// rows fill by more than half lead from here on.
const KEEPING_BYTES: u32 = 20_000;
/// What rows take longer of which the portable family holds so many at once that their loads cover each other.
const SHORT: f64 = 1.26;

/// One image on one GPU.
#[derive(Clone, Debug)]
pub struct Image {
    schedule: Sm90Schedule,
    portable: sm80::Image,
}

impl Image {
    /// The image of a schedule.
    pub fn new(class: &Class, schedule: Sm90Schedule, machine: Machine) -> Self {
        let portable = Sm80Schedule { blocks_per_sm: schedule.blocks_per_sm, ..schedule.portable() };
        Image { schedule, portable: sm80::Image { class: class.clone(), schedule: portable, machine } }
    }

    /// How much longer the memory takes than it need: its bandwidth times its latency must be on the way to the SMs.
    fn pauses(&self, extents: &Extents) -> f64 {
        let Sm90Schedule { rows_per_block, stages, cluster, blocks_per_sm, .. } = self.schedule;
        let work = self.portable.class.work(extents);
        let read_per_us = self.portable.bytes_per_us() * work.read_bytes / work.bytes().max(1.0);
        let of_sm = read_per_us * LOAD_US / f64::from(self.portable.machine.sm_count);
        let part = work.read_bytes / f64::from(extents.size(0).max(1)) / f64::from(cluster);
        (of_sm / (part * f64::from(rows_per_block * stages * blocks_per_sm)).max(1.0)).max(1.0)
    }

    /// Rows that begin anywhere, fill most of what threads hold, and of which every block has a few.
    fn is_shifted_well(&self, extents: &Extents) -> bool {
        let Sm90Schedule { cluster, blocks_per_sm, .. } = self.schedule;
        let teams = self.portable.machine.sm_count * blocks_per_sm / cluster;
        let [rows, columns] = [0, 1].map(|dim| extents.size(dim));
        let fills = 2 * columns > self.schedule.held_columns();
        let Machine { memory_gb_per_s, sm_count, .. } = self.portable.machine;
        let is_bound = widest(&self.portable.class) <= 2 || memory_gb_per_s > FAST_MEMORY * f64::from(sm_count);
        self.schedule.shifts()
            && self.portable.class.reads_rows_again()
            && fills
            && is_bound
            && rows >= FEW_TURNS * teams
    }

    /// Rows of a length at which the family leads, that fill most of what threads hold, and of which every team has a few.
    fn is_where_it_leads(&self, extents: &Extents) -> bool {
        let Sm90Schedule { rows_per_block, cluster, blocks_per_sm, .. } = self.schedule;
        let teams = self.portable.machine.sm_count * blocks_per_sm * rows_per_block / cluster;
        let [rows, columns] = [0, 1].map(|dim| extents.size(dim));
        let class = &self.portable.class;
        let is_long = leads(class, columns) || class.reads_rows_again() && row_bytes(class, columns) >= KEEPING_BYTES;
        is_long && 2 * columns > self.schedule.held_columns() && rows >= FEW_TURNS * teams
    }
}

impl Forecast for Image {
    fn predicted_ms(&self, extents: &Extents) -> f64 {
        let columns = extents.size(1);
        let is_held = columns < self.schedule.held_columns() + self.schedule.vector;
        if is_held && !columns.is_multiple_of(self.schedule.vector) && self.is_shifted_well(extents) {
            let in_vectors = plan::extents(extents.size(0), columns / self.schedule.vector * self.schedule.vector);
            return SHIFTED * self.portable.predicted_ms(&in_vectors);
        }
        if columns > self.schedule.held_columns() || !columns.is_multiple_of(self.schedule.vector) {
            return self.portable.predicted_ms(extents);
        }
        let [memory, rest @ ..] = self.portable.limits_us(extents);
        let memory = memory * self.pauses(extents);
        // Copies go on while teams reduce and write.
        let slowest = rest.into_iter().fold(memory, f64::max);
        let length = if self.is_where_it_leads(extents) { 1.0 } else { SHORT };
        (LAUNCH_US + STAY_US + length * slowest) * 1e-3
    }
}
