//! Times under load: candidates meet a reference schedule in rounds like those of a final.
//!
//! What is told is the candidate's ratio to the reference, times what the reference takes once the clock has settled. So times of
//! batches compare that met at other clocks, and those of several GPUs of one kind.

use std::sync::OnceLock;

use autokernel_codegen::schedule::Schedule;
use autokernel_runtime::timing::Statistics;

use super::candidates::candidates;
use super::compile::{CandidateCompiler, Compiled};
use super::pool::GpuPool;
use super::protocol::{Candidate, FinalContender, FinalReply, FinalRounds};
use crate::Target;
use crate::evaluate::EvaluatorError;
use crate::gpu_facts::GpuFacts;
use crate::outcome::{Failure, Measurement, UnderLoad};

/// Candidates that meet at once, at most.
pub const MOST: usize = 24;
/// A candidate that takes this many times as long as the fastest meets the reference apart from those that are nearer: it would be
/// their rest.
pub const NEAR: f64 = 1.5;
/// Rounds of candidates that are near the fastest, and of the others, whose places are far apart.
pub const ROUNDS: u32 = 16;
pub const FEW_ROUNDS: u32 = 5;
/// How often the reference runs in a round: its ratio is in every time.
const REFERENCES: usize = 2;
/// How long each runs in a round, in milliseconds: shorter than the power controller's own time, so that all meet about the same
/// clock.
const ROUND_MS: f64 = 6.0;
/// The shortest warm-up, in milliseconds, and the longest where rounds do not come to take alike.
const WARM_UP_MS: (f64, f64) = (300.0, 1000.0);

/// What times under load of one target are told by.
#[derive(Debug, Default)]
pub struct Standard {
    /// What is to be the reference, the first of them that compiles.
    wanted: Vec<Schedule>,
    reference: OnceLock<Candidate>,
    /// What the reference takes on a GPU whose clock has settled, in milliseconds.
    settled_ms: OnceLock<f64>,
}

/// A time under load, or why there is none; or why the worker fell, for which one of those that met is to blame.
pub type Times = Result<Vec<Result<Measurement, Failure>>, Failure>;

impl Standard {
    /// That of `target` on `gpu`: the same in every run and on every GPU of one kind.
    ///
    /// The reference is what arithmetic expects to be fastest, since what fast schedules do they do alike: as the clock falls, one that
    /// mostly waits falls back less than they do, and stands at another ratio to them in each batch. At 900x5120x5120 the default of an
    /// H200, a quarter slower than its best, wandered by 4.5 %, this one by 1.3 %.
    pub fn new(target: &Target, gpu: &GpuFacts) -> Self {
        let default = target.problem.class().default_schedule(target.arch);
        let wanted = expected_fastest(target, gpu).into_iter().chain([default]).collect();
        Standard { wanted, ..Standard::default() }
    }

    /// The reference: the first that is wanted and compiles, or else the first of `others`.
    ///
    /// # Errors
    /// Nothing can be compiled here.
    pub fn reference(
        &self,
        others: &[Candidate],
        compiler: &CandidateCompiler,
    ) -> Result<Option<&Candidate>, EvaluatorError> {
        if self.reference.get().is_none() {
            let mut found = others.first().cloned();
            for &schedule in &self.wanted {
                if let Ok(Compiled { kernel, .. }) = compiler.compile(&schedule)? {
                    found = Some(Candidate { schedule, kernel });
                    break;
                }
            }
            if let Some(reference) = found {
                // Another GPU's thread may have been faster, to the same end.
                let _ = self.reference.set(reference);
            }
        }
        Ok(self.reference.get())
    }

    /// The times of `entrants`, which meet `reference` on the GPU of `pool` for so many rounds.
    ///
    /// # Errors
    /// The worker cannot be brought back, or the reference does not run.
    pub fn times(
        &self,
        reference: &Candidate,
        entrants: &[FinalContender],
        rounds: u32,
        pool: &mut GpuPool,
        seed: u64,
    ) -> Result<Times, EvaluatorError> {
        let references = std::iter::repeat_n(FinalContender::Candidate(reference.clone()), REFERENCES);
        let request = FinalRounds {
            contenders: references.chain(entrants.iter().cloned()).collect(),
            rounds,
            round_ms: ROUND_MS,
            warm_up_ms: WARM_UP_MS.0,
            settle_ms: WARM_UP_MS.1,
            check_again: true,
            energy_ms: 0.0,
            seed,
        };
        let (replies, settled) = match pool.under_load(&request)? {
            Ok(met) => met,
            Err(failure) => return Ok(Err(failure)),
        };
        self.told(reference.schedule, replies, settled).map(Ok)
    }

