//! The evaluator of a machine with a GPU and nvcc.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use autokernel_codegen::schedule::Schedule;
use autokernel_codegen::schedule::space::Space;

use super::bench::Bench;
use super::sampling::Effort;
use crate::Target;
use crate::environment::{Environment, today};
use crate::evaluate::{Contender, Done, Evaluator, EvaluatorError, Final, Rounds};
use crate::gpu_facts::GpuFacts;
use crate::intents::Intents;
use crate::outcome::Measurement;

/// Measures on a GPU of this machine. Evaluators of one bench share its worker.
pub struct GpuEvaluator {
    bench: Rc<RefCell<Bench>>,
    effort: Effort,
    environment: Environment,
    gpu: GpuFacts,
    intents: Option<Arc<Intents>>,
}

/// Rounds of a comparison that nobody said more of.
const ROUNDS: Rounds = Rounds { count: 15, round_ms: 10.0, warm_up_ms: 300.0 };

impl GpuEvaluator {
    /// An evaluator on `bench`.
    pub fn new(bench: Rc<RefCell<Bench>>, effort: Effort) -> Self {
        let (environment, gpu) = {
            let bench = bench.borrow();
            (bench.environment().clone(), bench.gpu().facts.clone())
        };
        GpuEvaluator { bench, effort, environment, gpu, intents: None }
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
        let ordinals = self.bench.borrow().ordinals();
        match ordinals.len() {
            0 | 1 => format!("measured on this machine's {}", self.gpu.name),
            count => format!("measured on {count} of this machine's {}", self.gpu.name),
        }
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
        self.bench.borrow_mut().evaluate(target, batch, self.effort, self.intents.as_deref(), done)
    }

    fn reference(&mut self, target: &Target) -> Result<Option<Measurement>, EvaluatorError> {
        Ok(self.bench.borrow_mut().baseline(target, self.effort)?.measurement().copied())
    }

    fn compare(&mut self, target: &Target, contenders: &[Contender]) -> Result<Vec<Final>, EvaluatorError> {
        self.compare_in(target, contenders, ROUNDS)
    }

    fn compare_in(
        &mut self,
        target: &Target,
        contenders: &[Contender],
        rounds: Rounds,
    ) -> Result<Vec<Final>, EvaluatorError> {
        self.bench.borrow_mut().compare(target, contenders, rounds)
    }

    fn announce_to(&mut self, intents: &Arc<Intents>) {
        self.intents = Some(Arc::clone(intents));
    }
}
