//! Measurements for other tuners, and from them: the T4 format of the auto-tuning community.

mod cli;
mod error;
mod export;
mod import;
pub mod t4;

pub use cli::{ExportArgs, Format, ImportArgs};
pub use error::ExchangeError;
pub use export::{Exported, export};
pub use import::import;
