//! Holding a final: the fastest schedules of a search meet what is in use and cuBLAS.

use autokernel_codegen::config::Config;
use autokernel_codegen::schedule::Schedule;

use super::incumbent::{Incumbent, incumbent};
use super::outcome::Outcome;
use super::verdict;
use crate::environment::{Environment, timestamp};
use crate::evaluate::{Contender, Evaluator, EvaluatorError, Rounds};
use crate::gpu_facts::GpuFacts;
use crate::held_final::{HeldFinal, Leg};
use crate::target::Target;
use crate::trial::Trial;

/// How a final is held.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FinalPlan {
    /// Schedules of the search that meet: more than one, because the fastest of many is partly luck. Several times as
    /// many for long kernels that were timed after rests ([`FinalPlan::LONG_MS`]).
    pub finalists: usize,
    /// Rounds of the first leg, in which all finalists meet.
    pub wide: Rounds,
    /// Rounds of the last leg, in which the fastest of the first meet what is in use, the default and cuBLAS.
    pub last: Rounds,
}

impl FinalPlan {
    /// Finalists unless somebody says otherwise.
    pub const FINALISTS: usize = 8;
    /// From this time on, in milliseconds after a rest, a kernel runs at the power limit for most of a sustained load, where the
    /// order of schedules is another: at 4096³ a schedule 2.5 % ahead under load did not qualify among the first 16 after rests.
    pub const LONG_MS: f64 = 0.1;
    /// For long kernels, this many times as many schedules meet in the first leg, if they are near enough.
    pub const LONG_FACTOR: usize = 6;
    /// How near: a schedule that takes this many times as long as the fastest after a rest does not make up for it.
    pub const LONG_NEAR: f64 = 1.15;
    /// Schedules that stay for the last leg.
    pub const LAST: usize = 6;

    /// The plan with that many finalists.
    pub fn with_finalists(finalists: usize) -> Self {
        FinalPlan { finalists: finalists.max(1), ..FinalPlan::default() }
    }

    /// The finalists among `trials`, fastest first.
    pub fn finalists<'t>(&self, trials: &'t [Trial]) -> Vec<&'t Trial> {
        let mut timed: Vec<(f64, &Trial)> = trials.iter().filter_map(|trial| Some((trial.cost()?, trial))).collect();
        timed.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let fastest = timed.first().map_or(0.0, |(ms, _)| *ms);
        // Energy is of a load of its own: whoever takes least of it takes least. So is what was timed under load.
        let is_rested = |environment: &Environment| environment.objective.is_time() && environment.regime.is_rest();
        let is_rested = timed.first().is_none_or(|(_, trial)| is_rested(&trial.environment));
        let count = if fastest < Self::LONG_MS || !is_rested {
            self.finalists
        } else {
            let near = timed.iter().take_while(|(ms, _)| *ms <= Self::LONG_NEAR * fastest).count();
            near.clamp(self.finalists, Self::LONG_FACTOR * self.finalists)
        };
        timed.truncate(count);
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
    /// The final of `trials`, all of `target`, against what `config` has in use on `gpu`.
    pub fn new(plan: FinalPlan, target: &'f Target, trials: &'f [Trial], config: &Config, gpu: &GpuFacts) -> Self {
        let default = target.problem.class().default_schedule(target.arch);
        Final { plan, target, finalists: plan.finalists(trials), incumbent: incumbent(config, target, gpu), default }
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
        if staying.len() > FinalPlan::LAST && !evaluator.about().is_replay() {
            let contenders: Vec<Contender> = staying.iter().copied().map(Contender::Schedule).collect();
            let results = evaluator.compare(self.target, &contenders, self.plan.wide)?;
            let leg = Leg::new(Some(self.plan.wide), &contenders, results);
            staying = leg.ranking().into_iter().take(FinalPlan::LAST).map(|(schedule, _)| schedule).collect();
            legs.push(leg);
        }
        let contenders = self.contenders(&staying);
        let results = evaluator.compare(self.target, &contenders, self.plan.last)?;
        let rounds = (!evaluator.about().is_replay()).then_some(self.plan.last);
        legs.push(Leg::new(rounds, &contenders, results));

        let mut held = HeldFinal {
            at: timestamp(),
            target: self.target.clone(),
            environment: evaluator.about().environment.clone(),
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
        let verdict = verdict::verdict(winner.as_ref(), &self.incumbent, &incumbent_time, &held.environment.gpu);
        Outcome {
            incumbent: self.incumbent.clone(),
            incumbent_time,
            default_time: leg.result_of(Contender::Schedule(self.default)),
            cublas_time: leg.result_of(Contender::Cublas),
            winner,
            finalists: held.finalists.clone(),
            rounds: leg.rounds.map(|rounds| rounds.count),
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

#[cfg(test)]
mod tests {
    use autokernel_codegen::arch::Arch;
    use autokernel_codegen::dtype::Dtype;
    use autokernel_codegen::matmul::extents;
    use autokernel_codegen::problem::{Layout, Problem};

    use super::*;
    use crate::outcome::{Measurement, Outcome};
    use crate::regime::Regime;

    fn trials(times_ms: impl Iterator<Item = f64>) -> Vec<Trial> {
        let problem = Problem::matmul(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap());
        let schedule = problem.class().default_schedule(Arch::SM_90A);
        let text = || "x".to_owned();
        let trial = |(number, ms): (usize, f64)| Trial {
            at: text(),
            generation: 1,
            number: number as u32 + 1,
            seed: None,
            proposed_by: text().into(),
            why: None,
            target: Target { problem: problem.clone(), arch: Arch::SM_90A, shape: extents(1, 1, 1) }.into(),
            schedule: schedule.with("raster_group", number as u16 + 1).unwrap(),
            environment: Environment {
                gpu: text(),
                driver: text(),
                nvcc: text(),
                kernels: text(),
                objective: Default::default(),
                group_sizes: Default::default(),
                regime: Default::default(),
            }
            .into(),
            outcome: Outcome::Measured(Measurement::new(ms, 0.1, 10)),
            seconds: 0.1,
        };
        times_ms.enumerate().map(trial).collect()
    }

    fn qualified(times_ms: impl Iterator<Item = f64>) -> usize {
        FinalPlan::default().finalists(&trials(times_ms)).len()
    }

    #[test]
    fn what_was_timed_under_load_has_its_order_already_and_eight_qualify() {
        let mut trials = trials((0..100).map(|number| 1.0 + 1e-4 * f64::from(number)));
        for trial in &mut trials {
            trial.environment = Environment { regime: Regime::Load, ..(*trial.environment).clone() }.into();
        }
        assert_eq!(FinalPlan::default().finalists(&trials).len(), 8);
    }

    #[test]
    fn more_schedules_qualify_where_load_changes_their_order_but_none_that_is_far_behind() {
        let spread = |fastest: f64| (0..100).map(move |number| fastest * (1.0 + 0.01 * f64::from(number)));
        assert_eq!(qualified(spread(0.01)), 8, "short kernels keep their order");
        assert_eq!(qualified(spread(1.0)), 16, "all within 15 %");
        assert_eq!(
            qualified((0..100).map(|number| 1.0 + 1e-4 * f64::from(number))),
            48,
            "no more than six times eight"
        );
        assert_eq!(qualified((0..100).map(|number| 1.0 + 0.1 * f64::from(number))), 8, "no fewer than eight");
    }
}
