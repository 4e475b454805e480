//! The command line of `compare`.

use std::path::PathBuf;

use autokernel_core::Extents;
use clap::Args;

use crate::llm::LlmArgs;
use crate::options::{not_negative, shape};
use crate::strategy_name::StrategyName;

/// Hold strategies against each other on recorded spaces, at equal budgets and over many seeds.
#[derive(Clone, Debug, Args)]
pub struct CompareArgs {
    /// Who competes, separated by commas: random, local, surrogate, llm, hybrid.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', default_value = "random,local,surrogate")]
    pub strategies: Vec<StrategyName>,
    /// Recorded spaces: files, or names in the folder of recordings [default: all of that folder].
    #[arg(long, num_args = 1.., value_name = "NAME|FILE")]
    pub space: Vec<String>,
    /// Only this shape, as MxNxK; may be repeated.
    #[arg(long, value_name = "MxNxK", value_parser = shape)]
    pub shape: Vec<Extents>,
    /// Schedules that each search may try.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub evaluations: u32,
    /// Generations these are divided into.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub generations: u32,
    /// Searches of each strategy at each shape, with seeds from 0.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub seeds: u32,
    /// Where the table and the charts go.
    #[arg(long, value_name = "DIR", default_value = "compare-out")]
    pub out: PathBuf,
    /// The recorded replies of llm and hybrid: a folder with PROBLEM_SHAPE/reply-001.md and so on.
    #[arg(long, value_name = "DIR", conflicts_with = "llm")]
    pub replies: Option<PathBuf>,
    /// Tuned entries whose schedules searches begin with, those for the shape itself excepted [default: none].
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Where recorded spaces are [default: the tuner's own].
    #[arg(long, value_name = "DIR")]
    pub spaces: Option<PathBuf>,
    /// For the simulated seconds: what nvcc takes for an image on one core.
    #[arg(long, value_name = "S", default_value_t = 5.0, value_parser = not_negative)]
    pub nvcc_seconds: f64,
    /// For the simulated seconds: images compiled at once.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..))]
    pub compile_jobs: u16,
    /// The model of llm and hybrid, asked anew in every search; the caps are those of the whole comparison.
    #[command(flatten)]
    pub llm: LlmArgs,
}
