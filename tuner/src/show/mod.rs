//! `tuner show`: what is tuned, on what, how old it is, and what should be tuned again.

mod finding;
mod here;
mod listing;
mod text;

use std::path::PathBuf;

use autokernel_codegen::config::{Config, ConfigError};

pub use here::Here;
pub use listing::Listing;

use crate::checkout::{DEFAULT_CONFIG, own_spaces};
use crate::filter::Filter;
use crate::replay::{Library, RecordingError};

/// List the tuned entries, how old they are, and which should be tuned again.
#[derive(Clone, Debug, clap::Args)]
pub struct ShowArgs {
    /// Which entries.
    #[command(flatten)]
    pub filter: Filter,
    /// The config whose entries are listed.
    #[arg(long, value_name = "FILE", default_value = DEFAULT_CONFIG)]
    pub config: PathBuf,
    /// Where recorded spaces are, which say what is missing and what is faster [default: the tuner's own].
    #[arg(long, value_name = "DIR")]
    pub spaces: Option<PathBuf>,
    /// Print the listing as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Why there is no listing.
#[derive(Debug, thiserror::Error)]
pub enum ShowError {
    /// The config cannot be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A recorded space cannot be read.
    #[error(transparent)]
    Recording(#[from] RecordingError),
}

impl ShowArgs {
    /// Prints the listing.
    ///
    /// # Errors
    /// The config or a recorded space cannot be read.
    pub fn run(&self) -> Result<(), ShowError> {
        let listing = self.listing()?;
        if self.json {
            outln!("{}", listing.to_json());
        } else {
            out!("{listing}");
        }
        Ok(())
    }

    /// The listing.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn listing(&self) -> Result<Listing, ShowError> {
        let config = Config::load(&self.config)?;
        let library = Library::load(&self.spaces.clone().unwrap_or_else(own_spaces))?;
        Ok(Listing::new(&config, &library, &self.filter, &Here::now()))
    }
}
