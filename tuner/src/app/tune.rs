//! `tuner tune`: what is asked for, and what is in use.

use super::args::TuneArgs;
use super::ending::Ending;
use super::error::AppError;
use super::in_use::InUse;
use super::outputs::Outputs;
use super::select::{Selection, select};
use super::tune_jobs::tune_jobs;
use super::watch::watch;
use crate::demand::{DemandError, Package, demands};
use crate::stop::Stop;

/// Tunes what `args` ask for, and writes the outputs even if it is stopped.
///
/// # Errors
/// It could not begin, or an output could not be written.
pub fn tune(args: &TuneArgs, stop: &Stop) -> Result<Ending, AppError> {
    let args = &args.spread()?;
    if let Some(url) = args.source.study.as_ref().filter(|_| args.watch) {
        return watch(args, url, stop);
    }
    let package = args.demand.package.as_deref().map(Package::open).transpose().map_err(DemandError::from)?;
    let in_use = InUse::load(args, package.as_ref())?;
    let Selection { jobs, notes } = select(args, demands(&args.demand, &args.filter.shape, package.as_ref())?, stop)?;
    for note in notes {
        errln!("note: {note}");
    }
    if let Some(strategy) = args.strategy.filter(|strategy| args.llm.llm.is_some() && !strategy.needs_model()) {
        errln!(
            "note: --strategy {strategy} asks no model; --llm is not used (leave --strategy out, or write hybrid or llm)"
        );
    }
    let outputs = Outputs::new(&args.out, args.write.then(|| in_use.path.clone()))
        .read_by(package.and_then(|package| package.script))
        .starting_over(args.fresh);
    tune_jobs(args, in_use, &outputs, jobs, stop)
}
