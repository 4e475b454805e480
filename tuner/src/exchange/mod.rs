//! Measurements for other tuners, and from them: the T4 format of the auto-tuning community.

mod cli;
mod error;
mod export;
mod import;
pub mod t4;

pub(crate) use cli::{ExportArgs, ImportArgs};
