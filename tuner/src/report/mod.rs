//! What a run leaves behind: the history as CSV, two charts, a summary for people, one for programs, and the page of
//! `tuner report`.

pub(crate) mod chart;
mod cli;
mod curve;
mod document;
mod history;
mod level;
mod page;
mod rate;
mod result;
mod roofline;
mod summary;
mod under_roof;

pub(crate) use chart::ChartError;
pub(crate) use cli::ReportArgs;
#[cfg(test)]
pub(crate) use cli::page_of;
pub use curve::learning_curves;
pub use document::Results;
pub use document::TargetDocument;
pub(crate) use document::VERSION;
pub use history::history_csv;
pub use result::TargetResult;
pub use roofline::roofline;
pub(crate) use summary::summary;
