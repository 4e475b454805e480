//! The time of a kernel: measured here, or measured earlier and found again.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use autokernel_codegen::config::{Config, Provenance};
use autokernel_codegen::schedule::Schedule;
use serde::Serialize;

use super::machine::Machine;
use crate::evaluate::Evaluated;
use crate::folder;
use crate::gpu::Bench;
use crate::gpu::sampling::Effort;
use crate::journal::read_trials;
use crate::outcome::Outcome;
use crate::regime::Regime;
use crate::replay::{Library, Recording};
use crate::target::{Target, work};
use crate::trial;

/// A kernel's time and what follows from it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Time {
    /// Median time of a launch, in milliseconds.
    pub median_ms: f64,
    /// Interquartile range over median, in percent.
    pub spread_pct: f64,
    /// Where it was measured, in words.
    pub origin: String,
    /// The rate, in 10¹² FLOP/s.
    pub tflops: Rate,
    /// The device memory traffic, each matrix crossing once, in 10⁹ bytes/s.
    pub gb_s: Rate,
    /// The roofline's shortest time over this one, in percent.
    pub roofline_pct: Option<f64>,
}

/// A rate and the roofs above it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rate {
    /// The rate.
    pub value: f64,
    /// Of the datasheet's ceiling, in percent.
    pub datasheet_pct: Option<f64>,
    /// The highest rate that was measured of any kernel on this GPU.
    pub measured_roof: Option<f64>,
    /// Of that, in percent.
    pub measured_pct: Option<f64>,
}

/// Where times may be found.
pub struct Sources<'s> {
    /// The output folder.
    pub folder: &'s Path,
    /// Recorded spaces.
    pub library: &'s Library,
    /// The config in use.
    pub config: &'s Config,
    /// The GPU that is meant.
    pub machine: &'s Machine,
}

/// The state in which an entry's time was measured.
fn regime_of(provenance: &Provenance) -> Regime {
    if provenance.final_rounds > 0 { Regime::Load } else { Regime::Rest }
}

/// A time before it is compared with anything.
struct Found {
    /// Large kernels run at another clock after a rest than under load.
    regime: Regime,
    median_ms: f64,
    spread_pct: f64,
    origin: String,
}

