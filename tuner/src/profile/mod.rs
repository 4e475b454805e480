//! `tuner profile`: what bounds a kernel, how full it keeps a GPU, and what to try next. Needs no GPU.

mod advice;
mod args;
mod document;
mod emulated;
mod error;
mod kernel;
mod line;
mod machine;
mod text;
mod time;
mod work;

use autokernel_codegen::config::Config;

pub use args::ProfileArgs;
pub use document::Profile;
pub use error::ProfileError;

use crate::checkout::own_spaces;
use crate::replay::Library;
use crate::target::Target;

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
        let (problem, shape) = self.asked()?;
        let target = Target { problem, arch: machine.arch(&config), shape };
        let kernel = kernel::profile(self, &config, &machine, &target)?;
        let emulated = match &kernel {
            Some(kernel) if self.emulate => Some(emulated::profile(&self.out, &machine, &target, kernel)?),
            _ => None,
        };
        let work = work::profile(&target, &machine, kernel.as_ref());
        let library = Library::load(&self.spaces.clone().unwrap_or_else(own_spaces))?;
        let known = time::Sources { folder: &self.out, library: &library, config: &config, machine: &machine };
        let time = kernel.as_ref().and_then(|kernel| known.time(&target, &kernel.schedule, bench));
        let mut profile = Profile { version: 1, target, gpu: machine, work, kernel, emulated, time, next: Vec::new() };
        profile.next = advice::next(&profile);
        Ok(profile)
    }
}
