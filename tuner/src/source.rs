//! Where a command that changes nothing reads trials: a journal or a study.

use std::path::Path;

use crate::journal::read_trials;
use crate::store::StoreError;
use crate::study::StudyUrl;
use crate::trial::Trial;

/// The study instead of a journal.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct StudyArgs {
    /// A study in a Postgres database that several machines share, in place of a journal: postgres://USER@HOST/DATABASE, or
    /// env:VARIABLE where a variable holds the URL. Needs a tuner built with --features study.
    #[arg(long, value_name = "URL", help_heading = "Several machines")]
    pub study: Option<StudyUrl>,
}

impl StudyArgs {
    /// The trials of the study, or else those of `journal`.
    ///
    /// # Errors
    /// They cannot be read.
    pub fn trials(&self, journal: &Path) -> Result<Vec<Trial>, StoreError> {
        match &self.study {
            Some(url) => of_study(url),
            None => Ok(read_trials(journal)?),
        }
    }
}

#[cfg(feature = "study")]
fn of_study(url: &StudyUrl) -> Result<Vec<Trial>, StoreError> {
    use crate::stop::Stop;
    use crate::study::{Link, Queue, Scope, Study};
    let study = Study::read(Queue::open(Link::open(url, &Stop::default())?)?, Scope::All)?;
    Ok(study.into_records().into_trials())
}

#[cfg(not(feature = "study"))]
fn of_study(url: &StudyUrl) -> Result<Vec<Trial>, StoreError> {
    match *url {}
}