    /// The times of those that met `reference`, whose own replies are the first.
    fn told(
        &self,
        reference: Schedule,
        replies: Vec<FinalReply>,
        settled: bool,
    ) -> Result<Vec<Result<Measurement, Failure>>, EvaluatorError> {
        let does_not_run = |failure: &str| EvaluatorError {
            reason: format!("the reference under load, {reference}, does not run: {failure}"),
            remedy: "time after rests with `--regime rest`".to_owned(),
        };
        let rounds_of = |reply: &FinalReply| match reply {
            FinalReply::Timed { round_ms, .. } => round_ms.clone(),
            FinalReply::Failed { .. } => Vec::new(),
        };
        let levels = levels(&replies.iter().map(rounds_of).collect::<Vec<_>>());
        let mut told = 0.0;
        for (reply, level) in replies.iter().zip(&levels).take(REFERENCES) {
            match (reply, level) {
                (FinalReply::Failed { failure }, _) => return Err(does_not_run(&failure.to_string())),
                (_, None) => return Err(does_not_run("it was timed in no round")),
                (_, Some(level)) => told += level.ms / REFERENCES as f64,
            }
        }
        let settled_ms = *self.settled_ms.get_or_init(|| told);
        let time = |(reply, level): (FinalReply, Option<Level>)| match (reply, level) {
            (FinalReply::Failed { failure }, _) => Err(failure),
            (FinalReply::Timed { round_ms, sm_clock_mhz, .. }, Some(level)) => {
                let ratio = level.ms / told;
                let samples = u32::try_from(round_ms.len()).unwrap_or(u32::MAX);
                let load = Some(UnderLoad { reference, ratio, settled });
                let measurement = Measurement::new(ratio * settled_ms, level.spread_pct, samples);
                Ok(Measurement { sm_clock_mhz, load, ..measurement })
            }
            (FinalReply::Timed { .. }, None) => {
                Err(Failure::Crash { detail: "the worker timed it in no round".to_owned() })
            }
        };
        Ok(replies.into_iter().zip(levels).skip(REFERENCES).map(time).collect())
    }
}

/// The schedule of the search's own selection that is expected to be fastest, in the default's order of tiles: no forecast tells orders
/// apart. None where there is no forecast.
fn expected_fastest(target: &Target, gpu: &GpuFacts) -> Option<Schedule> {
    let class = target.problem.class();
    let machine = gpu.machine(class.multiplies());
    let default = class.default_schedule(target.arch);
    let has_its_order = |schedule: &Schedule| {
        ["raster_order", "raster_group"].into_iter().all(|knob| schedule.value(knob) == default.value(knob))
    };
    let forecast = |schedule: Schedule| {
        let ms = class.forecast(&schedule, None, machine)?.predicted_ms(&target.shape);
        ms.is_finite().then_some((ms, schedule))
    };
    let expected = candidates(target).into_iter().filter(has_its_order).filter_map(forecast);
    expected.min_by(|(a, _), (b, _)| a.total_cmp(b)).map(|(_, schedule)| schedule)
}

/// What one takes at the usual pace of its rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// The median over rounds, in milliseconds.
    pub ms: f64,
    /// The interquartile range over it, in percent.
    pub spread_pct: f64,
}

/// The level of each by its rounds, in which all met: the clock of a round slows all alike, which is no one's time. None where there
/// are no rounds.
///
/// A round's pace is the median of what it did to each, over that one's own median: with two that meet as with twenty, it does not
/// depend on which of them is the slower.
pub fn levels(rounds: &[Vec<f64>]) -> Vec<Option<Level>> {
    let usual: Vec<Option<f64>> = rounds.iter().map(|of_one| median(of_one)).collect();
    let count = rounds.iter().map(Vec::len).max().unwrap_or(0);
    let pace = |round: usize| {
        let met = rounds.iter().zip(&usual);
        let slowed = met.filter_map(|(of_one, usual)| Some(of_one.get(round)? / (*usual)?));
        median(&slowed.collect::<Vec<_>>()).unwrap_or(1.0)
    };
    let paces: Vec<f64> = (0..count).map(pace).collect();
    let level = |of_one: &Vec<f64>| {
        let at_pace: Vec<f64> = of_one.iter().zip(&paces).map(|(ms, pace)| ms / pace).collect();
        let statistics = Statistics::of(&at_pace).ok()?;
        Some(Level { ms: statistics.median, spread_pct: statistics.spread_pct })
    };
    rounds.iter().map(level).collect()
}

fn median(values: &[f64]) -> Option<f64> {
    Statistics::of(values).ok().map(|statistics| statistics.median)
}

#[cfg(test)]
mod tests;
