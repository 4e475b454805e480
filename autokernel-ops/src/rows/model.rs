//! The time of a launch, predicted from what it moves and how many threads move it: enough to choose among the few images
//! of a kernel. Nothing here was fitted.

use autokernel_core::{Arch, Extents};

use super::problem::Class;
use super::rules::resident_blocks;
use super::schedule::RowsSchedule;
use crate::forecast::{Forecast, Machine};
use crate::operation::Class as _;

/// Widths that the images of a kernel serve where nothing was tuned, in columns.
pub const WIDTHS: [u32; 6] = [4096, 1024, 16_384, 256, 65_536, 8192];

/// Share of the memory's datasheet bandwidth that a plain copy reaches.
const MEMORY_SHARE: f64 = 0.9;
/// L2 bandwidth over the memory's.
const L2_OVER_MEMORY: f64 = 2.5;
/// Bytes that an SM takes from L2 and gives to it in a microsecond: 64 a clock at 1.7 GHz.
const PORT_BYTES_PER_US: f64 = 64.0 * 1700.0;
/// Of the memory's time, what rows of many stretches lose that one pass reads.
const STRETCHED: f64 = 0.12;
/// From a request to its data, in microseconds, while others are under way.
pub(super) const LOAD_US: f64 = 0.8;
/// A reduction among the lanes of a warp, and what a barrier among warps adds.
const SHUFFLES_US: f64 = 0.05;
const BARRIER_US: f64 = 0.15;
/// From the launch to the first instruction, and from the last to the end.
pub(super) const LAUNCH_US: f64 = 2.5;
/// Operations that an SM issues in a microsecond: 128 lanes at 1.7 GHz.
const OPERATIONS_PER_US: f64 = 128.0 * 1700.0;
/// Operations that loading, widening and storing an element take beside the body's own.
const MOVING: f64 = 4.0;
/// Operations of a function that is more than an instruction.
const FUNCTION: f64 = 8.0;
/// Of what is not the bottleneck, the share that is not hidden behind it.
const CONTENTION: f64 = 0.1;

/// One image on one GPU.
#[derive(Clone, Debug)]
pub struct Image {
    /// What is computed.
    pub class: Class,
    /// How.
    pub schedule: RowsSchedule,
    /// Where.
    pub machine: Machine,
}

impl Forecast for Image {
    fn predicted_ms(&self, extents: &Extents) -> f64 {
        let limits = self.limits_us(extents);
        let slowest = limits.into_iter().fold(0.0, f64::max);
        (LAUNCH_US + slowest + CONTENTION * (limits.iter().sum::<f64>() - slowest)) * 1e-3
    }
}

impl Image {
    /// What each thing that bounds a launch takes by itself, in microseconds: the memory, ports, arithmetic, and waiting.
    pub(super) fn limits_us(&self, extents: &Extents) -> [f64; 4] {
        [self.memory_us(extents), self.port_us(extents), self.compute_us(extents), self.latency_us(extents)]
    }

    /// What a plain copy moves in a microsecond.
    pub(super) fn bytes_per_us(&self) -> f64 {
        self.machine.memory_gb_per_s * 1e3 * MEMORY_SHARE
    }

    /// Moving everything once through the memory, and what does not fit the threads again through L2.
    fn memory_us(&self, extents: &Extents) -> f64 {
        let bytes_per_us = self.bytes_per_us();
        let work = self.class.work(extents);
        // Between two stretches of a row nothing of its threads is under way; where later passes find it in a cache, that is less.
        let idle = if self.class.passes.len() > 1 { 0.0 } else { STRETCHED * (1.0 - 1.0 / self.stretches(extents)) };
        work.bytes() * (1.0 + idle) / bytes_per_us + self.again(extents) / (bytes_per_us * L2_OVER_MEMORY)
    }

    /// Bytes that are read once more.
    fn again(&self, extents: &Extents) -> f64 {
        let passes = if self.is_held(extents) { 0.0 } else { (self.passes() - 1.0).max(0.0) };
        passes * self.class.work(extents).read_bytes
    }

    /// What the busiest SM moves through its own port: of a few long rows the memory has more to give than the SMs that work
    /// on them can take.
    fn port_us(&self, extents: &Extents) -> f64 {
        let bytes = self.class.work(extents).bytes() + self.again(extents);
        bytes / (PORT_BYTES_PER_US * self.busy_sms(extents))
    }

    /// SMs that have a block, about: as many as there are but for few rows.
    fn busy_sms(&self, extents: &Extents) -> f64 {
        self.blocks(extents).min(f64::from(self.machine.sm_count)).max(1.0)
    }

