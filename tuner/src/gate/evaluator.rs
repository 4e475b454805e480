//! An evaluator behind a gate.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use autokernel_codegen::schedule::Schedule;

use super::emulated::{Gate, Verdict};
use crate::evaluate::{About, Contender, Done, Evaluated, Evaluator, EvaluatorError, Final, Hindsight, Rounds};
use crate::gpu::compile::ImageGroup;
use crate::intents::Intents;
use crate::outcome::{Measurement, Outcome};
use crate::target::Target;

/// Lets through to another evaluator what passes a gate.
pub struct Gated {
    gate: Arc<Gate>,
    inner: Box<dyn Evaluator>,
}

impl Gated {
    /// `inner` behind `gate`.
    pub fn new(gate: Arc<Gate>, inner: Box<dyn Evaluator>) -> Self {
        Gated { gate, inner }
    }

    /// What the gate says of each schedule of `groups`, and the seconds that it took.
    fn verdicts(
        &self,
        target: &Target,
        groups: &[ImageGroup],
    ) -> Result<Vec<(Schedule, Verdict, f64)>, EvaluatorError> {
        let gate = &*self.gate;
        let of_group = |group: &ImageGroup| -> Result<Vec<_>, EvaluatorError> {
            let of = |&schedule: &Schedule| {
                let begun = Instant::now();
                Ok((schedule, gate.check(target, &schedule)?, begun.elapsed().as_secs_f64()))
            };
            group.schedules.iter().map(of).collect()
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = groups.iter().map(|group| scope.spawn(move || of_group(group))).collect();
            let mut verdicts = Vec::new();
            for thread in threads {
                verdicts.extend(thread.join().unwrap_or_else(|_| Err(panicked()))?);
            }
            Ok(verdicts)
        })
    }
}

impl Evaluator for Gated {
    fn about(&self) -> &About {
        self.inner.about()
    }

    fn origin(&self) -> String {
        format!("{}, emulated before", self.inner.origin())
    }

    fn space(&self, target: &Target) -> Vec<Schedule> {
        self.inner.space(target)
    }

    /// As many images are checked at once as the gate has threads, and what passes is measured before the next are: so a
    /// stop is soon seen.
    fn evaluate(
        &mut self,
        target: &Target,
        batch: &[Schedule],
        intents: Option<&Intents>,
        done: Done<'_>,
    ) -> Result<(), EvaluatorError> {
        for groups in ImageGroup::of(batch).chunks(self.gate.threads()) {
            let verdicts = self.verdicts(target, groups)?;
            let mut flow = ControlFlow::Continue(());
            let mut passed = Vec::new();
            for (schedule, verdict, seconds) in &verdicts {
                match verdict {
                    Ok(()) => passed.push(*schedule),
                    Err(failure) => {
                        let outcome = Outcome::Failed(failure.clone());
                        let told = done(Evaluated { schedule: *schedule, outcome, seconds: *seconds });
                        flow = if flow.is_break() { flow } else { told };
                    }
                }
            }
            if flow.is_continue() && !passed.is_empty() {
                let mut with_the_check = |evaluated: Evaluated| {
                    let own = verdicts.iter().find(|(schedule, ..)| *schedule == evaluated.schedule);
                    let seconds = evaluated.seconds + own.map_or(0.0, |(.., seconds)| *seconds);
                    flow = done(Evaluated { seconds, ..evaluated });
                    flow
                };
                self.inner.evaluate(target, &passed, intents, &mut with_the_check)?;
            }
            if flow.is_break() {
                break;
            }
        }
        Ok(())
    }

    fn compare(
        &mut self,
        target: &Target,
        contenders: &[Contender],
        rounds: Rounds,
    ) -> Result<Vec<Final>, EvaluatorError> {
        self.inner.compare(target, contenders, rounds)
    }

    fn reference(&mut self, target: &Target) -> Result<Option<Measurement>, EvaluatorError> {
        self.inner.reference(target)
    }

    fn hindsight(&self, target: &Target) -> Option<&dyn Hindsight> {
        self.inner.hindsight(target)
    }
}

fn panicked() -> EvaluatorError {
    EvaluatorError {
        reason: "a thread of the gate panicked".to_owned(),
        remedy: "please report this; what was measured is kept".to_owned(),
    }
}
