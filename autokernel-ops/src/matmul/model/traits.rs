//! What the model must know of an image.

use autokernel_core::gpu::{MAX_REGISTERS, Multiprocessor, RESERVED_SHARED_BYTES};
use autokernel_core::plan::Axis;
use autokernel_core::{ComputeCapability, Extents, Grid};

use super::Machine;
use super::instruction::Instruction;
use super::{bodies, gather, unpacking};
use crate::matmul::body::BodyClass;
use crate::matmul::emit;
use crate::matmul::geometry::Geometry;
use crate::matmul::many::Many;
use crate::matmul::plan::BATCH;
use crate::matmul::problem::Class;
use crate::matmul::schedule::{Mode, Schedule};
use crate::matmul::skinny;

/// sm80: registers of a thread beside its accumulators, roughly.
const WORKING_REGISTERS: u32 = 80;
/// skinny_sm80: beside each `mma` a warp permutes what it loaded. An estimate that nobody measured.
const SKINNY_EFFICIENCY: f64 = 0.5;

/// What the model must know of an image: worked out once, so that a prediction is arithmetic alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Traits {
    pub(super) geometry: Geometry,
    pub(super) grid: Grid,
    /// Stages of the ring.
    pub(super) ring: f64,
    /// What multiplies.
    pub(super) instruction: Instruction,
    /// Share of that instruction's rate that a tile can draw from shared memory and registers.
    pub(super) efficiency: f64,
    /// Warpgroups that multiply; none of a family that has no such roles.
    pub(super) consumers: u32,
    /// Whether stores are hidden behind the other consumer's multiplications.
    pub(super) ping_pong: bool,
    /// What a block takes of an SM.
    pub(super) taken: Taken,
    /// Whether tiles are computed transposed, and so stored a few columns at a time.
    pub(super) transposed: bool,
    /// Whether rows are of groups, whose sizes nobody knows before.
    pub(super) of_groups: bool,
    /// Whether clusters can share tiles.
    pub(super) stream_k: bool,
    /// Whether factors are read where they lie, whatever their rows begin at.
    pub(super) reads_in_place: bool,
    /// Whether rows of `A` are K long; else M.
    pub(super) a_is_row_major: bool,
    /// Whether rows of `B` are N long; else K.
    pub(super) b_is_row_major: bool,
    /// Of an element of A.
    pub(super) input_bytes: f64,
    /// Of an element of B: less than one where several numbers share it.
    pub(super) weight_bytes: f64,
    /// Numbers of B that an SM makes floats of in a millisecond; without end where they are.
    pub(super) unpacked_per_ms: f64,
    pub(super) output_bytes: f64,
    /// What a stage takes whose rows an index picks, in milliseconds.
    pub(super) gather_ms: f64,
    /// Of an element of C what its body reads of matrices.
    pub(super) body_bytes: f64,
    /// What its body takes of a warpgroup, in nanoseconds.
    pub(super) body_ns: f64,
}

impl Traits {
    /// `schedule` with the raster that serves those extents on that GPU.
    pub fn with_raster(&self, schedule: &crate::Schedule, extents: &Extents, machine: &Machine) -> crate::Schedule {
        let typed = Schedule::try_from(schedule);
        typed.map_or(*schedule, |typed| typed.with_raster(self.raster(extents, machine)).into())
    }

    /// Blocks of a launch that one SM of that capability holds.
    pub(super) fn blocks_per_sm(&self, gpu: ComputeCapability) -> u32 {
        let asked_for = self.grid.residency.blocks_per_sm().unwrap_or(u32::MAX);
        self.taken.blocks_of(Multiprocessor::like(gpu)).min(asked_for)
    }

    /// Blocks that run as one cluster.
    pub(super) fn blocks_of_cluster(&self) -> u32 {
        self.geometry.cluster_m * self.geometry.cluster_n * self.geometry.split_k
    }