    fn blocks(&self, extents: &Extents) -> f64 {
        f64::from(extents.size(0).div_ceil(self.schedule.rows_per_block)) * f64::from(self.schedule.cluster.max(1))
    }

    /// Parts of a row that its threads take one after the other.
    fn stretches(&self, extents: &Extents) -> f64 {
        f64::from(self.in_vectors(extents).div_ceil(self.schedule.held_columns().max(1)).max(1))
    }

    /// Arithmetic of every lane: the code is straight, so that vectors which a row does not have are computed, too.
    fn compute_us(&self, extents: &Extents) -> f64 {
        let (rows, columns) = (extents.size(0), self.in_vectors(extents).max(1));
        let held = self.schedule.held_columns();
        let lanes = f64::from(rows) * f64::from(columns.div_ceil(held.max(1))) * f64::from(held);
        let functions = FUNCTION * f64::from(self.class.cost.special_functions);
        let operations = MOVING + f64::from(self.class.operations) + functions;
        lanes * operations / (OPERATIONS_PER_US * self.busy_sms(extents))
    }

    /// What the busiest SM waits: its rows in turns, each of them for its loads and its reductions.
    fn latency_us(&self, extents: &Extents) -> f64 {
        let at_once = f64::from(self.machine.sm_count) * f64::from(resident_blocks(&self.schedule, &self.class));
        let turns = (self.blocks(extents) / at_once).max(1.0);
        // A block that stays requests its next row before it computes one.
        let loads = if self.is_held(extents) {
            if self.schedule.blocks_per_sm > 0 { 1.0 / turns } else { 1.0 }
        } else {
            self.passes() * self.stretches(extents)
        };
        let barrier = if self.schedule.threads_per_row > 32 { BARRIER_US } else { 0.0 };
        turns * (loads * LOAD_US + self.passes() * (SHUFFLES_US + barrier))
    }

    fn passes(&self) -> f64 {
        self.class.passes.len() as f64 - f64::from(u8::from(self.schedule.joins))
    }

    /// Blocks that stay do not hold rows that begin anywhere, which they cannot request ahead.
    fn is_held(&self, extents: &Extents) -> bool {
        let may_be = self.schedule.blocks_per_sm == 0 || extents.size(1).is_multiple_of(self.schedule.vector);
        may_be && self.in_vectors(extents) <= self.schedule.held_columns()
    }

    /// Columns that are in whole vectors, about: the single elements at the ends of a row are threads' own beside them.
    fn in_vectors(&self, extents: &Extents) -> u32 {
        extents.size(1) / self.schedule.vector * self.schedule.vector
    }
}

/// The schedules for [`WIDTHS`], each once, and one for a few long rows.
pub fn portfolio(class: &Class, arch: Arch) -> Vec<RowsSchedule> {
    let mut schedules: Vec<RowsSchedule> = Vec::new();
    let of_widths = WIDTHS.into_iter().map(|columns| RowsSchedule::for_columns(class, columns, arch));
    for schedule in of_widths.chain(RowsSchedule::for_few_long_rows(class, arch)) {
        if !schedules.contains(&schedule) {
            schedules.push(schedule);
        }
    }
    schedules
}

#[cfg(test)]
mod tests {
    use autokernel_core::{ComputeCapability, Dtype};

    use super::*;
    use crate::expr::{Expr, Math};
    use crate::rows::{Body, Kind, Problem, cases, plan::extents};

    const H200: Machine = Machine {
        capability: ComputeCapability::new(9, 0),
        sm_count: 132,
        matrix_tflops: 989.4,
        memory_gb_per_s: 4800.0,
    };

    fn ms(class: &Class, schedule: RowsSchedule, rows: u32, columns: u32) -> f64 {
        Image { class: class.clone(), schedule, machine: H200 }.predicted_ms(&extents(rows, columns))
    }

    fn softmax() -> Class {
        Problem::new(cases::softmax()).unwrap().class()
    }

    fn silu_mul() -> Class {
        let matrix = |name: &str| cases::reads(name, Kind::Matrix, Dtype::Bf16);
        let name = cases::name;
        let exp = cases::call(Math::Exp, Expr::Negate(Box::new(name("gate"))));
        let body = Body {
            operands: vec![matrix("gate"), matrix("up"), cases::writes("out", Kind::Matrix, Dtype::Bf16)],
            steps: vec![cases::store("out", name("gate") / (Expr::Literal(1.0) + exp) * name("up"))],
            ..Body::default()
        };
        Problem::new(body).unwrap().class()
    }

