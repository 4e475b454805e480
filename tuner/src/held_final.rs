//! A final as it was held: the record that the journal keeps.

use std::collections::HashSet;

use autokernel_codegen::schedule::Schedule;
use autokernel_core::{Implausible, check_ms};
use autokernel_runtime::timing::Statistics;
use serde::{Deserialize, Serialize};

use crate::environment::Environment;
use crate::evaluate::{Contender, Final, FinalTime, Rounds};
use crate::outcome::Failure;
use crate::target::Target;

/// A final as it was held: a line of the journal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeldFinal {
    /// When, RFC 3339.
    pub at: String,
    /// What was tuned.
    pub target: Target,
    /// Where.
    pub environment: Environment,
    /// The schedules that qualified by their trials, fastest first.
    pub finalists: Vec<Schedule>,
    /// What was in use.
    pub incumbent: Schedule,
    /// What was measured, the deciding leg last.
    pub legs: Vec<Leg>,
    /// Whether the winner was promoted.
    pub promoted: bool,
    /// Why, or why not.
    pub reason: String,
}

/// Contenders that met in the same rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Leg {
    /// How long they met; `None` where times were looked up in a recording.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rounds: Option<Rounds>,
    /// Who met, and how each fared.
    pub entrants: Vec<Entrant>,
}

/// A contender of a leg.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entrant {
    /// Who.
    pub contender: Contender,
    /// Its time, or why there is none.
    #[serde(flatten)]
    pub result: EntrantResult,
}

/// [`Final`] as it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EntrantResult {
    /// Its time.
    Time(FinalTime),
    /// Why there is none.
    Failure(Failure),
}

impl HeldFinal {
    /// Refuses times that cannot have been measured.
    ///
    /// # Errors
    /// The first of them.
    pub fn check(&self) -> Result<(), Implausible> {
        self.legs.iter().try_for_each(Leg::check)
    }
}

impl Leg {
    /// Refuses times that cannot have been measured.
    ///
    /// # Errors
    /// The first of them.
    pub fn check(&self) -> Result<(), Implausible> {
        for entrant in &self.entrants {
            if let EntrantResult::Time(time) = &entrant.result {
                time.measurement.check()?;
                time.round_ms.iter().try_for_each(|&ms| check_ms("round_ms", ms))?;
            }
        }
        Ok(())
    }

    /// A leg of `contenders` whose results came back in the same order.
    pub fn new(rounds: Option<Rounds>, contenders: &[Contender], results: Vec<Final>) -> Self {
        let entrant = |(&contender, result): (&Contender, Final)| {
            let result = match result {
                Ok(time) => EntrantResult::Time(time),
                Err(failure) => EntrantResult::Failure(failure),
            };
            Entrant { contender, result }
        };
        Leg { rounds, entrants: contenders.iter().zip(results).map(entrant).collect() }
    }

    /// How `contender` fared; one that was not there has no recorded time.
    pub fn result_of(&self, contender: Contender) -> Final {
        let entrant = self.entrants.iter().find(|entrant| entrant.contender == contender);
        match entrant.map(|entrant| &entrant.result) {
            Some(EntrantResult::Time(time)) => Ok(time.clone()),
            Some(EntrantResult::Failure(failure)) => Err(failure.clone()),
            None => Err(Failure::NotRecorded),
        }
    }

