//! From the winner of a search to an entry of `best_config.json`: a final against what is used now, and a verdict.

mod incumbent;
mod verdict;

use autokernel_codegen::config::{Config, Entry, Provenance};
use autokernel_codegen::schedule::Schedule;

use crate::evaluate::{Contender, Evaluator, EvaluatorError, Final, FinalTime};
use crate::outcome::Failure;
use crate::session::Search;
use crate::target::Target;
use crate::trial::Trial;

pub use incumbent::{Incumbent, incumbent};
pub use verdict::{Comparison, Verdict, compare};

/// Schedules of a search that meet the incumbent: more than one, because the fastest of many is partly luck.
const FINALISTS: usize = 3;

/// How a search's final went.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// What the build would use today.
    pub incumbent: Incumbent,
    /// Its time.
    pub incumbent_time: Final,
    /// The time of the safe default.
    pub default_time: Final,
    /// The time of cuBLAS with the epilogue as a kernel of its own.
    pub cublas_time: Final,
    /// The fastest of the search, measured again; `None` if the search found nothing that works.
    pub winner: Option<(Trial, FinalTime)>,
    /// Whether the winner replaces the incumbent, and why.
    pub verdict: Verdict,
}

/// Lets the fastest schedules of `search` meet the incumbent, the default and cuBLAS.
///
/// # Errors
/// The evaluator cannot go on.
pub fn hold_final(search: &Search, config: &Config, evaluator: &mut dyn Evaluator) -> Result<Outcome, EvaluatorError> {
    let target = &search.target;
    let incumbent = incumbent(config, target);
    let default = Schedule::default_for(&target.problem.class(), target.arch);
    let finalists = finalists(search);
    let mut contenders: Vec<Contender> = finalists.iter().map(|trial| Contender::Schedule(trial.schedule)).collect();
    for other in [Contender::Schedule(incumbent.schedule), Contender::Schedule(default), Contender::Cublas] {
        if !contenders.contains(&other) {
            contenders.push(other);
        }
    }
    let times = evaluator.compare(target, &contenders)?;
    let time_of = |contender: Contender| {
        let at = contenders.iter().position(|&other| other == contender);
        at.and_then(|at| times.get(at)).cloned().unwrap_or(Err(Failure::NotRecorded))
    };
    let again = finalists
        .iter()
        .filter_map(|trial| Some(((*trial).clone(), time_of(Contender::Schedule(trial.schedule)).ok()?)));
    let winner = again.min_by(|(_, a), (_, b)| a.measurement.median_ms.total_cmp(&b.measurement.median_ms));
    let incumbent_time = time_of(Contender::Schedule(incumbent.schedule));
    let verdict = verdict::verdict(winner.as_ref(), &incumbent, &incumbent_time);
    let (default_time, cublas_time) = (time_of(Contender::Schedule(default)), time_of(Contender::Cublas));
    Ok(Outcome { incumbent, incumbent_time, default_time, cublas_time, winner, verdict })
}

fn finalists(search: &Search) -> Vec<&Trial> {
    let mut timed: Vec<&Trial> = search.trials.iter().filter(|trial| trial.median_ms().is_some()).collect();
    timed.sort_by(|a, b| a.median_ms().partial_cmp(&b.median_ms()).unwrap_or(std::cmp::Ordering::Equal));
    timed.truncate(FINALISTS);
    timed
}

/// The entry that the winner of `outcome` becomes, if it was promoted.
pub fn entry(outcome: &Outcome, evaluator: &dyn Evaluator) -> Option<Entry> {
    let (trial, time) = outcome.winner.as_ref().filter(|_| outcome.verdict.promoted)?;
    Some(measured(&trial.target, trial.schedule, time, &trial.proposed_by, evaluator))
}

/// The entry by which `target` keeps what it uses today, where it does so without an entry of its own.
pub fn kept(outcome: &Outcome, target: &Target, evaluator: &dyn Evaluator) -> Option<Entry> {
    let time = outcome.incumbent_time.as_ref().ok().filter(|_| !outcome.incumbent.exact)?;
    Some(measured(target, outcome.incumbent.schedule, time, KEPT, evaluator))
}

/// Who proposed an entry that was kept.
const KEPT: &str = "incumbent";

fn measured(
    target: &Target,
    schedule: Schedule,
    time: &FinalTime,
    proposed_by: &str,
    evaluator: &dyn Evaluator,
) -> Entry {
    let (environment, measurement) = (evaluator.environment(), time.measurement);
    let provenance = Provenance {
        gpu: environment.gpu.clone(),
        driver: environment.driver.clone(),
        nvcc: environment.nvcc.clone(),
        sources: Some(environment.kernels.clone()),
        date: evaluator.date(),
        median_ms: measurement.median_ms,
        spread_pct: measurement.spread_pct,
        tflops: (target.tflops(measurement.median_ms) * 10.0).round() / 10.0,
        samples: measurement.samples,
        proposed_by: proposed_by.to_owned(),
    };
    Entry { problem: target.problem.class(), arch: target.arch, shape: target.shape, schedule, provenance }
}
