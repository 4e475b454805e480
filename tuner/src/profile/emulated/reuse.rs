//! How the order of tiles reuses the L2 cache: a model, not a measurement.
//!
//! The clusters that a GPU holds at once are a wave. Those of a wave walk along their sums in step, so that what several of them
//! read comes from memory once. From one wave to a later one, a part of an operand is still there if no more bytes were touched
//! in between than the cache holds: what the later wave touches itself, and what waves between them did (its LRU stack
//! distance, in whole parts). Outputs take their place in the cache, too. So the cache is taken to be fully associative, to
//! evict what was used longest ago, and to hold nothing twice; where a GPU's L2 has two halves that both hold what all SMs
//! read, half of it is nearer to the truth, and is told beside.

use autokernel_codegen::problem::ProblemClass;
use autokernel_codegen::schedule::Schedule;
use autokernel_core::{Extents, Grid, Operand, Role, Signature};
use serde::Serialize;

use super::cache::{Piece, Wave, from_memory};

/// What a launch reads by way of the L2 cache.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reuse {
    /// Bytes of inputs that clusters ask for.
    pub requested: f64,
    /// Of them, those that come from memory.
    pub from_memory: f64,
    /// The same if half of the cache counts.
    pub from_memory_with_half: f64,
    /// Bytes of the inputs, each read once: the least.
    pub least: f64,
    /// Bytes that the wave with the most touches.
    pub widest_wave: f64,
    /// Bytes of the cache.
    pub l2_bytes: u64,
    /// The order of tiles of the same image that reads least from memory with half of the cache, where that is clearly less
    /// and no more with the whole of it.
    pub better: Option<Better>,
}

/// Another order of tiles.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Better {
    /// What is other, in words.
    pub changes: String,
    /// Bytes from memory.
    pub from_memory: f64,
    /// The same if half of the cache counts.
    pub from_memory_with_half: f64,
}

/// What is less than this share of the bytes from memory is clearly less.
const CLEARLY: f64 = 0.9;

/// A launch, as far as the cache sees it.
pub struct Launch<'l> {
    pub class: &'l ProblemClass,
    pub signature: &'l Signature,
    pub shape: Extents,
    pub grid: &'l Grid,
    /// Clusters that the GPU holds at once.
    pub at_once: u64,
    pub l2_bytes: u64,
}

impl Launch<'_> {
    /// What `schedule` reads, and whether one of `others`, which share its image, reads clearly less.
    pub fn reuse(&self, schedule: &Schedule, others: impl Iterator<Item = Schedule>) -> Reuse {
        let waves = self.waves(schedule);
        let (whole, half) = self.read(&waves);
        let rated = others.map(|other| (self.read(&self.waves(&other)), other));
        let is_better = |read: (u64, u64)| read.0 <= whole && (read.1 as f64) < CLEARLY * half as f64;
        let best = rated.filter(|(read, _)| is_better(*read)).min_by_key(|((whole, half), _)| (*half, *whole));
        let better = best.and_then(|((whole, half), other)| {
            let changes = other.changes_from(schedule)?;
            Some(Better { changes, from_memory: whole as f64, from_memory_with_half: half as f64 })
        });
        let numbered = || self.signature.operands.iter().enumerate();
        let inputs = numbered().filter(|(_, operand)| operand.role == Role::Input);
        let input_bytes =
            |(number, operand): (usize, &Operand)| self.bytes(number, operand, &vec![WHOLE; operand.axes.len()]);
        Reuse {
            requested: waves.iter().map(|wave| wave.requested).sum::<u64>() as f64,
            from_memory: whole as f64,
            from_memory_with_half: half as f64,
            least: inputs.map(input_bytes).sum::<u64>() as f64,
            widest_wave: waves.iter().map(|wave| wave.touched.values().sum::<u64>()).max().unwrap_or(0) as f64,
            l2_bytes: self.l2_bytes,
            better,
        }
    }

    /// Bytes from memory with the whole cache and with half of it.
    fn read(&self, waves: &[Wave]) -> (u64, u64) {
        (from_memory(waves, self.l2_bytes), from_memory(waves, self.l2_bytes / 2))
    }

    /// The waves of a launch, each with what its clusters touch.
    fn waves(&self, schedule: &Schedule) -> Vec<Wave> {
        let parts: Vec<u32> = (0..self.grid.axes.len()).map(|axis| self.grid.parts(axis as u8, &self.shape)).collect();
        let clusters = self.grid.clusters(&self.shape);
        let at_once = usize::try_from(self.at_once.max(1)).unwrap_or(usize::MAX);
        let numbers: Vec<u64> = (0..clusters).collect();
        let wave = |numbers: &[u64]| {
            let mut wave = Wave::default();
            for &number in numbers {
                self.touch(&mut wave, &self.class.part(schedule, number, &parts));
            }
            wave
        };
        numbers.chunks(at_once).map(wave).collect()
    }

    /// What the cluster at `part` of the grid touches.
    fn touch(&self, wave: &mut Wave, part: &[u32]) {
        for (number, operand) in self.signature.operands.iter().enumerate() {
            let place: Vec<u32> = operand.axes.iter().map(|dim| self.along(*dim, part)).collect();
            let bytes = self.bytes(number, operand, &place);
            let piece = Piece { operand: number, place, is_input: operand.role == Role::Input };
            wave.requested += if piece.is_input { bytes } else { 0 };
            wave.touched.insert(piece, bytes);
        }
    }

    /// Where a dimension's part lies; the first and only one of what is not divided.
    fn along(&self, dim: u8, part: &[u32]) -> u32 {
        let axis = self.grid.axes.iter().position(|axis| axis.dim == dim);
        axis.and_then(|axis| part.get(axis)).copied().unwrap_or(WHOLE)
    }

    /// Bytes of a piece of operand `number`.
    fn bytes(&self, number: usize, operand: &Operand, place: &[u32]) -> u64 {
        let elements = |(axis_number, (dim, at)): (usize, (&u8, &u32))| {
            let size = self.shape.size(*dim);
            let axis = self.grid.axes.iter().find(|axis| axis.dim == *dim).filter(|_| *at != WHOLE);
            let within = axis.map_or(size, |axis| axis.step.min(size.saturating_sub(at.saturating_mul(axis.step))));
            u64::from(self.signature.elements(number, axis_number, within))
        };
        operand.axes.iter().zip(place).enumerate().map(elements).product::<u64>() * u64::from(operand.dtype.bytes())
    }
}