    /// Those of the image of `schedule` for `class`.
    pub fn new(class: &Class, schedule: &Schedule) -> Self {
        let geometry = schedule.geometry(class);
        let plan = emit::plan(class, schedule, String::new());
        let mut grid = plan.kernels.into_iter().next().map(|kernel| kernel.grid);
        if let (Many::Groups, Some(grid)) = (class.many(), &mut grid) {
            // Their rows are predicted as a batch of groups of the same size.
            grid.axes.push(Axis { dim: BATCH, step: 1 });
        }
        let (ring, ping_pong, instruction) = match schedule {
            Schedule::Sm80(schedule) => (schedule.stages, false, Instruction::MmaSync),
            Schedule::Skinny(schedule) => (schedule.stages, false, Instruction::MmaSync),
            Schedule::Sm90(schedule) => (schedule.stages, schedule.mode == Mode::PingPong, Instruction::Wgmma),
        };
        let stream_k = matches!(schedule, Schedule::Sm90(schedule) if schedule.stream_k);
        Traits {
            taken: Taken::new(class, schedule, &geometry),
            geometry,
            grid: grid.expect("a plan has a kernel"),
            ring: f64::from(ring),
            instruction,
            efficiency: efficiency(schedule),
            consumers: match schedule {
                Schedule::Sm90(schedule) => schedule.consumers,
                Schedule::Sm80(_) | Schedule::Skinny(_) => 0,
            },
            ping_pong,
            transposed: matches!(schedule, Schedule::Sm90(schedule) if schedule.swap_ab),
            of_groups: class.many() == Many::Groups,
            stream_k,
            reads_in_place: matches!(schedule, Schedule::Skinny(_)),
            a_is_row_major: !class.layout.transpose_a(),
            b_is_row_major: !class.layout.transpose_b(),
            input_bytes: f64::from(class.input.bytes()),
            weight_bytes: unpacking::bytes_of_number(class),
            unpacked_per_ms: unpacking::numbers_per_ms(class, schedule),
            gather_ms: gather::ms_of_stage(class, schedule),
            body_bytes: class.body.as_ref().map_or(0.0, bytes_of_matrices),
            body_ns: bodies::ns_of_element(class, schedule),
            output_bytes: if class.writes_c() { f64::from(class.output.bytes()) } else { 0.0 },
        }
    }
}

/// Bytes of an element of each matrix that a body reads once.
fn bytes_of_matrices(body: &BodyClass) -> f64 {
    body.matrices_read_once().map(|dtype| f64::from(dtype.bytes())).sum()
}

/// What a block takes of an SM, which decides how many one holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Taken {
    /// All of it: one block an SM stays.
    Whole,
    /// Parts.
    Part { registers: u32, shared_bytes: u32, threads: u32, most: u32 },
}

impl Taken {
    fn new(class: &Class, schedule: &Schedule, geometry: &Geometry) -> Self {
        let (of_thread, most) = match schedule {
            Schedule::Sm90(_) => return Taken::Whole,
            Schedule::Skinny(skinny) => (skinny.registers_for(class), skinny::MAX_BLOCKS_PER_SM),
            Schedule::Sm80(sm80) => ((sm80.accumulators() + WORKING_REGISTERS).min(MAX_REGISTERS), u32::MAX),
        };
        let shared_bytes = geometry.shared_bytes + RESERVED_SHARED_BYTES;
        Taken::Part { registers: of_thread * geometry.threads, shared_bytes, threads: geometry.threads, most }
    }

    fn blocks_of(self, sm: Multiprocessor) -> u32 {
        let Taken::Part { registers, shared_bytes, threads, most } = self else { return 1 };
        let held = [
            sm.registers / registers.max(1),
            sm.shared_bytes / shared_bytes.max(1),
            sm.threads / threads.max(1),
            sm.blocks,
            most,
        ];
        held.into_iter().min().unwrap_or(1).max(1)
    }
}

fn efficiency(schedule: &Schedule) -> f64 {
    match schedule {
        Schedule::Sm90(schedule) => {
            // wgmma m64nNk16 reads 2 KiB of A and 32·N bytes of B at 128 bytes a clock, and multiplies in N/2 clocks.
            let n = f64::from(if schedule.swap_ab { schedule.tile_m } else { schedule.tile_n });
            ((n / 2.0) / ((2048.0 + 32.0 * n) / 128.0)).min(1.0)
        }
        Schedule::Skinny(_) => SKINNY_EFFICIENCY,
        Schedule::Sm80(schedule) => {
            // ldmatrix feeds mma.sync: products of a warp tile over its operands.
            let (m, n) = (schedule.tile_m / schedule.warps_m, schedule.tile_n / schedule.warps_n);
            let reuse = f64::from(m * n) / f64::from(m + n);
            let depth = if schedule.stages < 3 { 0.85 } else { 1.0 };
            reuse / (reuse + 6.0) * depth
        }
    }
}
