//! `tuner final --long N`: what the order in which a search left its schedules is worth under load.

use std::collections::HashSet;

use autokernel_codegen::schedule::Schedule;
use statrs::statistics::{Data, OrderStatistics, RankTieBreaker, Statistics};

use super::error::AppError;
use crate::evaluate::{Contender, Evaluator, Rounds};
use crate::held_final::Leg;
use crate::promote::FinalPlan;
use crate::target::Target;
use crate::trial::Trial;

/// Rounds of each of the two measurements.
const ROUNDS: Rounds = Rounds { count: 25, round_ms: 6.0, warm_up_ms: 1000.0 };

/// A schedule by its search's time, and its standing in two long measurements.
struct Standing {
    schedule: Schedule,
    searched: f64,
    long: f64,
    again: f64,
}

/// Measures `count` of the trials, drawn at equal steps of their rank, and the first [`FinalPlan::FINALISTS`] twice for long,
/// and prints how near the search's order is to the order under load.
///
/// # Errors
/// The GPU is lost.
pub fn hold(target: &Target, trials: &[Trial], count: usize, evaluator: &mut dyn Evaluator) -> Result<(), AppError> {
    let ranked = ranked(trials);
    let first = &ranked[..FinalPlan::FINALISTS.min(ranked.len())];
    let drawn = at_equal_steps(&ranked, count);
    let mut contenders: Vec<Contender> = Vec::new();
    for &(schedule, _) in first.iter().chain(&drawn) {
        let contender = Contender::Schedule(schedule);
        if !contenders.contains(&contender) {
            contenders.push(contender);
        }
    }
    let mut measure = || -> Result<Vec<(Schedule, f64)>, AppError> {
        let results = evaluator.compare(target, &contenders, ROUNDS)?;
        Ok(Leg::new(Some(ROUNDS), &contenders, results).ranking())
    };
    let (long, again) = (measure()?, measure()?);
    print(&long, &again, first, &drawn);
    Ok(())
}

/// The schedules that have a time, fastest first, each once: searches of one journal may have tried the same.
fn ranked(trials: &[Trial]) -> Vec<(Schedule, f64)> {
    let mut ranked: Vec<_> = trials.iter().filter_map(|trial| Some((trial.schedule, trial.cost()?))).collect();
    ranked.sort_by(|(_, a), (_, b)| a.total_cmp(b));
    let mut seen = HashSet::new();
    ranked.retain(|(schedule, _)| seen.insert(*schedule));
    ranked
}

/// `count` of `ranked` from the first to the last; all where there are no more.
fn at_equal_steps(ranked: &[(Schedule, f64)], count: usize) -> Vec<(Schedule, f64)> {
    if ranked.len() <= count {
        return ranked.to_vec();
    }
    let last = (ranked.len() - 1) as f64;
    let step = last / (count.max(2) - 1) as f64;
    (0..count).map(|at| ranked[(at as f64 * step).round() as usize]).collect()
}

fn print(long: &[(Schedule, f64)], again: &[(Schedule, f64)], first: &[(Schedule, f64)], drawn: &[(Schedule, f64)]) {
    let of = |ranking: &[(Schedule, f64)], wanted: &Schedule| {
        ranking.iter().find(|(schedule, _)| schedule == wanted).map(|&(_, score)| score)
    };
    let Some((best, best_score)) = long.first() else {
        outln!("  long         nothing could be measured");
        return;
    };
    outln!("  long         {} contenders, {} rounds, twice; best: {best}", long.len(), ROUNDS.count);
    match first.iter().filter_map(|(schedule, _)| of(long, schedule)).min_by(f64::total_cmp) {
        Some(held) => {
            outln!(
                "  first {}      hold one that is {:.2} % behind it",
                first.len(),
                100.0 * (held / best_score - 1.0)
            );
        }
        None => outln!("  first {}      none of them could be measured", first.len()),
    }
    let standings: Vec<Standing> = drawn
        .iter()
        .filter_map(|(schedule, searched)| {
            let (long, again) = (of(long, schedule)?, of(again, schedule)?);
            Some(Standing { schedule: *schedule, searched: *searched, long, again })
        })
        .collect();
    if standings.len() < 2 {
        outln!("  ranks        {} drawn: too few", standings.len());
        return;
    }
    let by = |told: fn(&Standing) -> f64| standings.iter().map(told).collect::<Vec<f64>>();
    let (searched, long, again) = (by(|at| at.searched), by(|at| at.long), by(|at| at.again));
    outln!(
        "  ranks        {} drawn: {:.3} of search and long, {:.3} of long and long again",
        standings.len(),
        rank_correlation(&searched, &long),
        rank_correlation(&long, &again)
    );
    outln!("  each         ms in the search; in both, over the usual time of a round");
    for Standing { schedule, searched, long, again } in &standings {
        outln!("    {searched:.5}  {long:.4}  {again:.4}  {schedule}");
    }
}

/// Spearman's: the correlation of ranks, where equals have the mean of theirs.
fn rank_correlation(a: &[f64], b: &[f64]) -> f64 {
    let ranks = |values: &[f64]| Data::new(values.to_vec()).ranks(RankTieBreaker::Average);
    let (a, b) = (ranks(a), ranks(b));
    a.iter().covariance(b.iter()) / (a.iter().std_dev() * b.iter().std_dev())
}

#[cfg(test)]
mod tests {
    use super::*;
    use autokernel_codegen::arch::Arch;
    use autokernel_codegen::dtype::Dtype;
    use autokernel_codegen::problem::{Layout, Problem};

    #[test]
    fn ranks_that_agree_correlate_by_one_whatever_the_distances() {
        assert!((rank_correlation(&[1.0, 2.0, 3.0, 4.0], &[1.0, 10.0, 11.0, 900.0]) - 1.0).abs() < 1e-12);
        assert!((rank_correlation(&[1.0, 2.0, 3.0, 4.0], &[4.0, 3.0, 2.0, 1.0]) + 1.0).abs() < 1e-12);
        // Of six pairs one is the wrong way round: 1 - 6 * 2 / (4 * 15).
        assert!((rank_correlation(&[1.0, 2.0, 3.0, 4.0], &[1.0, 3.0, 2.0, 4.0]) - 0.8).abs() < 1e-12);
        // Equals have the mean of their ranks: 1.5, 1.5, 3 against 1, 2, 3.
        assert!((rank_correlation(&[7.0, 7.0, 9.0], &[1.0, 2.0, 3.0]) - 0.75_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn steps_are_equal_from_the_first_to_the_last_and_all_are_taken_where_there_are_no_more() {
        let problem = Problem::matmul(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap());
        let schedule = problem.class().default_schedule(Arch::SM_90A);
        let ranked: Vec<_> = (0..10).map(|at| (schedule, f64::from(at))).collect();
        let times = |count| at_equal_steps(&ranked, count).into_iter().map(|(_, ms)| ms).collect::<Vec<_>>();
        assert_eq!(times(4), [0.0, 3.0, 6.0, 9.0]);
        assert_eq!(times(2), [0.0, 9.0]);
        assert_eq!(times(10).len(), 10);
        assert_eq!(times(48).len(), 10);
    }
}
