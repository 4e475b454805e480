//! The evaluator of a machine with a GPU and nvcc.

use std::cell::RefCell;
use std::rc::Rc;

use autokernel_codegen::schedule::Schedule;
use autokernel_codegen::schedule::space::Space;

use super::bench::Bench;
use super::sampling::Effort;
use crate::Target;
use crate::environment::{Environment, timestamp};
use crate::evaluate::{Contender, Done, Evaluator, EvaluatorError, Final};
use crate::llm::GpuFacts;
use crate::outcome::Measurement;

/// Measures on a GPU of this machine. Evaluators of one bench share its worker.
pub struct GpuEvaluator {
    bench: Rc<RefCell<Bench>>,
    effort: Effort,
    environment: Environment,
    gpu: GpuFacts,
}

impl GpuEvaluator {
    /// An evaluator on `bench`.
    pub fn new(bench: Rc<RefCell<Bench>>, effort: Effort) -> Self {
        let (environment, gpu) = {
            let bench = bench.borrow();
            (bench.environment().clone(), bench.gpu().facts.clone())
        };
        GpuEvaluator { bench, effort, environment, gpu }
    }
}

impl Evaluator for GpuEvaluator {
    fn environment(&self) -> &Environment {
        &self.environment
    }

    fn gpu(&self) -> &GpuFacts {
        &self.gpu
    }

    fn origin(&self) -> String {
        format!("measured on this machine's {}", self.gpu.name)
    }

    fn date(&self) -> String {
        today()
    }

    /// The schedules of the family that serves the arch best.
    fn space(&self, target: &Target) -> Vec<Schedule> {
        let class = target.problem.class();
        let best = Space::families(target.arch).iter().take(1);
        best.flat_map(|&family| Space::new(family, &class, target.arch).schedules().to_vec()).collect()
    }

    fn evaluate(&mut self, target: &Target, batch: &[Schedule], done: Done<'_>) -> Result<(), EvaluatorError> {
        self.bench.borrow_mut().evaluate(target, batch, self.effort, done)
    }

    fn reference(&mut self, target: &Target) -> Result<Option<Measurement>, EvaluatorError> {
        Ok(self.bench.borrow_mut().baseline(target, self.effort)?.measurement().copied())
    }

    fn compare(&mut self, target: &Target, contenders: &[Contender]) -> Result<Vec<Final>, EvaluatorError> {
        self.bench.borrow_mut().compare(target, contenders)
    }
}

/// The day, `YYYY-MM-DD`.
pub fn today() -> String {
    timestamp().chars().take("2026-01-31".len()).collect()
}