/// No part of a dimension, but all of it.
const WHOLE: u32 = u32::MAX;

#[cfg(test)]
mod tests {
    use autokernel_codegen::dtype::Dtype;
    use autokernel_codegen::matmul::schedule::{Raster, RasterOrder, Sm80Schedule};
    use autokernel_codegen::matmul::{self, extents};
    use autokernel_codegen::problem::{Layout, Problem};
    use autokernel_core::Residency;
    use autokernel_core::plan::Axis;

    use super::*;

    const KIB: f64 = 1024.0;

    /// 4 x 4 tiles of 128 x 128 with parts of 16 KiB of A and of B each and of 32 KiB of C, four of them at once.
    fn reuse(l2_bytes: u64, raster: Raster, other: Raster) -> Reuse {
        let problem = Problem::matmul(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap());
        let schedule = |raster| -> Schedule {
            let (tile_m, tile_n) = (128, 128);
            let plain = Sm80Schedule { tile_m, tile_n, tile_k: 32, warps_m: 2, warps_n: 2, stages: 3, raster };
            matmul::Schedule::from(plain).into()
        };
        let grid = Grid {
            axes: vec![Axis { dim: 0, step: 128 }, Axis { dim: 1, step: 128 }],
            cluster: 1,
            tiles: 1,
            residency: Residency::OneEach,
            split: None,
        };
        let (class, signature) = (problem.class(), problem.signature());
        let shape = extents(512, 512, 64);
        let launch = Launch { class: &class, signature: &signature, shape, grid: &grid, at_once: 4, l2_bytes };
        launch.reuse(&schedule(raster), [schedule(other)].into_iter())
    }

    const COLUMNS: Raster = Raster { order: RasterOrder::AlongM, group: 4 };
    const SQUARES: Raster = Raster { order: RasterOrder::AlongM, group: 2 };

    #[test]
    fn what_fits_between_two_waves_is_read_once_and_with_a_byte_less_in_each_wave() {
        // A wave takes a column: all of A again, and of B and C what is new, 64 + 16 + 128 KiB.
        let fits = reuse(208 << 10, COLUMNS, COLUMNS);
        assert_eq!((fits.requested, fits.from_memory, fits.least), (512.0 * KIB, 128.0 * KIB, 128.0 * KIB));
        assert_eq!(fits.widest_wave, 208.0 * KIB);
        let too_small = reuse((208 << 10) - 1, COLUMNS, COLUMNS);
        assert_eq!((too_small.from_memory, too_small.from_memory_with_half), (320.0 * KIB, 320.0 * KIB));
        assert_eq!(too_small.better, None);
    }

    #[test]
    fn an_order_in_squares_reads_less_than_one_in_columns_where_nothing_stays() {
        let columns = reuse(0, COLUMNS, SQUARES);
        let better = columns.better.unwrap();
        assert_eq!((better.from_memory, better.changes.as_str()), (256.0 * KIB, "raster_group 4 → 2"));
    }
}
