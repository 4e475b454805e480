//! The entries of `best_config.json` that a final leads to.

use autokernel_codegen::config::{Entry, Provenance};
use autokernel_codegen::schedule::Schedule;

use super::outcome::Outcome;
use crate::environment::today;
use crate::evaluate::{About, FinalTime};
use crate::objective::Objective;
use crate::proposer::Proposer;
use crate::target::Target;

/// The entry that the winner of `outcome` becomes, if it was promoted.
pub fn entry(outcome: &Outcome, about: &About) -> Option<Entry> {
    let (trial, time) = outcome.winner.as_ref().filter(|_| outcome.verdict.promoted)?;
    Some(measured(&trial.target, trial.schedule, time, trial.proposed_by.to_string(), about))
}

/// The entry by which `target` keeps what it uses today, where it does so without an entry of its own.
pub fn kept(outcome: &Outcome, target: &Target, about: &About) -> Option<Entry> {
    let time = outcome.incumbent_time.as_ref().ok().filter(|_| !outcome.incumbent.is_exact())?;
    Some(measured(target, outcome.incumbent.schedule, time, Proposer::Incumbent.to_string(), about))
}

/// The entry that `target` has already, as the final measured it: if it held its place in rounds under load elsewhere
/// than where it won it, on another GPU or with another driver, compiler or kernel. Otherwise its time would stay one of those.
pub fn confirmed(outcome: &Outcome, target: &Target, about: &About) -> Option<Entry> {
    let Outcome { incumbent, incumbent_time, verdict, .. } = outcome;
    let known = incumbent.provenance.as_ref().filter(|_| !verdict.promoted)?;
    let time = incumbent_time.as_ref().ok().filter(|time| !time.round_ms.is_empty())?;
    let entry = measured(target, incumbent.schedule, time, known.proposed_by.clone(), about);
    let place = |p: &Provenance| (p.gpu.clone(), p.driver.clone(), p.nvcc.clone(), p.sources.clone());
    (place(&entry.provenance) != place(known)).then_some(entry)
}

/// The entry of `schedule`, measured so.
pub fn measured(target: &Target, schedule: Schedule, time: &FinalTime, proposed_by: String, about: &About) -> Entry {
    let (environment, measurement) = (&about.environment, time.measurement);
    let proposed_by = match environment.objective {
        Objective::Time => proposed_by,
        Objective::Energy => format!("{proposed_by}, by energy"),
    };
    let proposed_by = match environment.group_sizes {
        usual if usual.is_zipf() => proposed_by,
        others => format!("{proposed_by}, groups of {others}"),
    };
    let provenance = Provenance {
        gpu: environment.gpu.clone(),
        driver: environment.driver.clone(),
        nvcc: environment.nvcc.clone(),
        sources: Some(environment.kernels.clone()),
        date: about.recorded_on.clone().unwrap_or_else(today),
        median_ms: measurement.median_ms,
        spread_pct: measurement.spread_pct,
        tflops: (target.tflops(measurement.median_ms) * 10.0).round() / 10.0,
        samples: measurement.samples,
        final_rounds: u32::try_from(time.round_ms.len()).unwrap_or(u32::MAX),
        proposed_by,
    };
    Entry {
        problem: target.problem.class(),
        arch: target.arch,
        extents: target.shape,
        range: None,
        schedule,
        provenance,
    }
}
