//! `tuner profile`: what bounds a kernel, how full it keeps a GPU, and what to try next. Needs no GPU.

mod advice;
mod kernel;
mod machine;
mod text;
mod time;
mod work;

use std::path::PathBuf;

use autokernel_codegen::config::{Config, ConfigError};
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::epilogue::Epilogue;
use autokernel_codegen::problem::{Layout, Problem};
use autokernel_codegen::shape::Shape;
use serde::Serialize;

pub use kernel::{Kernel, ResourcesFrom};
pub use machine::Machine;
pub use time::{Rate, Time};
pub use work::{Bound, Traffic, WorkProfile};

use crate::app::{DEFAULT_CONFIG, own_spaces};
use crate::filter;
use crate::folder;
use crate::replay::{Library, RecordingError};
use crate::target::Target;

/// Say what bounds a kernel, how full it keeps a GPU, and what to try next.
///
/// Times are measured if this machine's GPU is meant and nvcc is here; else they come from the output folder's journal,
/// a recorded space or the config, and the page says from which. Everything else is computed.
#[derive(Clone, Debug, clap::Args)]
pub struct ProfileArgs {
    /// What is applied to each element, for example gelu, leaky_relu(0.2) or identity.
    #[arg(long, value_parser = filter::epilogue, default_value = "leaky_relu")]
    pub epilogue: Epilogue,
    /// The layout: nn (B is [k, n]) or nt (B is [n, k]).
    #[arg(long, value_parser = filter::layout, default_value = "nt")]
    pub layout: Layout,
    /// The type of A and B: bf16 or f16.
    #[arg(long, value_parser = filter::input_type, default_value = "bf16")]
    pub dtype: Dtype,
    /// The type of C: that of A and B, or f32 [default: that of A and B].
    #[arg(long, value_parser = output_type)]
    pub output: Option<Dtype>,
    /// The shape, as MxNxK.
    #[arg(long, value_name = "MxNxK")]
    pub shape: Shape,
    /// A GPU of the datasheets, for example a100, h100, h200, b200, l40s, rtx4090 [default: this machine's, else h200].
    #[arg(long, value_name = "NAME")]
    pub gpu: Option<String>,
    /// `tuned` (what a build with the config uses), `default`, or a schedule as JSON.
    #[arg(long, value_name = "tuned|default|JSON", default_value = "tuned")]
    pub schedule: String,
    /// The config in use.
    #[arg(long, value_name = "FILE", default_value = DEFAULT_CONFIG)]
    pub config: PathBuf,
    /// The output folder, whose journal may know the time and which keeps the compiled kernels.
    #[arg(long, value_name = "DIR", default_value = folder::DEFAULT)]
    pub out: PathBuf,
    /// Where recorded spaces are [default: the tuner's own].
    #[arg(long, value_name = "DIR")]
    pub spaces: Option<PathBuf>,
    /// Print the profile as JSON.
    #[arg(long)]
    pub json: bool,
}

fn output_type(text: &str) -> Result<Dtype, String> {
    Dtype::from_name(text).ok_or_else(|| format!("`{text}` is not an element type; write bf16, f16 or f32"))
}

/// Why there is no profile.
#[derive(Debug, thiserror::Error)]
pub enum ProfileError {
    /// The GPU is not known.
    #[error("`{name}` is no GPU that is known here; known are {known}")]
    UnknownGpu {
        /// What was asked for.
        name: String,
        /// What could be.
        known: String,
    },
    /// The schedule cannot be read.
    #[error("--schedule: {0}; write tuned, default, or a schedule as in best_config.json")]
    Schedule(String),
    /// The output type does not go with the input type.
    #[error("{input} inputs give {input} or f32, not {output}; leave --output out, or write f32")]
    Output {
        /// The type of A and B.
        input: Dtype,
        /// The type that was asked for.
        output: Dtype,
    },
    /// The config cannot be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A recorded space cannot be read.
    #[error(transparent)]
    Recording(#[from] RecordingError),
}

/// All that is known of a kernel at a shape on a GPU.
#[derive(Clone, Debug, Serialize)]
pub struct Profile {
    /// The version of this document.
    pub version: u32,
    /// What is computed, at which shape, for which arch.
    pub target: Target,
    /// On which GPU.
    pub gpu: Machine,
    /// What it costs at least.
    pub work: WorkProfile,
    /// The kernel; none if the GPU runs none of autokernel's.
    pub kernel: Option<Kernel>,
    /// Its time; none if nobody measured it.
    pub time: Option<Time>,
    /// What to try next, the most promising first.
    pub next: Vec<String>,
}

impl ProfileArgs {
    /// Prints the profile.
    ///
    /// # Errors
    /// An option makes no sense, or a file cannot be read.
    pub fn run(&self) -> Result<(), ProfileError> {
        let profile = self.profile()?;
        if self.json {
            outln!("{}", serde_json::to_string_pretty(&profile).expect("a profile has only string keys"));
        } else {
            out!("{profile}");
        }
        Ok(())
    }

    /// The profile.
    ///
    /// # Errors
    /// As for [`run`](Self::run).
    pub fn profile(&self) -> Result<Profile, ProfileError> {
        let config = if self.config.exists() { Config::load(&self.config)? } else { Config::default() };
        let (machine, bench) = machine::find(self)?;
        let target = Target { problem: self.problem()?, arch: machine.arch(&config), shape: self.shape };
        let kernel = kernel::profile(self, &config, &machine, &target)?;
        let work = work::profile(&target, &machine, kernel.as_ref());
        let library = Library::load(&self.spaces.clone().unwrap_or_else(own_spaces))?;
        let known = time::Sources { folder: &self.out, library: &library, config: &config, machine: &machine };
        let time = kernel.as_ref().and_then(|kernel| known.time(&target, &kernel.schedule, bench));
        let mut profile = Profile { version: 1, target, gpu: machine, work, kernel, time, next: Vec::new() };
        profile.next = advice::next(&profile);
        Ok(profile)
    }

    fn problem(&self) -> Result<Problem, ProfileError> {
        let (input, output) = (self.dtype, self.output.unwrap_or(self.dtype));
        if output != input && output != Dtype::F32 {
            return Err(ProfileError::Output { input, output });
        }
        Ok(Problem { output, ..Problem::matmul(input, self.layout, self.epilogue.clone()) })
    }
}
