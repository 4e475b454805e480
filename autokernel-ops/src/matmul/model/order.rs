//! The order of tiles that a launch takes where nobody measured one.

use autokernel_core::Extents;

use super::instruction::Instruction;
use super::walk::Walk;
use super::{Machine, Traits};
use crate::matmul::extents::sizes;
use crate::matmul::raster::{Raster, RasterOrder};

/// So many clusters along M, or along N, are walked over in one group: the other operand is then read once. Over the
/// recordings of 100 drawn shapes this costs 0.2 % in the mean against the best of six rasters, along_m/8 0.7 %.
const WHOLE_M: u32 = 16;
const WHOLE_N: u32 = 12;
/// A group as wide as any of these.
const WHOLE: u32 = 32;
const USUAL: u32 = 8;
/// Groups that are tried beside a whole side. Even ones: the two SMs of a TPC then load the same columns or rows.
const EVEN: [u32; 6] = [16, 12, 8, 6, 4, 2];
/// A cache line.
const LINE_BYTES: f64 = 128.0;

impl Traits {
    /// The order of tiles for a launch of those extents.
    pub fn raster(&self, extents: &Extents, machine: &Machine) -> Raster {
        if self.of_groups {
            // A group may have many times the mean's rows: at five shapes of large groups along_m/8 took 0.7 to 1.3 % less than
            // along_m/32.
            Raster { order: RasterOrder::AlongM, group: USUAL }
        } else if self.instruction == Instruction::Wgmma {
            self.least_asked(extents, machine)
        } else {
            self.whole_sides(extents)
        }
    }

    /// The order by which neighbours on the GPU ask for the fewest rows and columns that differ; of equal ones the first.
    fn least_asked(&self, extents: &Extents, machine: &Machine) -> Raster {
        let walk = Walk::new(self, extents, machine);
        let [along_m, along_n] = walk.clusters();
        let mut best = Raster { order: RasterOrder::AlongM, group: WHOLE };
        if along_m == 1 || along_n == 1 {
            return best;
        }
        let mut least = walk.asked(best);
        for (order, side) in [(RasterOrder::AlongM, along_m), (RasterOrder::AlongN, along_n)] {
            if order == RasterOrder::AlongN && self.shares_written_lines(extents) {
                continue;
            }
            let parts = EVEN.into_iter().filter(|group| *group < side);
            for group in [WHOLE].into_iter().chain(parts) {
                let asked = walk.asked(Raster { order, group });
                if asked < least {
                    (least, best) = (asked, Raster { order, group });
                }
            }
        }
        best
    }

    /// The order for blocks that nobody knows where they run.
    fn whole_sides(&self, extents: &Extents) -> Raster {
        let (along_m, along_n) = (self.grid.parts(0, extents), self.grid.parts(1, extents));
        let (order, group) = if along_m <= WHOLE_M {
            (RasterOrder::AlongM, WHOLE)
        } else if along_n <= WHOLE_N && !self.shares_written_lines(extents) {
            (RasterOrder::AlongN, WHOLE)
        } else {
            (RasterOrder::AlongM, USUAL)
        };
        Raster { order, group }
    }

    /// Whether results, of which there are more than of A, lie in lines that tiles side by side share. Where these run at once, on
    /// neighbouring multiprocessors, 57 products of 2904x184x48 took 1.32 and 1.44 times as long as by along_m/8
    /// (`docs/results/batches-h200/batches-seed17-schedules.txt.gz`).
    fn shares_written_lines(&self, extents: &Extents) -> bool {
        let [_, n, k] = sizes(extents).map(f64::from);
        let row_bytes = n * self.output_bytes;
        row_bytes % LINE_BYTES != 0.0 && row_bytes > k * self.input_bytes
    }
}
