//! What arithmetic alone says about a schedule, before anything is measured.
//!
//! A lower bound in the manner of a roofline, one level down: the time is that of the slowest of matrix units, L2,
//! device memory and the latency of loads, over whole waves of tiles. It ranks schedules well where tiles do not fill the
//! GPU evenly, and knows nothing of what makes kernels of equal tiles differ: that is left to measurements.

use std::collections::{BTreeMap, HashMap};

use autokernel_codegen::arch::Arch;
use autokernel_codegen::matmul::problem::{Class, Layout};
use autokernel_codegen::matmul::schedule::{Geometry, Mode, Schedule as Typed};
use autokernel_codegen::matmul::sizes;
use autokernel_codegen::problem::ProblemClass;
use autokernel_codegen::schedule::{Family, Schedule};
use autokernel_core::Extents;
use autokernel_core::Placement;

use super::brief::Brief;
use super::categories::Categories;
use super::effects::Effects;
use crate::gpu_facts::GpuFacts;
use crate::placement::placement;
use crate::target::Target;

/// L2 bandwidth over device bandwidth, as it fits the recordings of an H200.
const L2_OVER_MEMORY: f64 = 3.5;
/// Share of the matrix units' peak that the main loop sustains; what stores and contention take is counted apart.
const SUSTAINED: f64 = 0.95;
/// mma.sync reaches about this share of what wgmma reaches on the same GPU.
const MMA_SYNC_ON_HOPPER: f64 = 0.65;
/// Share of the other limits that the slowest one does not hide.
const CONTENTION: f64 = 0.25;
/// From a load to its data, in the recordings of an H200: what fits their times over the depth of the ring.
const LOAD_LATENCY_MS: f64 = 0.001;
/// Blocks of a cluster wait for each other. In the recordings of an H200 multicast saves nothing that pays for it where
/// rows begin at cache lines.
const CLUSTER_WAIT: f64 = 1.3;
/// A cache line, in bytes.
const LINE_BYTES: u32 = 128;
/// What loads of rows that begin within a cache line cost, over those of rows that begin at one.
const STRADDLING: f64 = 3.0;
/// Share of the SMs that clusters of four reach, which do not span GPCs; and those of eight.
const REACHED_BY_4: f64 = 0.91;
const REACHED_BY_8: f64 = 0.85;
/// sm90: what an SM stores of a tile, over its share of L2's bandwidth. Registers, shared memory and TMA take turns.
const STORE_SHARE: f64 = 0.125;
/// How much of what neighbouring shapes showed is taken to hold here as well.
const TRANSFER: f64 = 0.5;
/// Launch, and filling the pipeline.
const LAUNCH_MS: f64 = 0.0015;
/// The barriers of a cluster that adds up a tile's shares of K.
const CLUSTER_BARRIERS_MS: f64 = 0.0024;
/// What a block sends to its peers' shared memory in a millisecond: about 50 bytes a clock.
const PEER_BYTES_PER_MS: f64 = 9e7;
/// sm80: registers of a thread beside its accumulators, roughly.
const WORKING_REGISTERS: u32 = 80;
/// Shared memory that the system keeps of each block (CUDA C++ Programming Guide, compute capability 8.x).
const RESERVED_SHARED_BYTES: u32 = 1024;
/// Threads that one SM holds on sm_80 and sm_90; 1536 on consumer parts, which only shared memory limits anyway.
const THREADS_PER_SM: u32 = 2048;

/// The logarithm of the predicted time of each schedule of `brief`'s space: by arithmetic, corrected by what the
/// trials of neighbouring shapes in the brief's history showed of its knobs.
pub fn logs(brief: &Brief) -> Vec<f64> {
    let prior = Prior::new(&brief.target, &brief.gpu);
    let arithmetic = brief.space.iter().map(|schedule| prior.predicted_ms(schedule).ln());
    let surprises = neighbours_surprises(brief);
    if surprises.is_empty() {
        return arithmetic.collect();
    }
    let categories = Categories::new(&brief.space);
    let effects = Effects::fit(&categories, &surprises);
    let corrected = |(index, log)| log + TRANSFER * effects.of(&categories, index);
    arithmetic.enumerate().map(corrected).collect()
}

/// By how much the times of the history's other shapes missed what arithmetic says, beyond what all times of the same
/// shape did.
fn neighbours_surprises(brief: &Brief) -> Vec<(usize, f64)> {
    let index: HashMap<&Schedule, usize> = brief.space.iter().enumerate().map(|(index, of)| (of, index)).collect();
    let mut by_shape: BTreeMap<Extents, Vec<(usize, f64)>> = BTreeMap::new();
    for trial in brief.history.iter().filter(|trial| trial.target != brief.target) {
        if let (Some(&index), Some(ms)) = (index.get(&trial.schedule), trial.median_ms()) {
            let expected = Prior::new(&trial.target, &brief.gpu).predicted_ms(&trial.schedule);
            by_shape.entry(trial.target.shape).or_default().push((index, (ms / expected).ln()));
        }
    }
    let centred = |surprises: Vec<(usize, f64)>| {
        let mean = surprises.iter().map(|(_, surprise)| surprise).sum::<f64>() / surprises.len() as f64;
        surprises.into_iter().map(move |(index, surprise)| (index, surprise - mean))
    };
    by_shape.into_values().flat_map(centred).collect()
}

