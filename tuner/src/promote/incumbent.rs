//! What a winner has to beat.

use autokernel_codegen::config::{Config, Entry, Provenance};
use autokernel_codegen::schedule::Schedule;

use super::origin::Origin;
use crate::bridge::distance;
use crate::gpu_facts::GpuFacts;
use crate::target::Target;

/// What the build uses for a target today.
#[derive(Clone, Debug, PartialEq)]
pub struct Incumbent {
    /// The schedule.
    pub schedule: Schedule,
    /// Where it is from.
    pub origin: Origin,
    /// How it was measured, if it is the entry of exactly this target, which a winner would replace.
    pub provenance: Option<Provenance>,
}

impl Incumbent {
    /// Whether it is the entry of exactly this target.
    pub const fn is_exact(&self) -> bool {
        self.provenance.is_some()
    }

    /// The GPU on which it won its place in a final under load, if it did.
    pub fn won_on(&self) -> Option<&str> {
        self.provenance.as_ref().filter(|won| won.final_rounds > 0).map(|won| won.gpu.as_str())
    }
}

/// The schedule that a build with `config` uses for `target` on `gpu`: that of the entry nearest in shape; without one what
/// is predicted to be fastest of the operation's own portfolio, or the default.
pub fn incumbent(config: &Config, target: &Target, gpu: &GpuFacts) -> Incumbent {
    let class = target.problem.class();
    let entries = config.entries_for(&target.problem, target.arch);
    let near = entries
        .into_iter()
        .min_by(|a, b| distance(a.extents, target.shape).total_cmp(&distance(b.extents, target.shape)));
    match near {
        Some(Entry { problem, extents, schedule, provenance, .. }) => {
            let other = (*problem != class).then(|| problem.clone());
            let exact = *problem == class && *extents == target.shape;
            let provenance = exact.then(|| provenance.clone());
            Incumbent { schedule: *schedule, origin: Origin::Tuned { shape: *extents, other }, provenance }
        }
        None => {
            let (schedule, origin) = match predicted(target, gpu) {
                Some(schedule) => (schedule, Origin::Predicted),
                None => (class.default_schedule(target.arch), Origin::Default(target.arch)),
            };
            Incumbent { schedule, origin, provenance: None }
        }
    }
}

/// The schedule of the operation's own portfolio that a launch at the target's shape would choose.
fn predicted(target: &Target, gpu: &GpuFacts) -> Option<Schedule> {
    let class = target.problem.class();
    let timed = class.portfolio(target.arch).into_iter().filter_map(|schedule| {
        let forecast = class.forecast(&schedule, None, gpu.machine())?;
        Some((forecast.predicted_ms(&target.shape), schedule))
    });
    timed.min_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, schedule)| schedule)
}

#[cfg(test)]
mod tests {
    use autokernel_codegen::arch::Arch;
    use autokernel_core::{Extents, dim};
    use serde_json::json;

    use super::*;

    const H200: &str = r#"{"name": "NVIDIA H200", "sm_count": 132, "shared_bytes_per_block": 232448,
        "shared_bytes_per_sm": 233472, "registers_per_sm": 65536, "l2_bytes": 52428800, "memory_gb_per_s": 4800.0,
        "matrix_tflops": 989.4}"#;

    fn softmax(columns: u32) -> Target {
        let operand = |name, role| json!({"name": name, "kind": "matrix", "dtype": "bf16", "role": role});
        let exp = json!({"call": ["exp", [{"variable": "x"}]]});
        let quotient = json!({"binary": ["divide", {"variable": "e"}, {"variable": "sum"}]});
        let problem = json!({
            "operation": "rows",
            "operands": [operand("x", "input"), operand("out", "output")],
            "steps": [
                {"let": {"name": "e", "value": exp}},
                {"reduce": {"name": "sum", "reduction": "sum", "of": {"variable": "e"}}},
                {"store": {"output": "out", "value": quotient}},
            ],
        });
        let shape = Extents::new([(dim("rows"), 4096), (dim("columns"), columns)]);
        Target { problem: serde_json::from_value(problem).unwrap(), arch: Arch::SM_90A, shape }
    }

    #[test]
    fn where_nothing_was_tuned_a_winner_must_beat_what_a_launch_would_take() {
        let gpu = serde_json::from_str(H200).unwrap();
        let at = |columns| incumbent(&Config::default(), &softmax(columns), &gpu);
        assert_eq!(at(4096).origin, Origin::Predicted);
        let [narrow, wide] = [256, 65_536].map(|columns| at(columns).schedule);
        assert_ne!(narrow, wide);
        assert_ne!(wide, softmax(1).problem.class().default_schedule(Arch::SM_90A));
    }
}
