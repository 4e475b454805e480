//! Holding a final: the fastest schedules of a search meet what is in use and cuBLAS.

use autokernel_codegen::config::Config;
use autokernel_codegen::schedule::Schedule;

use super::held::{HeldFinal, Leg};
use super::incumbent::{Incumbent, incumbent};
use super::{Outcome, verdict};
use crate::environment::timestamp;
use crate::evaluate::{Contender, Evaluator, EvaluatorError, Rounds};
use crate::target::Target;
use crate::trial::Trial;

/// How a final is held.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FinalPlan {
    /// Schedules of the search that meet: more than one, because the fastest of many is partly luck. Twice as many for
    /// long kernels ([`FinalPlan::LONG_MS`]).
    pub finalists: usize,
    /// Rounds of the first leg, in which all finalists meet.
    pub wide: Rounds,
    /// Rounds of the last leg, in which the fastest of the first meet what is in use, the default and cuBLAS.
    pub last: Rounds,
}

impl FinalPlan {
    /// Finalists unless somebody says otherwise.
    pub const FINALISTS: usize = 8;
    /// From this time on, in milliseconds after a rest, a kernel runs at the power limit for most of a sustained load, where
    /// the order of schedules is another: at 4096³ and 8192³ it moves by a few percent.
    pub const LONG_MS: f64 = 0.1;
    /// Schedules that stay for the last leg.
    pub const LAST: usize = 4;

    /// The plan with that many finalists.
    pub fn with_finalists(finalists: usize) -> Self {
        FinalPlan { finalists: finalists.max(1), ..FinalPlan::default() }
    }

    /// The finalists among `trials`, fastest first.
    pub fn finalists<'t>(&self, trials: &'t [Trial]) -> Vec<&'t Trial> {
        let mut timed: Vec<(f64, &Trial)> =
            trials.iter().filter_map(|trial| Some((trial.median_ms()?, trial))).collect();
        timed.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let long = timed.first().is_some_and(|(ms, _)| *ms >= Self::LONG_MS);
        timed.truncate(if long { 2 * self.finalists } else { self.finalists });
        timed.into_iter().map(|(_, trial)| trial).collect()
    }
}

impl Default for FinalPlan {
    fn default() -> Self {
        let rounds = |count, warm_up_ms| Rounds { count, round_ms: 10.0, warm_up_ms };
        FinalPlan { finalists: Self::FINALISTS, wide: rounds(7, 500.0), last: rounds(25, 200.0) }
    }
}

/// A final about to be held.
pub struct Final<'f> {
    plan: FinalPlan,
    target: &'f Target,
    finalists: Vec<&'f Trial>,
    incumbent: Incumbent,
    default: Schedule,
}

impl<'f> Final<'f> {
    /// The final of `trials`, all of `target`, against what `config` has in use.
    pub fn new(plan: FinalPlan, target: &'f Target, trials: &'f [Trial], config: &Config) -> Self {
        let default = Schedule::default_for(&target.problem.class(), target.arch);
        Final { plan, target, finalists: plan.finalists(trials), incumbent: incumbent(config, target), default }
    }

    /// The schedules that meet, fastest first.
    pub fn schedules(&self) -> Vec<Schedule> {
        self.finalists.iter().map(|trial| trial.schedule).collect()
    }

    /// What they meet.
    pub fn incumbent(&self) -> &Incumbent {
        &self.incumbent
    }

    /// Holds it: where there are more finalists than stay, in two legs.
    ///
    /// # Errors
    /// The evaluator cannot go on.
    pub fn hold(&self, evaluator: &mut dyn Evaluator) -> Result<(HeldFinal, Outcome), EvaluatorError> {
        let mut legs = Vec::new();
        let mut staying = self.schedules();
        // Recorded times are what they are, however often they are looked up.
        if staying.len() > FinalPlan::LAST && !evaluator.is_replay() {
            let contenders: Vec<Contender> = staying.iter().copied().map(Contender::Schedule).collect();
            let results = evaluator.compare_in(self.target, &contenders, self.plan.wide)?;
            let leg = Leg::new(Some(self.plan.wide), &contenders, results);
            staying = leg.ranking().into_iter().take(FinalPlan::LAST).map(|(schedule, _)| schedule).collect();
            legs.push(leg);
        }
        let contenders = self.contenders(&staying);
        let results = evaluator.compare_in(self.target, &contenders, self.plan.last)?;
        let rounds = (!evaluator.is_replay()).then_some(self.plan.last);
        legs.push(Leg::new(rounds, &contenders, results));

        let mut held = HeldFinal {
            at: timestamp(),
            target: self.target.clone(),
            environment: evaluator.environment().clone(),
            finalists: self.schedules(),
            incumbent: self.incumbent.schedule,
            legs,
            promoted: false,
            reason: String::new(),
        };
        let outcome = self.decide(&held);
        (held.promoted, held.reason) = (outcome.verdict.promoted, outcome.verdict.reason.clone());
        Ok((held, outcome))
    }

    /// What `held` decides, whether it was held now or earlier.
    pub fn decide(&self, held: &HeldFinal) -> Outcome {
        let nobody = Leg { rounds: None, entrants: Vec::new() };
        let leg = held.last_leg().unwrap_or(&nobody);
        let is_finalist = |schedule: &Schedule| self.finalists.iter().find(|trial| trial.schedule == *schedule);
        let first = leg.ranking().into_iter().find_map(|(schedule, _)| is_finalist(&schedule));
        let winner = first.and_then(|trial| {
            let time = leg.result_of(Contender::Schedule(trial.schedule)).ok()?;
            Some(((*trial).clone(), time))
        });
        let incumbent_time = leg.result_of(Contender::Schedule(self.incumbent.schedule));
        let verdict = verdict::verdict(winner.as_ref(), &self.incumbent, &incumbent_time);
        Outcome {
            incumbent: self.incumbent.clone(),
            incumbent_time,
            default_time: leg.result_of(Contender::Schedule(self.default)),
            cublas_time: leg.result_of(Contender::Cublas),
            winner,
            verdict,
        }
    }

    fn contenders(&self, staying: &[Schedule]) -> Vec<Contender> {
        let mut contenders: Vec<Contender> = staying.iter().copied().map(Contender::Schedule).collect();
        let others =
            [Contender::Schedule(self.incumbent.schedule), Contender::Schedule(self.default), Contender::Cublas];
        for other in others {
            if !contenders.contains(&other) {
                contenders.push(other);
            }
        }
        contenders
    }
}
