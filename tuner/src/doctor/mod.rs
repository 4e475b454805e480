//! `tuner doctor`: whether this machine can build, tune and measure, and what to do where it cannot.

mod check;
mod config;
mod files;
mod gpu;
mod nvcc;

use std::path::PathBuf;
use std::process::ExitCode;

pub use check::Diagnosis;

use crate::checkout::{DEFAULT_CONFIG, own_spaces};
use crate::folder;

/// Check what tuning needs: driver, GPU, nvcc, config, caches, recorded spaces.
///
/// Nothing is changed but the caches.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXIT_CODES)]
pub struct DoctorArgs {
    /// The config in use.
    #[arg(long, value_name = "FILE", default_value = DEFAULT_CONFIG)]
    pub config: PathBuf,
    /// The output folder, which also keeps the compiled kernels.
    #[arg(long, value_name = "DIR", default_value = folder::DEFAULT)]
    pub out: PathBuf,
    /// Where recorded spaces are [default: the tuner's own].
    #[arg(long, value_name = "DIR")]
    pub spaces: Option<PathBuf>,
    /// Print the checks as JSON.
    #[arg(long)]
    pub json: bool,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  nothing is broken; what is missing is only needed for what its line says
  1  something is there and does not work";

impl DoctorArgs {
    /// Checks, prints, and says by the exit code whether something is broken.
    pub fn run(&self) -> ExitCode {
        let diagnosis = self.diagnose();
        if self.json {
            outln!("{}", diagnosis.to_json());
        } else {
            out!("{diagnosis}");
        }
        if diagnosis.is_broken() { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }

    /// Every check, in the order in which a person would make them.
    pub fn diagnose(&self) -> Diagnosis {
        let cache = folder::kernels(&self.out);
        let spaces = self.spaces.clone().unwrap_or_else(own_spaces);
        let mut checks = gpu::checks();
        checks.push(gpu::cublas_lt());
        checks.extend(nvcc::checks(&cache));
        checks.extend(config::checks(&self.config));
        checks.extend(files::caches(&cache));
        checks.push(files::spaces(&spaces));
        checks.push(files::llm_key());
        Diagnosis { checks }
    }
}
