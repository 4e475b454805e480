//! The time of a launch, predicted from what it moves and how many threads move it: enough to choose among the few images
//! of a kernel. The terms are those of the machine; what they weigh was adjusted to recorded times (`docs/results/rows-h200`).

use autokernel_core::{Arch, Extents, Role};

use super::columns;
use super::rules::resident_blocks;
use super::schedule::Sm80Schedule;
use super::turns::Turns;
use crate::body::Kind;
use crate::forecast::{Forecast, Machine};
use crate::operation::Class as _;
use crate::rows::problem::Class;

/// Widths that the images of a kernel serve where nothing was tuned, in columns.
pub const WIDTHS: [u32; 7] = [4096, 1024, 16_384, 256, 65_536, 8192, 2048];

/// Share of the memory's datasheet bandwidth that a plain copy reaches.
const MEMORY_SHARE: f64 = 0.97;
/// The bandwidth of the caches, of an SM and of all, over the memory's.
const CACHES_OVER_MEMORY: f64 = 6.0;
/// Bytes of rows under way that the caches still have when they are read again; of twice as many they have none.
const CACHED_BYTES: f64 = 15.4e6;
/// Bytes that an SM takes from L2 and gives to it in a microsecond: 89 a clock at 1.7 GHz.
const PORT_BYTES_PER_US: f64 = 89.0 * 1700.0;
/// Of the memory's time, what rows of twice as many stretches lose that one pass reads, and clusters of twice as many blocks, which leave
/// together.
const STRETCHED: f64 = 0.07;
const CLUSTERED: f64 = 0.1;
/// Of the memory's time, what twice as many parts of a row lose that blocks take, where nothing is reduced.
const PARTED: f64 = 0.004;
/// What a request takes beside its bytes, in microseconds, while others are under way.
const REQUEST_US: f64 = 0.4;
/// A reduction among the threads of a block, and what an exchange among blocks adds.
const REDUCTION_US: f64 = 0.05;
const EXCHANGE_US: f64 = 0.73;
/// What a cluster of twice as many blocks begins later than the one before it ended.
const REPLACED_US: f64 = 0.68;
/// From the launch to the first instruction, and from the last to the end.
pub const LAUNCH_US: f64 = 1.2;
/// Operations that an SM issues in a microsecond: 128 lanes at 1.9 GHz.
const OPERATIONS_PER_US: f64 = 128.0 * 1900.0;
/// Operations that loading, widening and storing an element take beside the body's own.
const MOVING: f64 = 3.1;
/// Operations of a function that is more than an instruction.
const FUNCTION: f64 = 6.9;
/// Operations that an element of a `Row` takes whose vectors are not the matrices'.
const SHIFTING: f64 = 0.2;
/// Of what the same threads take for rows that begin anywhere, what blocks take that stay with such and shift their `Row`s once: on an H200 0.81 of
/// 16 bits, 0.92 of f32 (`docs/results/rows-h200/overlap.txt`). What they take for others has not been measured; those are not theirs.
const SHIFTED_ONCE: f64 = 0.85;
const ALIGNED_OR_FEW: f64 = 2.0;
/// Rows of a block that stays from which on it pays that it shifts them.
const FEW_TURNS: u32 = 4;
/// Of what is not the bottleneck, the share that is not hidden behind it.
const CONTENTION: f64 = 0.18;

/// One image on one GPU.
#[derive(Clone, Debug)]
pub struct Image {
    /// What is computed.
    pub class: Class,
    /// How.
    pub schedule: Sm80Schedule,
    /// Where.
    pub machine: Machine,
}

impl Forecast for Image {
    fn predicted_ms(&self, extents: &Extents) -> f64 {
        if self.schedule.keeps_rows {
            let alone = Sm80Schedule { blocks_per_sm: 0, keeps_rows: false, ..self.schedule };
            let share = if self.is_shifted_well(extents) { SHIFTED_ONCE } else { ALIGNED_OR_FEW };
            return share * Image { schedule: alone, ..self.clone() }.predicted_ms(extents);
        }
        if self.class.is_by_columns() {
            let Image { class, schedule, machine } = self;
            let blocks = machine.sm_count * resident_blocks(schedule, class);
            let us = columns::model::predicted_us(class, schedule, extents, blocks, self.bytes_per_us());
            return (LAUNCH_US + us) * 1e-3;
        }
        let limits = self.limits_us(extents);
        let slowest = limits.into_iter().fold(0.0, f64::max);
        (LAUNCH_US + slowest + CONTENTION * (limits.iter().sum::<f64>() - slowest)) * 1e-3
    }
}

