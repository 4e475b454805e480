//! The journal as a table that a spreadsheet opens.

use serde::Serialize;

use crate::outcome::Outcome;
use crate::proposer::Proposer;
use crate::trial::Trial;

/// A row of `history.csv`.
#[derive(Serialize)]
struct Row<'t> {
    timestamp: &'t str,
    name: String,
    ms: Option<f64>,
    tflops: Option<f64>,
    status: &'static str,
    config: String,
    shape: String,
    gpu: &'t str,
    epilogue: String,
    problem: String,
    arch: String,
    spread_pct: Option<f64>,
    generation: u32,
    proposed_by: &'t Proposer,
    reason: String,
    driver: &'t str,
    nvcc: &'t str,
}

/// `history.csv`: a row a trial, oldest first.
///
/// # Errors
/// A row cannot be written as CSV.
pub fn history_csv(trials: &[Trial]) -> Result<Vec<u8>, csv::Error> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for trial in trials {
        writer.serialize(row(trial))?;
    }
    writer.into_inner().map_err(|error| error.into_error().into())
}

fn row(trial: &Trial) -> Row<'_> {
    let measurement = trial.outcome.measurement();
    let Trial { target, environment, .. } = trial;
    let tflops = |ms: f64| (target.tflops(ms) * 100.0).round() / 100.0;
    Row {
        timestamp: &trial.at,
        name: format!("{} #{}", target.slug(), trial.number),
        ms: trial.median_ms(),
        tflops: trial.median_ms().map(tflops),
        status: trial.outcome.status(),
        config: serde_json::to_string(&trial.schedule).unwrap_or_default(),
        shape: target.shape.to_string(),
        gpu: &environment.gpu,
        epilogue: target.problem.field("epilogue").unwrap_or_default(),
        problem: target.problem.class().slug(),
        arch: target.arch.to_string(),
        spread_pct: measurement.map(|measurement| measurement.spread_pct),
        generation: trial.generation,
        proposed_by: &trial.proposed_by,
        reason: match &trial.outcome {
            Outcome::Measured(_) => String::new(),
            Outcome::Failed(failure) => failure.to_string(),
        },
        driver: &environment.driver,
        nvcc: &environment.nvcc,
    }
}
