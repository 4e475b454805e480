//! Measurements for other tuners, and from them: the T4 format of the auto-tuning community, and Kernel Tuner's cache files.

pub mod cache_file;
mod cli;
mod error;
mod export;
mod format;
mod import;
pub mod t4;

pub(crate) use cli::{ExportArgs, ImportArgs};
