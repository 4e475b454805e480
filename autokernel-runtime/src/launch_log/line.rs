//! A line of the launch log, in the words of `best_config.json`.

use serde::Serialize;
use serde_json::value::RawValue;

use super::served::Served;
use crate::descriptor::symbol;
use crate::{Arch, Extents, KernelDescriptor, KernelVariant};

/// What was launched, ready to be written.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Launch {
    /// The declared function.
    kernel: String,
    /// What is computed, as the build wrote it; none if that is no JSON.
    problem: Option<Box<RawValue>>,
    shape: Extents,
    /// The target that is tuned for this GPU; none on the CPU.
    arch: Option<Arch>,
    /// What ran; none on the CPU.
    entry: Option<Entry>,
    count: u64,
}

/// The variant that was chosen.
#[derive(Debug, Clone, Serialize)]
struct Entry {
    /// The kernel's name in its image.
    symbol: String,
    /// What its image was compiled for.
    arch: Arch,
    /// The extents it was tuned at; none for the arch's default.
    tuned_at: Option<Extents>,
}

impl Launch {
    pub fn new(kernel: &KernelDescriptor, extents: Extents, served: Served) -> Self {
        let (arch, entry) = match served {
            Served::Cpu => (None, None),
            Served::Gpu { capability, variant } => {
                (Some(Arch::of_gpu(capability)), kernel.variants.get(variant).map(Entry::from))
            }
        };
        let problem = RawValue::from_string(kernel.problem.clone()).ok();
        Self { kernel: kernel.name.clone(), problem, shape: extents, arch, entry, count: 0 }
    }

    /// The line of that many launches, with its line break.
    pub fn line(&self, count: u64) -> String {
        let json = serde_json::to_string(&Self { count, ..self.clone() });
        json.expect("a launch has only string keys") + "\n"
    }
}

impl From<&KernelVariant> for Entry {
    fn from(variant: &KernelVariant) -> Self {
        Self {
            symbol: symbol(&variant.plan).to_owned(),
            arch: variant.arch,
            tuned_at: variant.tuned.as_ref().map(|tuned| tuned.extents),
        }
    }
}

#[cfg(test)]
mod tests {
    use autokernel_core::{Grid, KernelStep, LaunchPlan, Provenance, Residency, Signature, Tuned};

    use super::*;
    use crate::{ComputeCapability, matmul};

    const PROBLEM: &str = r#"{"operation":"matmul","input":"bf16","output":"f32","layout":"nt","epilogue":"leaky_relu(0.2)","known_n":4096}"#;

    fn kernel(tuned: Option<Tuned>) -> KernelDescriptor {
        let step = KernelStep {
            symbol: "autokernel_up".to_owned(),
            threads: 384,
            shared_bytes: 200_000,
            overlaps_previous: true,
            grid: Grid { axes: Vec::new(), cluster: 1, tiles: 1, residency: Residency::OneEach, split: None },
            args: Vec::new(),
        };
        let plan = LaunchPlan::of_kernel(step, Vec::new());
        let schedule = "{}".to_owned();
        KernelDescriptor {
            name: "up".to_owned(),
            about: "x · wᵀ".to_owned(),
            problem: PROBLEM.to_owned(),
            signature: Signature { dims: Vec::new(), operands: Vec::new(), ..Signature::default() },
            variants: vec![KernelVariant { arch: Arch::SM_90A, tuned, portfolio: None, schedule, plan, image: None }],
            portfolios: Vec::new(),
            confined: None,
            not_compiled: None,
        }
    }

    fn tuned() -> Tuned {
        let text = || String::from("-");
        let provenance = Provenance {
            gpu: text(),
            driver: text(),
            nvcc: text(),
            sources: None,
            date: text(),
            median_ms: 1.0,
            spread_pct: 0.0,
            tflops: 1.0,
            samples: 1,
            final_rounds: 0,
            proposed_by: text(),
        };
        Tuned { class: text(), extents: matmul::extents(16, 8192, 8192), range: None, provenance }
    }

    const ON_HOPPER: Served = Served::Gpu { capability: ComputeCapability::new(9, 0), variant: 0 };

    #[test]
    fn a_line_says_what_was_launched_where_and_how_often() {
        let line = Launch::new(&kernel(None), matmul::extents(16, 4096, 1024), ON_HOPPER).line(7);
        let expected = r#"{"kernel":"up","problem":{"operation":"matmul","input":"bf16","output":"f32","layout":"nt","epilogue":"leaky_relu(0.2)","known_n":4096},"shape":{"m":16,"n":4096,"k":1024},"arch":"sm_90a","entry":{"symbol":"autokernel_up","arch":"sm_90a","tuned_at":null},"count":7}"#;
        assert_eq!(line, format!("{expected}\n"));
    }

    #[test]
    fn a_tuned_variant_is_recorded_with_the_extents_it_was_tuned_at() {
        let line = Launch::new(&kernel(Some(tuned())), matmul::extents(16, 4096, 1024), ON_HOPPER).line(1);
        assert!(line.contains(r#""tuned_at":{"m":16,"n":8192,"k":8192}},"count":1}"#), "{line}");
    }

    #[test]
    fn a_launch_on_the_cpu_has_neither_arch_nor_entry() {
        let line = Launch::new(&kernel(None), matmul::extents(1, 2, 3), Served::Cpu).line(1);
        assert!(line.contains(r#""arch":null,"entry":null"#), "{line}");
    }
}
