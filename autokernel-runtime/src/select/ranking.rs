//! Ranking the images of a portfolio by the times that the model predicts.

use autokernel_core::{ComputeCapability, LaunchPlan};
use autokernel_ops::contender::{self, Contender, Machine};

use super::choice::{Choice, Reason};
use super::knobs::Knobs;
use super::target::Target;
use crate::{Datasheet, Dtype, Extents, KernelDescriptor, KernelVariant};

/// A GPU that no datasheet describes is taken for an H100: what matters for a ranking are ratios.
const UNKNOWN: Machine =
    Machine { capability: ComputeCapability::new(9, 0), sm_count: 132, matrix_tflops: 989.4, memory_gb_per_s: 3350.0 };

/// The images of a portfolio.
#[derive(Debug, Default)]
pub(super) struct Ranking {
    contenders: Vec<Ranked>,
}

#[derive(Debug)]
struct Ranked {
    variant: usize,
    contender: Contender,
    plan: LaunchPlan,
}

impl Ranking {
    /// The images among `variants` that a model predicts on `target`.
    pub fn new<'v>(
        kernel: &KernelDescriptor,
        target: Target,
        variants: impl Iterator<Item = (usize, &'v KernelVariant)>,
    ) -> Self {
        let machine = machine(target, contender::multiplies(&kernel.problem));
        let model = kernel.model.as_deref();
        let ranked = |(variant, of): (usize, &KernelVariant)| {
            let contender = Contender::read(&kernel.problem, &of.schedule, model, machine, of.portfolio?)?;
            Some(Ranked { variant, contender, plan: of.plan.clone() })
        };
        Ranking { contenders: variants.filter_map(ranked).collect() }
    }

    /// The variants.
    pub fn indices(&self) -> impl Iterator<Item = usize> + '_ {
        self.contenders.iter().map(|ranked| ranked.variant)
    }

    /// The image whose time is predicted to be shortest, with its launch-time knobs; none where none is.
    pub fn choose(&self, extents: &Extents) -> Option<Choice> {
        let (mut first, mut second) = (None::<(f64, &Ranked)>, None::<(f64, &Ranked)>);
        for ranked in &self.contenders {
            let ms = ranked.contender.predicted_ms(extents);
            if first.is_none_or(|(least, _)| ms < least) {
                second = first.replace((ms, ranked));
            } else if second.is_none_or(|(least, _)| ms < least) {
                second = Some((ms, ranked));
            }
        }
        let (ms, ranked) = first?;
        let knobs = Knobs::new(&ranked.plan, ranked.contender.launch_knobs(extents).into_iter()).unwrap_or(Knobs::NONE);
        let second = second.map(|(ms, ranked)| (ranked.variant, ms));
        Some(Choice { variant: ranked.variant, knobs, reason: Reason::Predicted { ms, second } })
    }
}

/// The GPU of `target`, as the model sees it: by its matrix units' rate for `input`, or for 16 bits where that is not known.
fn machine(target: Target, input: Option<Dtype>) -> Machine {
    let of_capability = || Datasheet::ALL.iter().find(|sheet| sheet.capability == target.capability);
    let sheet = target.sheet.and_then(Datasheet::find).or_else(of_capability);
    let machine = |sheet: &Datasheet| {
        let matrix_tflops = input.and_then(|input| sheet.peak.of(input)).unwrap_or(sheet.peak.f16_tflops);
        let &Datasheet { capability, sm_count, bandwidth_gb_s: memory_gb_per_s, .. } = sheet;
        Machine { capability, sm_count, matrix_tflops, memory_gb_per_s }
    };
    sheet.map_or(UNKNOWN, machine)
}

#[cfg(test)]
mod tests {
    use super::*;

    const H200: Target =
        Target { capability: ComputeCapability::new(9, 0), shared_bytes: 232_448, sheet: Some("h200") };
    const A100: Target =
        Target { capability: ComputeCapability::new(8, 0), shared_bytes: 166_912, sheet: Some("a100") };

    #[test]
    fn the_matrix_units_are_as_fast_as_the_gpu_multiplies_what_the_problem_multiplies() {
        let rate = |input: &str| {
            let problem = format!(
                r#"{{"operation":"matmul","input":"{input}","output":"bf16","layout":"nt","epilogue":"identity"}}"#
            );
            machine(H200, contender::multiplies(&problem)).matrix_tflops
        };
        assert_eq!(["f32", "bf16", "e4m3"].map(rate), [494.7, 989.4, 1978.8]);
    }

    #[test]
    fn a_gpu_keeps_its_multiprocessors_and_its_memory_where_no_rate_is_known() {
        for input in [None, Some(Dtype::E4m3), Some(Dtype::I32)] {
            let Machine { capability, sm_count, matrix_tflops, memory_gb_per_s } = machine(A100, input);
            assert_eq!((capability, sm_count), (A100.capability, 108));
            assert_eq!((matrix_tflops, memory_gb_per_s), (312.0, 2039.0), "{input:?}: the rate of 16 bits");
        }
    }
}