    #[test]
    fn a_portfolio_is_of_a_few_valid_schedules() {
        for body in [cases::softmax(), cases::add_rms_norm(), cases::statistics()] {
            let class = Problem::new(body).unwrap().class();
            let portfolio = portfolio(&class, Arch::SM_80);
            assert!((3..=WIDTHS.len() + 1).contains(&portfolio.len()), "{portfolio:?}");
            assert!(portfolio.iter().all(|schedule| schedule.check(&class, Arch::SM_80).is_ok()));
        }
    }

    #[test]
    fn long_rows_take_more_threads_than_short_ones() {
        let class = softmax();
        let threads = |rows, columns| {
            let best = portfolio(&class, Arch::SM_80)
                .into_iter()
                .min_by(|a, b| ms(&class, *a, rows, columns).total_cmp(&ms(&class, *b, rows, columns)));
            best.unwrap().threads_per_row
        };
        let chosen =
            [(65_536, 128), (16_384, 1024), (8192, 4096), (2048, 65_536)].map(|(rows, cols)| threads(rows, cols));
        assert!(chosen.is_sorted() && chosen[0] <= 32 && chosen[3] >= 128, "{chosen:?}");
        assert!(threads(32, 8192) >= 256, "few rows need all the threads that there are");
    }

    #[test]
    fn rows_of_a_width_that_has_an_image_are_served_by_it() {
        for body in [cases::softmax(), cases::add_rms_norm()] {
            let class = Problem::new(body).unwrap().class();
            for columns in WIDTHS {
                let predicted = |schedule: &RowsSchedule| ms(&class, *schedule, (1 << 26) / columns, columns);
                let images = portfolio(&class, Arch::SM_90A);
                let chosen = images.iter().min_by(|a, b| predicted(a).total_cmp(&predicted(b))).unwrap();
                assert_eq!(*chosen, RowsSchedule::for_columns(&class, columns, Arch::SM_90A), "{columns} of {class}");
            }
        }
    }

    /// Measured on an H200: 128 threads of four vectors take 1.2 times as long and more at these rows.
    #[test]
    fn rows_far_shorter_than_what_an_image_holds_are_left_to_a_narrower_one() {
        let class = softmax();
        let images = portfolio(&class, Arch::SM_90A);
        let predicted = |schedule: &RowsSchedule| ms(&class, *schedule, 3736, 240);
        let chosen = images.iter().min_by(|a, b| predicted(a).total_cmp(&predicted(b))).unwrap();
        assert_eq!(chosen.held_columns(), 256, "{chosen}");
    }

    fn chosen(class: &Class, rows: u32, columns: u32) -> RowsSchedule {
        let images = portfolio(class, Arch::SM_90A);
        let predicted = |schedule: &RowsSchedule| ms(class, *schedule, rows, columns);
        images.into_iter().min_by(|a, b| predicted(a).total_cmp(&predicted(b))).unwrap()
    }

    /// Measured on an H200: clusters of two take a fifth longer and more.
    #[test]
    fn a_few_long_rows_are_shared_by_eight_blocks_each_and_many_are_not() {
        for (rows, columns) in [(20, 55_911), (33, 43_152), (51, 45_448)] {
            assert_eq!(chosen(&softmax(), rows, columns).cluster, 8, "{rows}x{columns}");
        }
        assert!(chosen(&softmax(), 2048, 65_536).cluster < 8);
    }

    /// Measured on an H200: those take 10 to 20 % longer.
    #[test]
    fn what_one_pass_reads_is_not_left_to_images_that_take_it_in_many_stretches() {
        let class = silu_mul();
        for (rows, columns) in [(3041, 463), (20_414, 632), (7749, 2557), (1659, 5348), (2716, 12_728)] {
            let schedule = chosen(&class, rows, columns);
            let stretches = columns.div_ceil(schedule.held_columns());
            assert!(stretches <= 3, "{schedule} at {rows}x{columns}");
        }
    }

    #[test]
    fn nothing_is_faster_than_the_memory() {
        let class = softmax();
        for schedule in portfolio(&class, Arch::SM_80) {
            for (rows, columns) in [(1, 1), (32, 8192), (16_384, 4096), (2048, 65_536)] {
                let floor = class.work(&extents(rows, columns)).bytes() / (H200.memory_gb_per_s * 1e6);
                assert!(ms(&class, schedule, rows, columns) > floor, "{schedule} at {rows}x{columns}");
            }
        }
    }
}