/// The model for one target on one GPU.
pub struct Prior<'p> {
    target: &'p Target,
    /// Of a product.
    product: Option<Class>,
    gpu: &'p GpuFacts,
}

/// The same for a product.
struct Product<'p> {
    target: &'p Target,
    class: &'p Class,
    gpu: &'p GpuFacts,
}

impl<'p> Prior<'p> {
    /// The model for `target` on `gpu`.
    pub fn new(target: &'p Target, gpu: &'p GpuFacts) -> Self {
        Prior { target, product: target.problem.as_product().map(|product| product.class()), gpu }
    }

    /// The least time that `schedule` can take, in milliseconds.
    pub fn predicted_ms(&self, schedule: &Schedule) -> f64 {
        let Prior { target, product, gpu } = self;
        match (product, Typed::try_from(schedule)) {
            (Some(class), Ok(typed)) => Product { target, class, gpu }.predicted_ms(schedule, &typed),
            _ => self.traffic_ms(schedule),
        }
    }

    /// The time of the least traffic, as far as whole waves of blocks keep all SMs at it.
    fn traffic_ms(&self, schedule: &Schedule) -> f64 {
        let Prior { target, gpu, .. } = self;
        let placement = placement(schedule, &target.problem.class(), target.shape, gpu.sm_count, 1);
        let busy = (placement.utilization_pct / 100.0).clamp(0.1, 1.0);
        target.work().bytes / (gpu.memory_gb_per_s * 1e6 * busy) + LAUNCH_MS
    }
}

impl Product<'_> {
    fn predicted_ms(&self, schedule: &Schedule, typed: &Typed) -> f64 {
        let Product { target, class, gpu } = self;
        let (shape, k) = (target.shape, sizes(&target.shape)[2]);
        let geometry = typed.geometry(class);
        let turns = turns(schedule, typed, &geometry, &target.problem.class(), shape, gpu);

        let rate_per_sm = gpu.matrix_tflops * 1e9 * SUSTAINED / f64::from(gpu.sm_count);
        let block_k = f64::from(k) / f64::from(geometry.split_k);
        let tile_flops = 2.0 * f64::from(geometry.tile_m) * f64::from(geometry.tile_n) * block_k;
        let efficiency = tile_efficiency(typed) * family_share(schedule, target.arch);
        let compute_ms = turns.longest * tile_flops / (rate_per_sm * efficiency);

        let input = f64::from(class.input.bytes());
        let l2_bytes = turns.blocks * self.loaded(&geometry) * block_k * input;
        let memory_rate = gpu.memory_gb_per_s * 1e6;
        let l2_ms = l2_bytes / (memory_rate * L2_OVER_MEMORY);
        let memory_ms = target.work().bytes / memory_rate;

        let limits = [compute_ms, l2_ms, memory_ms, latency_ms(typed, &geometry, &turns, k)];
        let slowest = limits.into_iter().fold(0.0, f64::max);
        let hidden = limits.iter().sum::<f64>() - slowest;
        slowest
            + CONTENTION * hidden
            + self.store_ms(typed, &geometry, turns.longest)
            + split_ms(&geometry, turns.longest)
            + LAUNCH_MS
    }

    /// Rows of A and columns of B that a block loads; those past the edge are filled in without a load.
    fn loaded(&self, geometry: &Geometry) -> f64 {
        let ([m, n, k], bytes) = (sizes(&self.target.shape), self.class.input.bytes());
        let pitch_b = if self.class.layout == Layout::Nn { n } else { k };
        // Where lines are loaded in part, multicast pays: the line is read for the whole cluster.
        let cost = |pitch: u32, sharers: u32| {
            if (pitch * bytes).is_multiple_of(LINE_BYTES) { 1.0 } else { STRADDLING / f64::from(sharers) }
        };
        let rows = f64::from(geometry.tile_m.min(m)) * cost(k, geometry.cluster_n);
        rows + f64::from(geometry.tile_n.min(n)) * cost(pitch_b, geometry.cluster_m)
    }

    /// Stores that nothing hides: cooperative consumers multiply nothing while they store.
    fn store_ms(&self, schedule: &Typed, geometry: &Geometry, longest: f64) -> f64 {
        let bytes = f64::from(geometry.tile_m * geometry.tile_n * self.class.output.bytes());
        let hidden = matches!(schedule, Typed::Sm90(schedule) if schedule.mode == Mode::PingPong);
        let exposed = if hidden { 1.0 } else { longest };
        let rate_per_sm = self.gpu.memory_gb_per_s * 1e6 * L2_OVER_MEMORY / f64::from(self.gpu.sm_count);
        let share = if geometry.family == Family::Sm90 { STORE_SHARE } else { 1.0 };
        exposed * bytes / (rate_per_sm * share)
    }
}

