//! What arithmetic alone says about a schedule, before anything is measured.
//!
//! A lower bound in the manner of a roofline, one level down: the time is that of the slowest of matrix units, L2 and
//! device memory, over whole waves of tiles. It ranks schedules well where tiles do not fill the GPU evenly, and knows
//! nothing of what makes kernels of equal tiles differ: that is left to measurements.

use autokernel_codegen::problem::Problem;
use autokernel_codegen::schedule::{Family, Mode, Schedule};
use autokernel_codegen::shape::Shape;

use crate::llm::GpuFacts;
use crate::target::Target;

/// L2 bandwidth over device bandwidth: about 2 to 3 on A100 and H100 (microbenchmarks of arXiv:2402.13499).
const L2_OVER_MEMORY: f64 = 2.2;
/// Share of the matrix units' peak that dense products sustain under the power limit.
const SUSTAINED: f64 = 0.75;
/// mma.sync reaches about this share of what wgmma reaches on the same GPU.
const MMA_SYNC_ON_HOPPER: f64 = 0.65;
/// Time to fill the pipeline, and to launch at all.
const FILL_US_PER_STAGE: f64 = 0.35;

/// The least time that `schedule` can take for `target` on `gpu`, in milliseconds, by this model.
pub fn predicted_ms(schedule: &Schedule, target: &Target, gpu: &GpuFacts) -> f64 {
    let Target { problem, shape, .. } = target;
    let geometry = schedule.geometry(&problem.class());
    let tiles = Tiles::of(*shape, geometry.tile_m, geometry.tile_n);
    let blocks = resident_blocks(schedule, problem, gpu);
    let (sms, slots) = (f64::from(gpu.sm_count), f64::from(gpu.sm_count * blocks));

    let rate = gpu.matrix_tflops * 1e9 * SUSTAINED * family_share(schedule, target);
    let tile_flops = 2.0 * f64::from(geometry.tile_m) * f64::from(geometry.tile_n) * f64::from(shape.k);
    let waves = (tiles.count() / slots).ceil();
    // An SM works on its resident tiles together, so a wave of `blocks` tiles takes `blocks` times as long.
    let in_last_wave = ((tiles.count() - (waves - 1.0) * slots) / sms).ceil();
    let tiles_in_turn = (waves - 1.0) * f64::from(blocks) + in_last_wave;
    let compute_ms = tiles_in_turn * tile_flops / (rate / sms) / tile_efficiency(schedule, problem);

    let input = f64::from(problem.input.bytes());
    let loaded_m = f64::from(geometry.tile_m) / f64::from(geometry.cluster_n);
    let loaded_n = f64::from(geometry.tile_n) / f64::from(geometry.cluster_m);
    let l2_bytes = tiles.count() * (loaded_m + loaded_n) * f64::from(shape.k) * input;
    let l2_ms = l2_bytes / (gpu.memory_gb_per_s * 1e6 * L2_OVER_MEMORY);
    let memory_ms = target.work().bytes / (gpu.memory_gb_per_s * 1e6);

    let ms = [compute_ms, l2_ms, memory_ms];
    let slowest = ms.into_iter().fold(0.0, f64::max);
    // What is not the bottleneck still gets in its way a little.
    slowest + 0.1 * (ms.iter().sum::<f64>() - slowest) + store_ms(schedule, tiles_in_turn, target, gpu)
        + FILL_US_PER_STAGE * 1e-3 * 4.0
}

struct Tiles {
    m: f64,
    n: f64,
}

impl Tiles {
    fn of(shape: Shape, tile_m: u32, tile_n: u32) -> Self {
        Tiles { m: f64::from(shape.m.div_ceil(tile_m)), n: f64::from(shape.n.div_ceil(tile_n)) }
    }

    fn count(&self) -> f64 {
        self.m * self.n
    }
}

/// Blocks that run on one SM at once.
fn resident_blocks(schedule: &Schedule, problem: &Problem, gpu: &GpuFacts) -> u32 {
    if schedule.family() == Family::Sm90 {
        return 1; // persistent: one block an SM
    }
    let geometry = schedule.geometry(&problem.class());
    let registers_per_thread = match schedule {
        Schedule::Sm80(schedule) => (schedule.accumulators() + 80).min(255),
        Schedule::Sm90(_) => 168,
    };
    let by_shared = gpu.shared_bytes_per_sm / (geometry.shared_bytes + 1024).max(1);
    let by_registers = gpu.registers_per_sm / (geometry.threads * registers_per_thread).max(1);
    by_shared.min(by_registers).min(2048 / geometry.threads.max(1)).max(1)
}

fn family_share(schedule: &Schedule, target: &Target) -> f64 {
    let hopper = target.arch == autokernel_codegen::arch::Arch::SM_90A;
    if hopper && schedule.family() == Family::Sm80 { MMA_SYNC_ON_HOPPER } else { 1.0 }
}

/// Share of the matrix units' rate that one tile can draw from shared memory and registers.
fn tile_efficiency(schedule: &Schedule, problem: &Problem) -> f64 {
    match schedule {
        Schedule::Sm90(schedule) => {
            // wgmma m64nNk16 reads 2 KiB of A and 32·N bytes of B at 128 bytes a clock, and multiplies in N/2 clocks.
            let n = f64::from(schedule.tile_n);
            let read = (2048.0 + 32.0 * n) / 128.0;
            let multiply = n / 2.0;
            let fed = (multiply / read).min(1.0);
            // One warpgroup cannot keep the matrix units busy while it waits.
            let crew = if schedule.consumers == 1 { 0.9 } else { 1.0 };
            let depth = if schedule.stages * (schedule.tile_m + schedule.tile_n) < 700 { 0.93 } else { 1.0 };
            fed * crew * depth
        }
        Schedule::Sm80(schedule) => {
            // ldmatrix feeds mma.sync: operands of a warp tile against its products.
            let (m, n) = (schedule.tile_m / schedule.warps_m, schedule.tile_n / schedule.warps_n);
            let reuse = f64::from(m * n) / f64::from(m + n);
            let depth = if schedule.stages < 3 { 0.85 } else { 1.0 };
            let wide = if problem.input.bytes() * schedule.tile_k >= 128 { 1.0 } else { 0.98 };
            (reuse / (reuse + 6.0)) * depth * wide
        }
    }
}

/// Stores that nothing hides: cooperative consumers multiply nothing while they store.
fn store_ms(schedule: &Schedule, tiles_in_turn: f64, target: &Target, gpu: &GpuFacts) -> f64 {
    let geometry = schedule.geometry(&target.problem.class());
    let bytes = f64::from(geometry.tile_m * geometry.tile_n * target.problem.output.bytes());
    let hidden = matches!(schedule, Schedule::Sm90(schedule) if schedule.mode == Mode::PingPong);
    let turns = if hidden { 1.0 } else { tiles_in_turn };
    let bandwidth_per_sm = gpu.memory_gb_per_s * 1e6 * L2_OVER_MEMORY / f64::from(gpu.sm_count);
    turns * bytes / bandwidth_per_sm
}
