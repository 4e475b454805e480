//! `tuner study demand`: what whoever watches a study is to search.

use autokernel_codegen::arch::Arch;

use super::error::AppError;
use super::on_gpu::{self, Wanted as Asked};
use super::select::heaviest;
use crate::demand::{DemandArgs, DemandError, Package, demands};
use crate::filter::Filter;
use crate::stop::Stop;
use crate::study::{Link, Queue, StudyUrl, Wanted};

/// What is demanded of a study.
#[derive(Debug, clap::Args)]
pub struct DemandedArgs {
    /// The study: postgres://USER@HOST/DATABASE, or env:VARIABLE.
    #[arg(value_name = "URL")]
    pub study: StudyUrl,
    /// Which targets.
    #[command(flatten, next_help_heading = "What to tune")]
    pub filter: Filter,
    /// Whose kernels.
    #[command(flatten)]
    pub demand: DemandArgs,
}

impl DemandedArgs {
    /// Writes it into the study. What was demanded before stands as it does.
    ///
    /// # Errors
    /// A crate or a log cannot be read, nothing is demanded, or the study cannot be used.
    pub fn run(&self) -> Result<(), AppError> {
        let wanted = self.wanted()?;
        if wanted.is_empty() {
            return Err(AppError::Usage("nothing is demanded: say what by --shape, --shapes-from or --crate"));
        }
        let mut queue = Queue::open(Link::open(&self.study, &Stop::default())?)?;
        let new = queue.demand(&wanted)?;
        outln!(
            "{} demanded, {new} of them new\nnext          tuner tune --study URL --watch, anywhere, searches them",
            wanted.len()
        );
        Ok(())
    }

    fn wanted(&self) -> Result<Vec<Wanted>, AppError> {
        let package = self.demand.package.as_deref().map(Package::open).transpose().map_err(DemandError::from)?;
        let Some(demands) = demands(&self.demand, &self.filter.shape, package.as_ref())? else {
            // For which arch makes no difference: a demand is for whatever GPU there is.
            let targets = on_gpu::targets(&self.filter, &Asked::Described(Vec::new()), Arch::SM_90A);
            return Ok(targets
                .into_iter()
                .map(|target| Wanted { problem: target.problem, shape: target.shape })
                .collect());
        };
        let demands = heaviest(&self.filter, self.demand.top, demands);
        for note in &demands.notes {
            errln!("note: {note}");
        }
        let wanted = demands.wanted.into_iter();
        Ok(wanted.map(|demand| Wanted { problem: demand.problem, shape: demand.shape }).collect())
    }
}