/// The stages of a tile, of which only as many as the ring holds are on their way at once (Little's law).
fn latency_ms(schedule: &Typed, geometry: &Geometry, turns: &Turns, k: u32) -> f64 {
    let ring = match schedule {
        Typed::Sm80(schedule) => schedule.stages,
        Typed::Sm90(schedule) => schedule.stages,
    };
    let stages = f64::from(k.div_ceil(geometry.tile_k * geometry.split_k));
    let waits = if geometry.cluster_m * geometry.cluster_n > 1 { CLUSTER_WAIT } else { 1.0 };
    turns.longest / turns.resident * stages / f64::from(ring) * LOAD_LATENCY_MS * waits
}

/// What the blocks of a cluster take to add up their shares of K, tile after tile: barriers, and each sends its partial
/// sums but for its own part to the others.
fn split_ms(geometry: &Geometry, longest: f64) -> f64 {
    if geometry.split_k == 1 {
        return 0.0;
    }
    let sent = 1.0 - 1.0 / f64::from(geometry.split_k);
    let bytes = f64::from(geometry.tile_m * geometry.tile_n * 4) * sent;
    longest * (CLUSTER_BARRIERS_MS + bytes / PEER_BYTES_PER_MS)
}

/// SMs that blocks in clusters of this size can run on.
fn reached_sms(geometry: &Geometry, gpu: &GpuFacts) -> u32 {
    let share = match geometry.cluster_m * geometry.cluster_n * geometry.split_k {
        1 | 2 => 1.0,
        3 | 4 => REACHED_BY_4,
        _ => REACHED_BY_8,
    };
    (f64::from(gpu.sm_count) * share).max(1.0) as u32
}

/// How the tiles fall on the SMs; with a split K, the blocks that share them.
struct Turns {
    /// Blocks' worth of work in all.
    blocks: f64,
    /// Of them, those that the busiest SM computes.
    longest: f64,
    /// Of them, those that it works on at once.
    resident: f64,
}

fn turns(
    schedule: &Schedule,
    typed: &Typed,
    geometry: &Geometry,
    class: &ProblemClass,
    shape: Extents,
    gpu: &GpuFacts,
) -> Turns {
    let (sms, per_sm) = (reached_sms(geometry, gpu), resident_blocks(typed, geometry, gpu));
    let Placement { tiles, slots, .. } = placement(schedule, class, shape, sms, per_sm);
    let full_waves = tiles.div_ceil(slots).saturating_sub(1);
    let blocks_of = |tiles: u64| (tiles * u64::from(geometry.split_k)) as f64;
    // An SM works on its resident blocks together, so a full wave of them takes as many turns.
    let resident = f64::from(per_sm);
    let last = (blocks_of(tiles - full_waves * slots) / f64::from(sms)).ceil();
    Turns { blocks: blocks_of(tiles), longest: full_waves as f64 * resident + last, resident }
}

/// Blocks that run on one SM at once.
fn resident_blocks(schedule: &Typed, geometry: &Geometry, gpu: &GpuFacts) -> u32 {
    let Typed::Sm80(sm80) = schedule else {
        return 1; // persistent: one block an SM
    };
    let registers = (sm80.accumulators() + WORKING_REGISTERS).min(255) * geometry.threads;
    let by_shared = gpu.shared_bytes_per_sm / (geometry.shared_bytes + RESERVED_SHARED_BYTES);
    let by_registers = gpu.registers_per_sm / registers.max(1);
    by_shared.min(by_registers).min(THREADS_PER_SM / geometry.threads.max(1)).max(1)
}

fn family_share(schedule: &Schedule, arch: Arch) -> f64 {
    if arch == Arch::SM_90A && schedule.family() == Family::Sm80 { MMA_SYNC_ON_HOPPER } else { 1.0 }
}

/// Share of the matrix units' rate that one tile can draw from shared memory and registers.
fn tile_efficiency(schedule: &Typed) -> f64 {
    match schedule {
        Typed::Sm90(schedule) => {
            // wgmma m64nNk16 reads 2 KiB of A and 32·N bytes of B at 128 bytes a clock, and multiplies in N/2 clocks.
            let n = f64::from(if schedule.swap_ab { schedule.tile_m } else { schedule.tile_n });
            ((n / 2.0) / ((2048.0 + 32.0 * n) / 128.0)).min(1.0)
        }
        Typed::Sm80(schedule) => {
            // ldmatrix feeds mma.sync: products of a warp tile over its operands.
            let (m, n) = (schedule.tile_m / schedule.warps_m, schedule.tile_n / schedule.warps_n);
            let reuse = f64::from(m * n) / f64::from(m + n);
            let depth = if schedule.stages < 3 { 0.85 } else { 1.0 };
            reuse / (reuse + 6.0) * depth
        }
    }
}
