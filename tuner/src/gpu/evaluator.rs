//! The evaluator of a machine with a GPU and nvcc.

use std::cell::RefCell;
use std::rc::Rc;

use autokernel_codegen::schedule::Schedule;

use super::bench::Bench;
use super::candidates::candidates;
use super::sampling::Effort;
use crate::Target;
use crate::evaluate::{About, Contender, Done, Evaluator, EvaluatorError, Final, Measurable, Rounds};
use crate::intents::Intents;
use crate::outcome::Measurement;

/// Measures on a GPU of this machine. Evaluators of one bench share its worker.
pub struct GpuEvaluator {
    bench: Rc<RefCell<Bench>>,
    effort: Effort,
    about: About,
}

impl GpuEvaluator {
    /// An evaluator on `bench` of `target`.
    pub fn new(bench: Rc<RefCell<Bench>>, target: &Target, effort: Effort) -> Self {
        let about = {
            let bench = bench.borrow();
            About {
                environment: bench.environment(target),
                gpu: bench.gpu().facts.clone(),
                recorded_on: None,
                measurable: Measurable::Legal,
            }
        };
        GpuEvaluator { bench, effort, about }
    }
}

impl Evaluator for GpuEvaluator {
    fn about(&self) -> &About {
        &self.about
    }

    fn origin(&self) -> String {
        let ordinals = self.bench.borrow().ordinals();
        match ordinals.len() {
            0 | 1 => format!("measured on this machine's {}", self.about.gpu.name),
            count => format!("measured on {count} of this machine's {}", self.about.gpu.name),
        }
    }

    fn space(&self, target: &Target) -> Vec<Schedule> {
        candidates(target)
    }

    fn evaluate(
        &mut self,
        target: &Target,
        batch: &[Schedule],
        intents: Option<&Intents>,
        done: Done<'_>,
    ) -> Result<(), EvaluatorError> {
        self.bench.borrow_mut().evaluate(target, batch, self.effort, intents, done)
    }

    fn compare(
        &mut self,
        target: &Target,
        contenders: &[Contender],
        rounds: Rounds,
    ) -> Result<Vec<Final>, EvaluatorError> {
        self.bench.borrow_mut().compare(target, contenders, rounds)
    }

    fn reference(&mut self, target: &Target) -> Result<Option<Measurement>, EvaluatorError> {
        Ok(self.bench.borrow_mut().baseline(target, self.effort)?.measurement().copied())
    }
}
