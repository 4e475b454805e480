//! The evaluator that answers from a recording.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use autokernel_codegen::schedule::Schedule;
use autokernel_codegen::shape::Shape;

use super::recording::{RecordedShape, Recording};
use crate::evaluate::{
    About, Contender, Done, Evaluated, Evaluator, EvaluatorError, Final, FinalTime, Hindsight, Measurable, Rounds,
};
use crate::intents::Intents;
use crate::outcome::{Failure, Measurement, Outcome};
use crate::target::Target;

/// Answers from a recording, with the same numbers every time.
#[derive(Clone, Debug)]
pub struct Replay {
    recording: Arc<Recording>,
    name: String,
    about: About,
    outcomes: HashMap<Shape, HashMap<Schedule, Outcome>>,
    delay: Duration,
}

impl Replay {
    /// Replays `recording`, which people know as `name`.
    pub fn new(recording: Arc<Recording>, name: impl Into<String>) -> Self {
        let of_shape = |shape: &RecordedShape| (shape.shape, shape.rows.iter().cloned().collect());
        let outcomes = recording.shapes.iter().map(of_shape).collect();
        let about = About {
            environment: recording.environment.clone(),
            gpu: recording.gpu.clone(),
            recorded_on: Some(recording.method.date.clone()),
            measurable: Measurable::Space,
        };
        Replay { recording, name: name.into(), about, outcomes, delay: Duration::ZERO }
    }

    /// Lets each trial take that long, as on a GPU.
    pub fn with_delay(self, delay: Duration) -> Self {
        Replay { delay, ..self }
    }

    fn table(&self, target: &Target) -> Option<&RecordedShape> {
        let recording = &self.recording;
        let same = recording.problem == target.problem && recording.arch == target.arch;
        recording.shapes.iter().find(|shape| same && shape.shape == target.shape)
    }

    fn outcome(&self, target: &Target, schedule: &Schedule) -> Outcome {
        let recorded = self.table(target).and_then(|table| self.outcomes.get(&table.shape)?.get(schedule));
        recorded.cloned().unwrap_or(Outcome::Failed(Failure::NotRecorded))
    }
}

impl Evaluator for Replay {
    fn about(&self) -> &About {
        &self.about
    }

    fn origin(&self) -> String {
        format!("replayed from {}, recorded on {}", self.name, self.recording.method.date)
    }

    fn space(&self, target: &Target) -> Vec<Schedule> {
        self.table(target).map_or(Vec::new(), |table| table.rows.iter().map(|(schedule, _)| *schedule).collect())
    }

    fn evaluate(
        &mut self,
        target: &Target,
        batch: &[Schedule],
        _: Option<&Intents>,
        done: Done<'_>,
    ) -> Result<(), EvaluatorError> {
        for schedule in batch {
            std::thread::sleep(self.delay);
            let outcome = self.outcome(target, schedule);
            let evaluated = Evaluated { schedule: *schedule, outcome, seconds: self.delay.as_secs_f64() };
            if done(evaluated).is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The recorded times: the rounds are long over, so none can be paired.
    fn compare(&mut self, target: &Target, contenders: &[Contender], _: Rounds) -> Result<Vec<Final>, EvaluatorError> {
        let recorded = |contender: &Contender| {
            let outcome = match contender {
                Contender::Schedule(schedule) => self.outcome(target, schedule),
                Contender::Cublas => match self.table(target).and_then(|table| table.cublas) {
                    Some(measurement) => Outcome::Measured(measurement),
                    None => Outcome::Failed(Failure::NotRecorded),
                },
            };
            match outcome {
                Outcome::Measured(measurement) => Ok(FinalTime { measurement, round_ms: Vec::new() }),
                Outcome::Failed(failure) => Err(failure),
            }
        };
        Ok(contenders.iter().map(recorded).collect())
    }

    fn reference(&mut self, target: &Target) -> Result<Option<Measurement>, EvaluatorError> {
        Ok(self.table(target).and_then(|table| table.cublas))
    }

    fn hindsight(&self, target: &Target) -> Option<&dyn Hindsight> {
        self.table(target).map(|table| table as &dyn Hindsight)
    }
}

impl Hindsight for RecordedShape {
    fn optimum(&self) -> Option<(Schedule, Measurement)> {
        RecordedShape::optimum(self)
    }

    fn best_at_random_ms(&self, draws: usize) -> Option<f64> {
        self.median_of_best_at_random(draws)
    }
}
