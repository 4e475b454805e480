//! The evaluator of a machine with a GPU and nvcc.

use autokernel_codegen::schedule::Schedule;
use autokernel_codegen::schedule::space::Space;

use super::bench::Bench;
use super::sampling::Effort;
use crate::Target;
use crate::environment::Environment;
use crate::evaluate::{Contender, Done, Evaluator, EvaluatorError, Final};
use crate::llm::GpuFacts;

/// Measures on a GPU of this machine.
pub struct GpuEvaluator {
    bench: Bench,
    effort: Effort,
}

impl GpuEvaluator {
    /// An evaluator on `bench`.
    pub fn new(bench: Bench, effort: Effort) -> Self {
        GpuEvaluator { bench, effort }
    }
}

impl Evaluator for GpuEvaluator {
    fn environment(&self) -> &Environment {
        self.bench.environment()
    }

    fn gpu(&self) -> &GpuFacts {
        &self.bench.gpu().facts
    }

    fn origin(&self) -> String {
        "measured here".to_owned()
    }

    /// The schedules of the family that serves the arch best.
    fn space(&self, target: &Target) -> Vec<Schedule> {
        let class = target.problem.class();
        let best = Space::families(target.arch).iter().take(1);
        best.flat_map(|&family| Space::new(family, &class, target.arch).schedules().to_vec()).collect()
    }

    fn evaluate(&mut self, target: &Target, batch: &[Schedule], done: Done<'_>) -> Result<(), EvaluatorError> {
        self.bench.evaluate(target, batch, self.effort, done)
    }

    fn compare(&mut self, target: &Target, contenders: &[Contender]) -> Result<Vec<Final>, EvaluatorError> {
        self.bench.compare(target, contenders)
    }
}
