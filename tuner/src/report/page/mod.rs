//! The HTML page of `tuner report`. Its only parts are HTML, CSS and SVG in one file: no script, nothing from a network.

mod curve;
mod data;
mod knobs;
mod plot;
mod roof;
mod sections;
mod tables;

use autokernel_codegen::config::Config;

pub use data::Page;

use super::chart::ChartError;
use super::document::Results;
use crate::trial::Trial;

impl Page {
    /// A page of `trials`, with what is known of their finals and the entries of `config`.
    pub fn new(trials: Vec<Trial>, results: Results, config: Config, written: String) -> Self {
        let tunings = data::tunings(trials, results);
        Page { tunings, config, written, refresh_s: None }
    }

    /// The same page, which a browser loads again every so many seconds.
    pub fn refreshing(self, seconds: u32) -> Self {
        Page { refresh_s: Some(seconds), ..self }
    }

    /// How many trials it shows.
    pub fn trials(&self) -> usize {
        self.tunings.iter().map(|tuning| tuning.trials.len()).sum()
    }

    /// The page.
    ///
    /// # Errors
    /// A chart cannot be drawn.
    pub fn to_html(&self) -> Result<String, ChartError> {
        Ok(sections::page(self)?.into_string())
    }
}