impl Sources<'_> {
    /// The time of `schedule`, from the best source that has it.
    pub fn time(&self, target: &Target, schedule: &Schedule, bench: Option<Bench>) -> Option<Time> {
        let found = bench
            .and_then(|bench| measured(bench, target, schedule))
            .or_else(|| self.journaled(target, schedule))
            .or_else(|| self.recorded(target, schedule))
            .or_else(|| self.promoted(target, schedule))?;
        let (work, roofline) = (target.work(), target.input().and_then(|input| self.machine.roofline(input)));
        let ms = found.median_ms;
        let roofs = self.measured_roofs(found.regime);
        let rate = |value: f64, datasheet: Option<f64>, roof: Option<f64>| Rate {
            value,
            datasheet_pct: datasheet.map(|peak| 100.0 * value / peak),
            measured_roof: roof,
            measured_pct: roof.map(|roof| 100.0 * value / roof),
        };
        Some(Time {
            median_ms: ms,
            spread_pct: found.spread_pct,
            origin: found.origin,
            tflops: rate(work.tflops(ms), roofline.map(|r| r.peak_tflops), roofs.map(|(tflops, _)| tflops)),
            gb_s: rate(work.gb_s(ms), roofline.map(|r| r.bandwidth_gb_s), roofs.map(|(_, gb_s)| gb_s)),
            roofline_pct: roofline.map(|roofline| roofline.percent(&work, ms)),
        })
    }

    /// Epilogue parameters do not change a time, so the class is compared.
    fn is_same(&self, target: &Target, other: &Target, gpu: &str) -> bool {
        (target.problem.class(), target.arch, target.shape) == (other.problem.class(), other.arch, other.shape)
            && self.machine.is_called(gpu)
    }

    fn journaled(&self, target: &Target, schedule: &Schedule) -> Option<Found> {
        let trials = read_trials(&folder::journal(self.folder)).ok()?;
        let same = trials
            .iter()
            .filter(|trial| trial.schedule == *schedule && self.is_same(target, &trial.target, &trial.environment.gpu));
        // Under load is how it runs in use.
        let timed = same.filter(|trial| trial.cost().is_some());
        let regime = timed.clone().map(|trial| trial.environment.regime).max()?;
        let trial = trial::fastest(timed.filter(|trial| trial.environment.regime == regime))?;
        let measurement = trial.outcome.measurement()?;
        let environment = &trial.environment;
        let origin = format!("{}'s journal, {}, driver {}", self.folder.display(), environment.gpu, environment.driver);
        let (median_ms, spread_pct) = (measurement.median_ms, measurement.spread_pct);
        Some(Found { regime, median_ms, spread_pct, origin })
    }

    fn recorded(&self, target: &Target, schedule: &Schedule) -> Option<Found> {
        for (name, recording) in &self.library.recordings {
            let other = |shape| Target { problem: recording.problem.clone(), arch: recording.arch, shape };
            let gpu = &recording.environment.gpu;
            let table = recording.shapes.iter().find(|table| self.is_same(target, &other(table.shape), gpu));
            let row = table.and_then(|table| table.rows.iter().find(|(own, _)| own == schedule));
            if let Some(measurement) = row.and_then(|(_, outcome)| outcome.measurement()) {
                let origin = format!("recorded in {name} on {}, {gpu}", recording.method.date);
                return Some(Found {
                    regime: Regime::Rest,
                    median_ms: measurement.median_ms,
                    spread_pct: measurement.spread_pct,
                    origin,
                });
            }
        }
        None
    }

    fn promoted(&self, target: &Target, schedule: &Schedule) -> Option<Found> {
        let entry = self.config.entries.iter().find(|entry| {
            entry.schedule == *schedule
                && (&entry.problem, entry.arch, entry.extents) == (&target.problem.class(), target.arch, target.shape)
                && self.machine.is_called(&entry.provenance.gpu)
        })?;
        let provenance = &entry.provenance;
        let regime = regime_of(provenance);
        let how = if regime == Regime::Load { ", under load" } else { "" };
        let origin = format!("the config's entry of {}, {}{how}", provenance.date, provenance.gpu);
        Some(Found { regime, median_ms: provenance.median_ms, spread_pct: provenance.spread_pct, origin })
    }

    /// The highest rates of any kernel on this GPU, measured in the same state, that the config and the recordings know: TFLOP/s
    /// and GB/s.
    fn measured_roofs(&self, regime: Regime) -> Option<(f64, f64)> {
        let same = |provenance: &Provenance| self.machine.is_called(&provenance.gpu) && regime_of(provenance) == regime;
        let entries = self.config.entries.iter().filter(|entry| same(&entry.provenance));
        let entries = entries.map(|entry| (work(&entry.problem, &entry.extents), entry.provenance.median_ms));
        let recordings = self.library.recordings.iter().map(|(_, recording)| recording);
        let rested =
            |recording: &&Arc<Recording>| regime == Regime::Rest && self.machine.is_called(&recording.environment.gpu);
        let recordings = recordings.filter(rested);
        let tables = recordings.flat_map(|recording| {
            recording.shapes.iter().filter_map(|table| {
                let (problem, arch) = (recording.problem.clone(), recording.arch);
                let (_, fastest) = table.optimum()?;
                Some((Target { problem, arch, shape: table.shape }.work(), fastest.median_ms))
            })
        });
        let rates = entries.chain(tables).map(|(work, ms)| (work.tflops(ms), work.gb_s(ms)));
        rates.reduce(|a, b| (a.0.max(b.0), a.1.max(b.1)))
    }
}

/// Measures on this machine, with the evaluator's check of the result.
fn measured(mut bench: Bench, target: &Target, schedule: &Schedule) -> Option<Found> {
    let mut outcome = None;
    let mut done = |evaluated: Evaluated| {
        outcome = Some(evaluated.outcome);
        ControlFlow::Break(())
    };
    if let Err(error) = bench.evaluate(target, &[*schedule], Effort::THOROUGH, None, &mut done) {
        errln!("not measured here: {error}");
        return None;
    }
    match outcome? {
        Outcome::Measured(measurement) => {
            let origin = format!("measured here and now, {}", bench.gpu().facts.name);
            let (median_ms, spread_pct) = (measurement.median_ms, measurement.spread_pct);
            Some(Found { regime: Regime::Rest, median_ms, spread_pct, origin })
        }
        Outcome::Failed(failure) => {
            errln!("not measured here: {failure}");
            None
        }
    }
}