impl Image {
    /// What each thing that bounds a launch takes by itself, in microseconds: the memory, ports, arithmetic, and rows one after the other.
    pub fn limits_us(&self, extents: &Extents) -> [f64; 4] {
        let turns = self.turns(extents);
        let memory = self.memory_us(extents, turns);
        let bytes = self.class.work(extents).bytes() + self.again(extents);
        let [port, compute] = [bytes / PORT_BYTES_PER_US, self.compute_us(extents)].map(|us| us * turns.busiest);
        [memory, port, compute, self.chain_us(extents, turns)]
    }

    /// What a plain copy moves in a microsecond.
    pub fn bytes_per_us(&self) -> f64 {
        self.machine.memory_gb_per_s * 1e3 * MEMORY_SHARE
    }

    fn turns(&self, extents: &Extents) -> Turns {
        let Sm80Schedule { rows_per_block, blocks_per_sm, .. } = self.schedule;
        let blocks = if blocks_per_sm > 0 { blocks_per_sm } else { resident_blocks(&self.schedule, &self.class) };
        let teams = extents.size(0).div_ceil(rows_per_block).saturating_mul(self.parts(extents));
        Turns::new(&self.schedule, teams, blocks, self.machine.sm_count)
    }

    /// Moving everything once through the memory, and what does not fit the threads again, through a cache where rows under way fit it.
    fn memory_us(&self, extents: &Extents, turns: Turns) -> f64 {
        let bytes_per_us = self.bytes_per_us();
        if self.class.is_elementwise() {
            let parted = PARTED * f64::from(self.parts(extents)).log2();
            return self.class.work(extents).bytes() * (1.0 + parted) / bytes_per_us;
        }
        // Between two stretches of a row nothing of its threads is under way; where later passes find it in a cache, that is less.
        let stretched = if self.class.passes.len() > 1 {
            0.0
        } else {
            STRETCHED * (self.stretches(extents) * self.requests(extents)).log2()
        };
        let leaves = self.schedule.blocks_per_sm == 0;
        let clustered = if leaves { CLUSTERED * self.clustered() } else { 0.0 };
        let under_way = turns.at_once * f64::from(self.schedule.rows_per_block) * self.row_bytes(extents, Role::Input);
        let missed = (under_way / CACHED_BYTES - 1.0).clamp(0.0, 1.0);
        let again = self.again(extents) * (missed + (1.0 - missed) / CACHES_OVER_MEMORY);
        (self.class.work(extents).bytes() * (1.0 + stretched + clustered) + again) / bytes_per_us
    }

    /// Bytes of a row of all matrices that are read, or written.
    fn row_bytes(&self, extents: &Extents, role: Role) -> f64 {
        let matrices = self.class.operands.iter().filter(|(kind, _, it)| *kind == Kind::Matrix && *it == role);
        f64::from(matrices.map(|(_, dtype, _)| dtype.bytes()).sum::<u32>()) * f64::from(extents.size(1))
    }

    /// Times that rows are read once more.
    fn read_again(&self, extents: &Extents) -> f64 {
        if self.is_held(extents) { 0.0 } else { (self.passes() - 1.0).max(0.0) }
    }

    /// Bytes that are read once more.
    fn again(&self, extents: &Extents) -> f64 {
        self.read_again(extents) * self.class.work(extents).read_bytes
    }

    /// Parts of a row that blocks take, where nothing is reduced.
    fn parts(&self, extents: &Extents) -> u32 {
        if self.class.is_elementwise() { extents.size(1).div_ceil(self.schedule.part_columns()).max(1) } else { 1 }
    }

