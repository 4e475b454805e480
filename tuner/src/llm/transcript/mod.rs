//! Exchanges with a model on disk: JSON lines, appended as they happen, and answered from again.

mod exchange;
mod record;
mod replay;
mod resume;

pub use exchange::{Exchange, Fault, prompt_hash};
pub use record::Recorder;
pub use replay::Replayed;
pub use resume::Resumed;
