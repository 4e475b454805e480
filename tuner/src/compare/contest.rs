//! One search on one recorded shape, evaluation by evaluation.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use autokernel_codegen::config::Config;
use autokernel_codegen::schedule::Schedule;

use super::costs::Costs;
use crate::constraints::Constraints;
use crate::evaluate::Measurable;
use crate::outcome::Outcome;
use crate::proposer::Proposer;
use crate::replay::Recording;
use crate::session::Budget;
use crate::strategy::{Brief, Neighbours, Strategy, known};
use crate::target::Target;
use crate::trial::Trial;

/// A recorded shape to search.
#[derive(Clone, Debug)]
pub struct Arena {
    /// The file name of its recording.
    pub space: String,
    /// What was recorded.
    pub target: Target,
    /// The fastest recorded time, in milliseconds.
    pub optimum_ms: f64,
    recording: Arc<Recording>,
    schedules: Arc<[Schedule]>,
    outcomes: HashMap<Schedule, Outcome>,
    config: Config,
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Course {
    /// The time of each schedule tried, in milliseconds; `None` for a failure.
    pub times_ms: Vec<Option<f64>>,
    /// Simulated seconds from the start until each was known.
    pub seconds: Vec<f64>,
    /// What the strategy had to say.
    pub notices: Vec<String>,
}

impl Arena {
    /// The recorded shapes of `recording`, known as `space`. Searches are seeded by the entries of `config` for other
    /// shapes, as in a replay. A shape of which nothing has a time is left out.
    pub fn all(space: &str, recording: &Arc<Recording>, config: &Config) -> Vec<Arena> {
        let arena = |recorded: &crate::replay::RecordedShape| {
            Some(Arena {
                space: space.to_owned(),
                target: Target { problem: recording.problem.clone(), arch: recording.arch, shape: recorded.shape },
                optimum_ms: recorded.optimum()?.1.median_ms,
                recording: Arc::clone(recording),
                schedules: recorded.rows.iter().map(|(schedule, _)| *schedule).collect(),
                outcomes: recorded.rows.iter().cloned().collect(),
                config: config.clone(),
            })
        };
        recording.shapes.iter().filter_map(arena).collect()
    }

    /// How many schedules were recorded.
    pub fn len(&self) -> usize {
        self.schedules.len()
    }

    /// Whether none was.
    pub fn is_empty(&self) -> bool {
        self.schedules.is_empty()
    }

    /// What a strategy is told before it begins.
    pub fn brief(&self, budget: Budget, seed: u64) -> Brief {
        Brief {
            target: self.target.clone(),
            gpu: self.recording.gpu.clone(),
            group_sizes: self.recording.environment.group_sizes,
            space: Arc::clone(&self.schedules),
            constraints: Constraints::default(),
            measurable: Measurable::Space,
            known: known(&self.config, &self.target, &self.schedules, Neighbours::OtherShapes),
            history: Vec::new(),
            evaluations: budget.evaluations,
            generations: budget.generations,
            seed,
        }
    }

    /// Lets `strategy` search, in generations as a session has them.
    pub fn play(&self, strategy: &mut dyn Strategy, budget: Budget, costs: &Costs) -> Course {
        let mut course = Course::default();
        let (mut seconds, mut images) = (0.0, HashSet::new());
        for generation in 0..budget.generations {
            let left = budget.evaluations - course.times_ms.len();
            let begin = Instant::now();
            let mut proposals = strategy.ask(left.div_ceil(budget.generations - generation));
            seconds += begin.elapsed().as_secs_f64();
            course.notices.extend(strategy.notices());
            proposals.truncate(left);
            if proposals.is_empty() {
                break;
            }
            let new = proposals.iter().filter(|proposal| images.insert(proposal.schedule.image())).count();
            seconds += costs.compile_s(new);
            let mut trials = Vec::with_capacity(proposals.len());
            for proposal in proposals {
                let number = (course.times_ms.len() + 1) as u32;
                let trial = self.trial(proposal.schedule, proposal.proposed_by, generation as u32 + 1, number);
                seconds += costs.measure_s(&trial.outcome);
                course.times_ms.push(trial.median_ms());
                course.seconds.push(seconds);
                trials.push(trial);
            }
            strategy.tell(&trials);
        }
        course
    }

    fn trial(&self, schedule: Schedule, proposed_by: Proposer, generation: u32, number: u32) -> Trial {
        let outcome = self.outcomes.get(&schedule).cloned();
        Trial {
            at: String::new(),
            generation,
            number,
            seed: None,
            proposed_by,
            why: None,
            target: self.target.clone().into(),
            schedule,
            environment: self.recording.environment.clone().into(),
            outcome: outcome.unwrap_or(Outcome::Failed(crate::outcome::Failure::NotRecorded)),
            seconds: 0.0,
        }
    }
}

impl Course {
    /// The best time among the first `evaluations`, over the optimum as a share of 1; 0 if there is none.
    pub fn share(&self, evaluations: usize, optimum_ms: f64) -> f64 {
        let best = self.times_ms.iter().take(evaluations).flatten().copied().fold(f64::INFINITY, f64::min);
        optimum_ms / best
    }

    /// The first evaluation that reaches `share` of the optimum.
    pub fn evaluations_to(&self, share: f64, optimum_ms: f64) -> Option<usize> {
        self.times_ms.iter().position(|time| time.is_some_and(|ms| optimum_ms / ms >= share)).map(|index| index + 1)
    }
}