    /// Parts of a row that its threads take one after the other.
    fn stretches(&self, extents: &Extents) -> f64 {
        if self.class.is_elementwise() {
            return 1.0;
        }
        f64::from(self.in_vectors(extents).div_ceil(self.at_once(extents).max(1)).max(1))
    }

    /// Columns of such a part.
    fn at_once(&self, extents: &Extents) -> u32 {
        if self.is_held(extents) { self.schedule.held_columns() } else { self.schedule.stretch_columns() }
    }

    /// Requests of a thread for such a part, one after the other: threads do not hold all vectors of rows that begin anywhere at once
    /// (`Held` of `rows_sm80.cuh`).
    fn requests(&self, extents: &Extents) -> f64 {
        let is_ragged = !extents.size(1).is_multiple_of(self.schedule.vector);
        let in_halves = is_ragged && !self.is_held(extents) && !self.class.is_elementwise();
        if in_halves && self.schedule.vectors > 1 { 2.0 } else { 1.0 }
    }

    /// Doublings from one block to a cluster.
    fn clustered(&self) -> f64 {
        f64::from(self.schedule.cluster.max(1)).log2()
    }

    /// Arithmetic of every lane, on one SM: the code is straight, so that vectors which a row does not have are computed, too.
    fn compute_us(&self, extents: &Extents) -> f64 {
        let of_row = f64::from(self.parts(extents)) * self.stretches(extents);
        let lanes = f64::from(extents.size(0)) * of_row * f64::from(self.at_once(extents));
        let functions = FUNCTION * f64::from(self.class.cost.special_functions);
        let is_shifted = !extents.size(1).is_multiple_of(self.schedule.vector);
        let shifting = if is_shifted { SHIFTING * self.class.read_rows().count() as f64 } else { 0.0 };
        lanes * (MOVING + f64::from(self.class.operations) + functions + shifting) / OPERATIONS_PER_US
    }

    /// What the rows of a team take one after the other, each its loads, its arithmetic and its reductions.
    fn chain_us(&self, extents: &Extents, turns: Turns) -> f64 {
        // Blocks of which none waits for another follow each other.
        if self.class.is_elementwise() {
            return REQUEST_US;
        }
        let Sm80Schedule { rows_per_block, cluster, blocks_per_sm, .. } = self.schedule;
        let is_ahead = blocks_per_sm > 0 && self.is_held(extents);
        // A block that stays requests its next row before it computes one.
        let (requests, read) = match (self.is_held(extents), is_ahead) {
            (_, true) => (1.0 / turns.count, 0.0),
            (true, _) => (1.0, 1.0),
            _ => (self.passes() * self.stretches(extents) * self.requests(extents), 1.0 + self.read_again(extents)),
        };
        let share = f64::from(rows_per_block) / f64::from(cluster.max(1));
        let bytes = self.row_bytes(extents, Role::Output) + read * self.row_bytes(extents, Role::Input);
        let compute = self.compute_us(extents) / f64::from(extents.size(0).max(1));
        let exchange = if cluster > 1 { EXCHANGE_US } else { 0.0 };
        let reductions = self.passes() * (REDUCTION_US + exchange);
        // A cluster that follows another one begins once all of its blocks find room.
        let replaced =
            if blocks_per_sm == 0 { (turns.count - 1.0).max(0.0) * REPLACED_US * self.clustered() } else { 0.0 };
        replaced + turns.count * (requests * REQUEST_US + reductions + share * (bytes / PORT_BYTES_PER_US + compute))
    }

    fn passes(&self) -> f64 {
        self.class.passes.len() as f64 - f64::from(u8::from(self.schedule.joins))
    }

    /// Rows that begin anywhere, fill most of what threads hold, and of which every block has a few.
    fn is_shifted_well(&self, extents: &Extents) -> bool {
        let [rows, columns] = [0, 1].map(|dim| extents.size(dim));
        let held = self.schedule.held_columns();
        let fills = 2 * columns > held && self.in_vectors(extents) <= held;
        let blocks = self.machine.sm_count * self.schedule.blocks_per_sm;
        !columns.is_multiple_of(self.schedule.vector) && fills && rows >= FEW_TURNS * blocks
    }

