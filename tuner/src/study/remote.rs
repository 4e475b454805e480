//! The evaluator that lets the workers of a study measure.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use autokernel_codegen::schedule::Schedule;

use super::error::StudyError;
use super::queue::Queue;
use super::request::{Key, Meeting, Request, Task, Timed, Tried};
use crate::evaluate::{About, Contender, Done, Evaluated, Evaluator, EvaluatorError, Final, Hindsight, Rounds};
use crate::held_final::Leg;
use crate::intents::Intents;
use crate::outcome::Measurement;
use crate::stop::Stop;
use crate::target::Target;
use crate::trial;

/// Between two looks for results: at first, and at most.
const LOOKS: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(250));
/// How long nothing may happen before a person is told.
const SILENCE: Duration = Duration::from_secs(20);

/// Waits for what the workers of a study measure. Of targets, spaces and GPUs it knows what `inner` knows.
pub struct Remote {
    queue: Rc<RefCell<Queue>>,
    inner: Box<dyn Evaluator>,
    stop: Stop,
}

impl Remote {
    /// The workers of the study of `queue` in place of `inner`, until `stop` is requested.
    pub fn new(queue: Rc<RefCell<Queue>>, inner: Box<dyn Evaluator>, stop: Stop) -> Self {
        Remote { queue, inner, stop }
    }

    fn task(&self, target: &Target) -> Task {
        Task { target: target.clone().into(), environment: self.inner.about().environment.clone().into() }
    }

    /// Waits for the results of `keys`; those of each look are handed to `told`, which says whether to go on.
    fn wait(
        &mut self,
        mut keys: Vec<Key>,
        mut told: impl FnMut(Key, String) -> Result<bool, String>,
    ) -> Result<(), EvaluatorError> {
        let (mut pause, mut last) = (LOOKS.0, Instant::now());
        while !keys.is_empty() && !self.stop.is_requested() {
            let found = self.queue.borrow_mut().results(&keys).map_err(unusable)?;
            pause = if found.is_empty() { (2 * pause).min(LOOKS.1) } else { LOOKS.0 };
            for (key, text) in found {
                last = Instant::now();
                keys.retain(|open| *open != key);
                let goes_on = told(key, text)
                    .map_err(|reason| unusable(self.queue.borrow().damaged("the result of work".to_owned(), reason)))?;
                if !goes_on {
                    return Ok(());
                }
            }
            if last.elapsed() > SILENCE {
                self.queue.borrow_mut().blame().map_err(unusable)?;
                errln!(
                    "  nothing was measured for {} s, and {} are awaited; `tuner work --study URL{}` on a machine with {} serves them",
                    SILENCE.as_secs(),
                    keys.len(),
                    self.inner.about().environment.group_sizes.option(),
                    self.inner.about().environment.gpu
                );
                last = Instant::now();
            }
            if !keys.is_empty() {
                std::thread::sleep(pause);
            }
        }
        Ok(())
    }

    /// The result of one request; none if the run is to end before it is there.
    fn ask(&mut self, target: &Target, request: Request) -> Result<Option<String>, EvaluatorError> {
        let task = self.task(target);
        let key = request.key(&task);
        self.queue.borrow_mut().ask(&task, &[request]).map_err(unusable)?;
        let mut answer = None;
        self.wait(vec![key], |_, text| {
            answer = Some(text);
            Ok(false)
        })?;
        Ok(answer)
    }
}

impl Evaluator for Remote {
    fn about(&self) -> &About {
        self.inner.about()
    }

    fn origin(&self) -> String {
        format!("measured by workers of a study on {}", self.about().gpu.name)
    }

    fn space(&self, target: &Target) -> Vec<Schedule> {
        self.inner.space(target)
    }

    /// Waits for `batch`, which the study was asked for when it was planned.
    fn evaluate(
        &mut self,
        target: &Target,
        batch: &[Schedule],
        _: Option<&Intents>,
        done: Done<'_>,
    ) -> Result<(), EvaluatorError> {
        let environment = &self.inner.about().environment;
        let key = |schedule: &Schedule| trial::key(target, schedule, environment).bytes();
        let schedules: HashMap<Key, Schedule> = batch.iter().map(|schedule| (key(schedule), *schedule)).collect();
        self.wait(schedules.keys().copied().collect(), |key, text| {
            let Tried { outcome, seconds } = Tried::read(&text)?;
            Ok(done(Evaluated { schedule: schedules[&key], outcome, seconds }).is_continue())
        })
    }

    fn compare(
        &mut self,
        target: &Target,
        contenders: &[Contender],
        rounds: Rounds,
    ) -> Result<Vec<Final>, EvaluatorError> {
        if self.about().is_replay() {
            return self.inner.compare(target, contenders, rounds);
        }
        let meeting = Meeting { contenders: contenders.to_vec(), rounds };
        let text = self.ask(target, Request::Compare(meeting))?.ok_or_else(interrupted)?;
        let damaged = |reason: String| unusable(self.queue.borrow().damaged("a comparison".to_owned(), reason));
        let leg: Leg = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        leg.check().map_err(|implausible| damaged(implausible.to_string()))?;
        Ok(contenders.iter().map(|&contender| leg.result_of(contender)).collect())
    }

    fn reference(&mut self, target: &Target) -> Result<Option<Measurement>, EvaluatorError> {
        if self.about().is_replay() {
            return self.inner.reference(target);
        }
        let text = self.ask(target, Request::Reference {})?.ok_or_else(interrupted)?;
        let damaged = |reason: String| unusable(self.queue.borrow().damaged("a reference".to_owned(), reason));
        let timed: Timed = serde_json::from_str(&text).map_err(|error| damaged(error.to_string()))?;
        let check = timed.cublas.as_ref().map_or(Ok(()), Measurement::check);
        check.map_err(|implausible| damaged(implausible.to_string()))?;
        Ok(timed.cublas)
    }

    fn hindsight(&self, target: &Target) -> Option<&dyn Hindsight> {
        self.inner.hindsight(target)
    }
}

fn unusable(error: StudyError) -> EvaluatorError {
    EvaluatorError {
        reason: error.to_string(),
        remedy: "what was recorded is kept, and the same command goes on".to_owned(),
    }
}

fn interrupted() -> EvaluatorError {
    EvaluatorError {
        reason: "interrupted before a worker answered".to_owned(),
        remedy: "the same command goes on from here".to_owned(),
    }
}
