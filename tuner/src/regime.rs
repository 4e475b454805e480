//! The state of the GPU in which schedules are timed.

use std::fmt;

use autokernel_runtime::roofline::Bound;
use serde::{Deserialize, Serialize};

use crate::gpu_facts::GpuFacts;
use crate::objective::Objective;
use crate::target::Target;

/// The state of the GPU in which schedules are timed. Times of one are never taken for those of the other: what runs at the power
/// limit ranks schedules by another order than the clock of a rested chip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Regime {
    /// Each after a rest, as all trials of earlier versions.
    #[default]
    Rest,
    /// In turn with a reference schedule that keeps the GPU as warm as under a sustained load.
    Load,
}

impl Regime {
    /// From this time on, in milliseconds on the roofline, a launch keeps the matrix units busy for most of its time: it starts and
    /// drains in 3 to 5 µs.
    pub const LONG_MS: f64 = 0.03;

    /// That in which schedules of `target` are timed on `gpu`: under load where arithmetic bounds a launch for so long that launches
    /// back to back meet the power limit. Known before anything is measured, so that all trials of a target are of one kind.
    pub fn of(target: &Target, gpu: &GpuFacts, objective: Objective) -> Self {
        // Energy is of a load of its own.
        let roof = gpu.roofline(target.input()).filter(|_| objective.is_time());
        let work = target.work();
        let meets_the_limit =
            roof.is_some_and(|roof| roof.bound(&work) == Bound::Compute && roof.floor_ms(&work) >= Self::LONG_MS);
        if meets_the_limit { Regime::Load } else { Regime::Rest }
    }

    /// Whether it is that of all trials of earlier versions.
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
    pub const fn is_rest(&self) -> bool {
        matches!(self, Regime::Rest)
    }
}

/// Which of both somebody wants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum RegimeChoice {
    /// Each after a rest.
    Rest,
    /// Each under load.
    Load,
    /// Under load where that changes the order.
    #[default]
    Auto,
}

impl RegimeChoice {
    /// That in which schedules of `target` are timed on `gpu`.
    pub fn of(self, target: &Target, gpu: &GpuFacts, objective: Objective) -> Regime {
        match self {
            RegimeChoice::Load if objective.is_time() => Regime::Load,
            RegimeChoice::Auto => Regime::of(target, gpu, objective),
            RegimeChoice::Rest | RegimeChoice::Load => Regime::Rest,
        }
    }
}

impl fmt::Display for Regime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Regime::Rest => "after a rest",
            Regime::Load => "under load",
        })
    }
}

#[cfg(test)]
mod tests {
    use autokernel_codegen::arch::Arch;
    use autokernel_codegen::dtype::Dtype;
    use autokernel_codegen::matmul::extents;
    use autokernel_codegen::problem::{Layout, Problem};

    use super::*;
    use crate::environment::Environment;
    use crate::strategy::tests::{brief, environment};

    fn product(m: u32, n: u32, k: u32) -> Target {
        let problem = Problem::matmul(Dtype::Bf16, Layout::Nt, "identity".parse().unwrap());
        Target { problem, arch: Arch::SM_90A, shape: extents(m, n, k) }
    }

    #[test]
    fn what_arithmetic_bounds_for_long_is_timed_under_load_and_what_memory_bounds_or_is_over_soon_is_not() {
        let gpu = brief().gpu;
        let of = |m, n, k| Regime::of(&product(m, n, k), &gpu, Objective::Time);
        for (m, n, k) in [(4096, 4096, 4096), (8192, 8192, 8192), (4096, 14336, 4096), (900, 5120, 5120)] {
            assert_eq!(of(m, n, k), Regime::Load, "{m}x{n}x{k}");
        }
        for (m, n, k) in [(298, 6144, 1408), (1024, 1024, 1024), (16, 8192, 8192), (128, 28672, 8192), (1, 1, 1)] {
            assert_eq!(of(m, n, k), Regime::Rest, "{m}x{n}x{k}");
        }
        let unknown = GpuFacts { name: "new".to_owned(), matrix_tflops: 0.0, ..gpu.clone() };
        let large = product(8192, 8192, 8192);
        assert_eq!(Regime::of(&large, &unknown, Objective::Time), Regime::Rest, "its ceilings are not known");
        assert_eq!(Regime::of(&large, &gpu, Objective::Energy), Regime::Rest, "energy is of a load of its own");
        assert_eq!(RegimeChoice::Load.of(&product(1, 1, 1), &gpu, Objective::Time), Regime::Load);
        assert_eq!(RegimeChoice::Rest.of(&large, &gpu, Objective::Time), Regime::Rest);
    }

    #[test]
    fn environments_of_earlier_journals_are_those_after_a_rest_and_are_written_as_they_were() {
        let old = r#"{"gpu":"","driver":"","nvcc":"","kernels":""}"#;
        let read: Environment = serde_json::from_str(old).unwrap();
        assert_eq!(read, environment());
        assert_eq!(serde_json::to_string(&read).unwrap(), old, "so that keys of trials stay");
        let loaded = Environment { regime: Regime::Load, ..read };
        let text = serde_json::to_string(&loaded).unwrap();
        assert!(text.contains(r#""regime":"load""#), "{text}");
        assert_eq!(serde_json::from_str::<Environment>(&text).unwrap(), loaded);
    }
}
