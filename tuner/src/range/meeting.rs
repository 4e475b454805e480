//! Where the fastest of each size meet at all of them.

use autokernel_codegen::config::Entry;
use autokernel_codegen::schedule::Schedule;
use autokernel_core::Span;

use super::args::By;
use super::choice::{AtSize, Choice, choose};
use super::outcome::{OfSize, RangeOutcome};
use crate::evaluate::{Contender, Evaluator, EvaluatorError, FinalTime, Rounds};
use crate::held_final::Leg;
use crate::objective::Objective;
use crate::promote;
use crate::target::Target;
use crate::trial::Trial;

/// How long they meet at each size.
const ROUNDS: Rounds = Rounds { count: 15, round_ms: 10.0, warm_up_ms: 300.0 };
/// A lead of less time, in percent, is no reason for an entry.
const LEAST_GAIN_PCT: f64 = 1.0;

/// The same, by what the search made small.
const fn least_gain_pct(objective: Objective) -> f64 {
    match objective {
        Objective::Time => LEAST_GAIN_PCT,
        Objective::Energy => promote::ENERGY_FLOOR_PCT,
    }
}

/// A size that was searched.
pub struct Member<'m> {
    /// The problem at that size.
    pub target: Target,
    /// Who measures.
    pub evaluator: &'m mut dyn Evaluator,
    /// What a launch takes today.
    pub in_use: Schedule,
    /// The trials that were fastest there, fastest first.
    pub fastest: Vec<Trial>,
}

/// Lets the fastest of every size, and what is in use at it, meet at each; and chooses one of the former for all. None where no
/// schedule has a time at every size.
///
/// # Errors
/// An evaluator cannot go on.
pub fn meet(members: &mut [Member<'_>], range: Span, by: By) -> Result<Option<RangeOutcome>, EvaluatorError> {
    let mut candidates: Vec<Schedule> = Vec::new();
    for trial in members.iter().flat_map(|member| &member.fastest) {
        if !candidates.contains(&trial.schedule) {
            candidates.push(trial.schedule);
        }
    }
    let mut legs = Vec::new();
    for Member { target, evaluator, in_use, .. } in members.iter_mut() {
        let also = (!candidates.contains(in_use)).then_some(*in_use);
        let contenders: Vec<Contender> = candidates.iter().copied().chain(also).map(Contender::Schedule).collect();
        let results = evaluator.compare(target, &contenders, ROUNDS)?;
        legs.push(Leg::new(Some(ROUNDS), &contenders, results));
    }
    let sizes: Vec<AtSize> =
        legs.iter().zip(members.iter()).map(|(leg, member)| standing(leg, member.in_use)).collect();
    // What is in use at one size may be in no search: it is met, and not chosen.
    let Some(choice) = choose(&candidates, &sizes, by) else { return Ok(None) };
    Ok(members.last().and_then(|last| outcome(members, last, &legs, range, by, choice)))
}

fn standing(leg: &Leg, in_use: Schedule) -> AtSize {
    let ranking = leg.ranking();
    let fastest = ranking.first().map_or(1.0, |(_, score)| *score);
    AtSize { standing: ranking.into_iter().map(|(schedule, score)| (schedule, score / fastest)).collect(), in_use }
}

fn outcome(
    members: &[Member<'_>],
    last: &Member<'_>,
    legs: &[Leg],
    range: Span,
    by: By,
    choice: Choice,
) -> Option<RangeOutcome> {
    let Choice { schedule, ratios, in_use } = choice;
    let times: Vec<FinalTime> =
        legs.iter().map(|leg| leg.result_of(Contender::Schedule(schedule)).ok()).collect::<Option<_>>()?;
    let least_gain_pct = least_gain_pct(last.evaluator.about().environment.objective);
    let (promoted, reason) = verdict(by, &ratios, in_use.as_deref(), least_gain_pct);
    let entry = promoted.then(|| {
        let about = last.evaluator.about();
        let mut trials = members.iter().flat_map(|member| &member.fastest);
        let proposed_by = trials.find(|trial| trial.schedule == schedule)?.proposed_by.to_string();
        Some(Entry {
            range: Some(range),
            ..promote::measured(&last.target, schedule, times.last()?, proposed_by, about)
        })
    });
    let entry = entry.flatten();
    let of_size = |(at, member): (usize, &Member<'_>)| OfSize {
        size: member.target.shape.get(range.dim).unwrap_or(0),
        median_ms: times[at].measurement.median_ms,
        over_fastest: ratios[at],
        in_use_over_fastest: in_use.as_ref().map(|in_use| in_use[at]),
    };
    let sizes = members.iter().enumerate().map(of_size).collect();
    Some(RangeOutcome { target: last.target.clone(), range, by, schedule, sizes, promoted, reason, entry })
}

/// Whether the choice becomes an entry, and why.
fn verdict(by: By, ratios: &[f64], in_use: Option<&[f64]>, least_gain_pct: f64) -> (bool, String) {
    let regret = 100.0 * (by.judge(ratios) - 1.0);
    let chosen = format!("{regret:.1} % from the fastest of each size {by}");
    let Some(in_use) = in_use else {
        return (true, format!("promoted: {chosen}; what is in use has no time at every size"));
    };
    let gain = 100.0 * (1.0 - by.judge(ratios) / by.judge(in_use));
    let against = 100.0 * (by.judge(in_use) - 1.0);
    if gain >= least_gain_pct {
        return (true, format!("promoted: {chosen}, where what is in use is {against:.1} %"));
    }
    let reason = format!(
        "not promoted: {chosen}; what is in use is {against:.1} %, and a lead below {least_gain_pct} % is none"
    );
    (false, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lead_of_energy_counts_only_past_what_the_counter_tells_apart() {
        let promoted = |in_use: f64, objective| {
            verdict(By::Mean, &[1.0, 1.0], Some(&[in_use, in_use]), least_gain_pct(objective)).0
        };
        assert_eq!([1.005, 1.03, 1.06].map(|in_use| promoted(in_use, Objective::Time)), [false, true, true]);
        assert_eq!([1.005, 1.03, 1.06].map(|in_use| promoted(in_use, Objective::Energy)), [false, false, true]);
    }
}
