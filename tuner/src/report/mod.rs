//! What a run leaves behind: the history as CSV, two charts, and a summary for people.

pub(crate) mod chart;
mod curve;
mod history;
mod result;
mod roofline;
mod summary;

pub use chart::ChartError;
pub use curve::learning_curves;
pub use history::history_csv;
pub use result::TargetResult;
pub use roofline::roofline;
pub use summary::summary;
