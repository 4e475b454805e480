//! What the product costs at least, and what the fusion saves.

use serde::Serialize;

use super::kernel::Kernel;
use super::machine::Machine;
use crate::target::Target;

/// Which limit a kernel meets first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Device memory.
    Memory,
    /// The tensor cores.
    Compute,
    /// Neither: too little work to fill the GPU, or none at all.
    Latency,
}

/// What a launch costs at least.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WorkProfile {
    /// Floating-point operations.
    pub flop: f64,
    /// Bytes of device memory traffic, each input read once and the output written once.
    pub bytes: f64,
    /// FLOP per byte.
    pub intensity: f64,
    /// The ceiling of the tensor cores, in 10¹² FLOP/s; none if they do not take this type.
    pub peak_tflops: Option<f64>,
    /// The intensity at which this GPU's two ceilings meet, in FLOP per byte.
    pub ridge: Option<f64>,
    /// The shortest time the ceilings allow, in milliseconds.
    pub floor_ms: Option<f64>,
    /// The limit that is met first.
    pub bound: Option<Bound>,
    /// What the fusion saves.
    pub traffic: Traffic,
}

/// Device memory traffic with the epilogue in the kernel and with a kernel of its own, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Traffic {
    /// Of the output alone, fused: it is written once.
    pub output_fused: f64,
    /// Of the output alone, unfused: it is written, read and written again.
    pub output_unfused: f64,
    /// In all, fused.
    pub fused: f64,
    /// In all, unfused.
    pub unfused: f64,
    /// What fusion saves of the output's traffic, in percent.
    pub output_saved_pct: f64,
    /// What fusion saves in all, in percent.
    pub saved_pct: f64,
}

/// A launch that does nothing takes about this long on the GPU, in milliseconds; work below it hides behind it.
const LAUNCH_MS: f64 = 0.003;

/// The costs of `target`.
pub fn profile(target: &Target, machine: &Machine, kernel: Option<&Kernel>) -> WorkProfile {
    let work = target.work();
    let roofline = target.input().and_then(|input| machine.roofline(input));
    let floor_ms = roofline.map(|roofline| roofline.floor_ms(&work));
    let bound = roofline.map(|roofline| {
        let memory = work.intensity() < roofline.ridge();
        let few_tiles = kernel.is_some_and(|kernel| 2 * kernel.busy_blocks() < u64::from(machine.facts.sm_count));
        match memory {
            _ if roofline.floor_ms(&work) < LAUNCH_MS => Bound::Latency,
            true => Bound::Memory,
            // Idle SMs cannot multiply, whereas few can already fill the memory.
            false if few_tiles => Bound::Latency,
            false => Bound::Compute,
        }
    });
    WorkProfile {
        flop: work.flops,
        bytes: work.bytes,
        intensity: work.intensity(),
        peak_tflops: roofline.map(|roofline| roofline.peak_tflops),
        ridge: roofline.map(|roofline| roofline.ridge()),
        floor_ms,
        bound,
        traffic: traffic(target, work.bytes),
    }
}

fn traffic(target: &Target, fused: f64) -> Traffic {
    let output_fused = target.problem.work(&target.shape).written_bytes;
    let unfused = target.problem.unfused_work(&target.shape).bytes();
    let output_unfused = output_fused + unfused - fused;
    let saved = |fused: f64, unfused: f64| if unfused > 0.0 { 100.0 * (1.0 - fused / unfused) } else { 0.0 };
    Traffic {
        output_fused,
        output_unfused,
        fused,
        unfused,
        output_saved_pct: saved(output_fused, output_unfused),
        saved_pct: saved(fused, unfused),
    }
}

#[cfg(test)]
mod tests {
    use autokernel_codegen::arch::Arch;
    use autokernel_codegen::dtype::Dtype;
    use autokernel_codegen::matmul::extents;
    use autokernel_codegen::problem::{Layout, Problem};

    use super::*;

    fn traffic_of(epilogue: &str) -> Traffic {
        let problem = Problem::matmul(Dtype::Bf16, Layout::Nt, epilogue.parse().unwrap());
        let target = Target { problem, arch: Arch::SM_80, shape: extents(4096, 4096, 4096) };
        traffic(&target, target.work().bytes)
    }

    #[test]
    fn fusing_saves_two_thirds_of_the_outputs_traffic_and_40_percent_in_all_of_a_square_product() {
        let traffic = traffic_of("relu");
        assert!((traffic.output_saved_pct - 200.0 / 3.0).abs() < 1e-9, "{traffic:?}");
        assert!((traffic.saved_pct - 40.0).abs() < 1e-9, "{traffic:?}");
    }

    #[test]
    fn a_plain_product_has_nothing_to_fuse() {
        assert_eq!(traffic_of("identity").saved_pct, 0.0);
    }
}