    /// The schedules with a time, fastest first; by their energy where all have one.
    ///
    /// Rounds that were interleaved are compared one by one: each time is taken over the median of its round, so that
    /// drift of the clocks counts for nobody, and a schedule stands at the median of these.
    pub fn ranking(&self) -> Vec<(Schedule, f64)> {
        let timed: Vec<(Contender, &FinalTime)> = self
            .entrants
            .iter()
            .filter_map(|entrant| match &entrant.result {
                EntrantResult::Time(time) => Some((entrant.contender, time)),
                EntrantResult::Failure(_) => None,
            })
            .collect();
        let rounds = timed.iter().map(|(_, time)| time.round_ms.len()).min().unwrap_or(0);
        let of_round = |round: usize| median(&timed.iter().map(|(_, time)| time.round_ms[round]).collect::<Vec<_>>());
        let pace: Vec<f64> = (0..rounds).map(of_round).collect();
        let is_by_energy = timed.iter().all(|(_, time)| time.measurement.energy_mj.is_some());
        let standing = |time: &FinalTime| match rounds {
            _ if is_by_energy => time.measurement.cost(),
            0 => time.measurement.median_ms,
            _ => median(&time.round_ms.iter().zip(&pace).map(|(ms, pace)| ms / pace).collect::<Vec<_>>()),
        };
        let mut ranking: Vec<(Schedule, f64)> = timed
            .iter()
            .filter_map(|(contender, time)| match contender {
                Contender::Schedule(schedule) => Some((*schedule, standing(time))),
                Contender::Cublas => None,
            })
            .collect();
        ranking.sort_by(|(_, a), (_, b)| a.total_cmp(b));
        ranking
    }
}

impl HeldFinal {
    /// Whether this is the final that these would hold.
    pub fn answers(
        &self,
        target: &Target,
        environment: &Environment,
        finalists: &[Schedule],
        against: Schedule,
    ) -> bool {
        let set = |schedules: &[Schedule]| schedules.iter().copied().collect::<HashSet<_>>();
        self.target == *target
            && self.environment == *environment
            && self.incumbent == against
            && set(&self.finalists) == set(finalists)
    }

    /// The leg that decided.
    pub fn last_leg(&self) -> Option<&Leg> {
        self.legs.last()
    }
}

fn median(values: &[f64]) -> f64 {
    Statistics::of(values).map_or(f64::NAN, |statistics| statistics.median)
}

#[cfg(test)]
mod tests {
    use autokernel_codegen::arch::Arch;
    use autokernel_codegen::dtype::Dtype;
    use autokernel_codegen::problem::{Layout, Problem};

    use super::*;
    use crate::outcome::Measurement;

    fn schedule(group: u16) -> Schedule {
        let class = Problem::matmul(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap()).class();
        let schedule = class.default_schedule(Arch::SM_90A);
        schedule.with("raster_group", group).unwrap()
    }

    fn time(round_ms: Vec<f64>) -> Final {
        let median_ms = median(&round_ms);
        Ok(FinalTime { measurement: Measurement::new(median_ms, 0.1, round_ms.len() as u32), round_ms })
    }

    #[test]
    fn contenders_are_ranked_within_rounds_and_not_by_medians_over_a_drifting_clock() {
        // The clock halves after two rounds of five. The second is 1 % faster in every round but the last, in which it
        // stumbles; its median over all rounds is the larger one.
        let clock = [1.0, 1.0, 2.0, 2.0, 2.0];
        let slow = clock.to_vec();
        let fast: Vec<f64> = clock.iter().enumerate().map(|(i, ms)| if i == 4 { 2.5 } else { 0.99 * ms }).collect();
        let contenders = [Contender::Schedule(schedule(1)), Contender::Cublas, Contender::Schedule(schedule(2))];
        let leg = Leg::new(None, &contenders, vec![time(slow), time(clock.to_vec()), time(fast)]);
        let ranking: Vec<Schedule> = leg.ranking().into_iter().map(|(schedule, _)| schedule).collect();
        assert_eq!(ranking, [schedule(2), schedule(1)]);
    }

    #[test]
    fn a_contender_without_a_time_is_not_ranked_and_keeps_its_reason() {
        let failure = Failure::Crash { detail: "gone".to_owned() };
        let contenders = [Contender::Schedule(schedule(1)), Contender::Schedule(schedule(2))];
        let leg = Leg::new(None, &contenders, vec![Err(failure.clone()), time(vec![1.0])]);
        assert_eq!(leg.ranking().len(), 1);
        assert_eq!(leg.result_of(contenders[0]), Err(failure));
        assert_eq!(leg.result_of(Contender::Cublas), Err(Failure::NotRecorded));
        let line = serde_json::to_string(&leg).unwrap();
        assert_eq!(serde_json::from_str::<Leg>(&line).unwrap(), leg);
    }
}
