//! `tuner report`: an output folder as one HTML page.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use autokernel_codegen::config::{Config, ConfigError};

use super::chart::ChartError;
use super::document::Results;
use super::page::Page;
use crate::environment::timestamp;
use crate::folder;
use crate::output::{self, OutputError};
use crate::source::StudyArgs;
use crate::stop::Stop;
use crate::store::StoreError;

/// Write an output folder's results as one HTML page.
///
/// The page needs no network and no other file: it can be mailed, or kept beside a config.
#[derive(Clone, Debug, clap::Args)]
pub struct ReportArgs {
    /// The output folder of earlier runs.
    #[arg(value_name = "DIR", default_value = folder::DEFAULT)]
    pub folder: PathBuf,
    /// The config whose entries are listed [default: best_config.json of the folder].
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The page [default: report.html in the folder].
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Write the page again whenever something was tried, a final was held or the config changed, looking every so many seconds, until Ctrl-C; a browser shows each
    /// new page by itself.
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "5", value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub follow: Option<u32>,
    /// Where the trials are.
    #[command(flatten)]
    pub source: StudyArgs,
}

/// What tells a file from what it was before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Version(Option<(u64, SystemTime)>);

impl Version {
    fn of(path: &Path) -> Self {
        let metadata = std::fs::metadata(path).and_then(|known| Ok((known.len(), known.modified()?)));
        Version(metadata.ok())
    }
}

/// How often a wish to end is looked for.
const LOOK: Duration = Duration::from_millis(100);

/// Why there is no page.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The folder holds no journal.
    #[error("{} does not exist; run `tuner tune` first, or name the folder of a run", .0.display())]
    NoJournal(PathBuf),
    /// The journal holds no trial.
    #[error("{} holds no trial; run `tuner tune` first", .0.display())]
    Empty(PathBuf),
    /// The trials cannot be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The config cannot be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A chart cannot be drawn.
    #[error(transparent)]
    Chart(#[from] ChartError),
    /// The page cannot be written.
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl ReportArgs {
    /// Writes the page and says where it is; with `--follow` again and again until `stop` is requested.
    ///
    /// # Errors
    /// There is no journal, or a file cannot be read or written.
    pub fn run(&self, stop: &Stop) -> Result<(), ReportError> {
        if let Some(seconds) = self.follow {
            self.keep_writing(seconds, stop)?;
        }
        self.write(&self.page()?)?;
        outln!("{}", self.path().display());
        Ok(())
    }

    /// Writes a page that refreshes itself whenever what it shows is other than before.
    fn keep_writing(&self, seconds: u32, stop: &Stop) -> Result<(), ReportError> {
        let mut told = None;
        while !stop.is_requested() {
            let page = match self.page() {
                Err(ReportError::NoJournal(_) | ReportError::Empty(_)) => None,
                page => Some(page?),
            };
            let trials = page.as_ref().map_or(0, Page::trials);
            let now = Some((trials, self.files().map(|path| Version::of(&path))));
            if told != now {
                match page {
                    Some(page) => {
                        self.write(&page.refreshing(seconds))?;
                        errln!("{}: {trials} trials", self.path().display());
                    }
                    None => errln!("nothing was tried yet in {}; waiting", self.folder.display()),
                }
                told = now;
            }
            let next = Instant::now() + Duration::from_secs(u64::from(seconds));
            while Instant::now() < next && !stop.is_requested() {
                std::thread::sleep(LOOK);
            }
        }
        Ok(())
    }

    fn write(&self, page: &Page) -> Result<(), ReportError> {
        Ok(output::write(&self.path(), page.to_html()?.as_bytes())?)
    }

    fn path(&self) -> PathBuf {
        self.out.clone().unwrap_or_else(|| self.folder.join("report.html"))
    }

    /// What a page shows beside trials: finals, and the config.
    fn files(&self) -> [PathBuf; 2] {
        let listed = self.config.clone().unwrap_or_else(|| self.folder.join("best_config.json"));
        [self.folder.join(Results::FILE), listed]
    }

    fn page(&self) -> Result<Page, ReportError> {
        let journal = folder::journal(&self.folder);
        if self.source.study.is_none() && !journal.exists() {
            return Err(ReportError::NoJournal(journal));
        }
        let trials = self.source.trials(&journal)?;
        if trials.is_empty() {
            return Err(ReportError::Empty(journal));
        }
        let [path, listed] = self.files();
        let config = match &self.config {
            Some(path) => Config::load(path)?,
            None if listed.exists() => Config::load(&listed)?,
            None => Config::default(),
        };
        let results = Results::load(&path).unwrap_or_else(|reason| {
            errln!("{}: {reason}; the page does without: tune again to write it anew", path.display());
            Results::default()
        });
        Ok(Page::new(trials, results, config, timestamp()))
    }
}

/// The page of trials that were read from nowhere.
#[cfg(test)]
pub fn page_of(trials: Vec<crate::trial::Trial>, results: Results, config: Config) -> Result<String, ReportError> {
    Ok(Page::new(trials, results, config, timestamp()).to_html()?)
}