    /// Blocks that stay do not hold rows that begin anywhere, which they cannot request ahead, nor does shared memory.
    fn is_held(&self, extents: &Extents) -> bool {
        let leaves_in_registers = self.schedule.blocks_per_sm == 0 && self.schedule.parked == 0;
        let may_be = leaves_in_registers || extents.size(1).is_multiple_of(self.schedule.vector);
        may_be && self.in_vectors(extents) <= self.schedule.held_columns()
    }

    /// Columns that are in whole vectors, about: the single elements at the ends of a row are threads' own beside them.
    fn in_vectors(&self, extents: &Extents) -> u32 {
        extents.size(1) / self.schedule.vector * self.schedule.vector
    }
}

/// The schedules for rows of `WIDTHS` columns, each once, and one for a few long rows.
pub fn portfolio(class: &Class, arch: Arch) -> Vec<Sm80Schedule> {
    let mut schedules: Vec<Sm80Schedule> = Vec::new();
    let of_widths = WIDTHS.into_iter().map(|columns| Sm80Schedule::for_columns(class, columns, arch));
    let others = [Sm80Schedule::for_few_long_rows(class, arch), Sm80Schedule::for_shifted(class, arch)];
    for schedule in of_widths.chain(others.into_iter().flatten()) {
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

    fn ms(class: &Class, schedule: Sm80Schedule, rows: u32, columns: u32) -> f64 {
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
                let predicted = |schedule: &Sm80Schedule| ms(&class, *schedule, (1 << 26) / columns, columns);
                let images = portfolio(&class, Arch::SM_90A);
                let chosen = images.iter().min_by(|a, b| predicted(a).total_cmp(&predicted(b))).unwrap();
                assert_eq!(*chosen, Sm80Schedule::for_columns(&class, columns, Arch::SM_90A), "{columns} of {class}");
            }
        }
    }

    /// Measured on an H200: 128 threads of four vectors take 1.2 times as long and more at these rows.
    #[test]
    fn rows_far_shorter_than_what_an_image_holds_are_left_to_a_narrower_one() {
        let class = softmax();
        let images = portfolio(&class, Arch::SM_90A);
        let predicted = |schedule: &Sm80Schedule| ms(&class, *schedule, 3736, 240);
        let chosen = images.iter().min_by(|a, b| predicted(a).total_cmp(&predicted(b))).unwrap();
        assert_eq!(chosen.held_columns(), 256, "{chosen}");
    }

    fn chosen(class: &Class, rows: u32, columns: u32) -> Sm80Schedule {
        let images = portfolio(class, Arch::SM_90A);
        let predicted = |schedule: &Sm80Schedule| ms(class, *schedule, rows, columns);
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

    #[test]
    fn blocks_take_parts_of_rows_that_nothing_reduces_and_few_of_their_lanes_idle() {
        let class = silu_mul();
        for (rows, columns) in [(20_414, 632), (7749, 2557), (1659, 5348), (2716, 12_728), (2048, 65_536)] {
            let schedule = chosen(&class, rows, columns);
            let parts = columns.div_ceil(schedule.part_columns());
            assert!(parts * schedule.held_columns() < columns * 2, "{schedule} at {rows}x{columns}");
            assert!(schedule.threads() <= 256, "{schedule} at {rows}x{columns}");
        }
    }

    /// Measured on an H200 (`docs/results/rows-h200/carried.txt`): the others take a tenth to three quarters longer.
    #[test]
    fn a_few_rows_beyond_a_turn_are_not_left_to_blocks_that_stay_and_rows_under_way_fit_the_caches() {
        let two_turns = chosen(&softmax(), 85, 28_536);
        assert_eq!(two_turns.blocks_per_sm, 0, "{two_turns}");
        for (rows, columns) in [(534, 48_949), (618, 30_976), (875, 33_320)] {
            let schedule = chosen(&softmax(), rows, columns);
            assert_eq!((schedule.threads_per_row, schedule.blocks_per_sm), (512, 0), "{schedule} at {rows}x{columns}");
        }
        let one_pass = chosen(&silu_mul(), 2048, 65_536);
        assert_eq!((one_pass.threads_per_row, one_pass.cluster), (256, 1), "{one_pass}");
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
