//! Random bodies of `#[autokernel::rows]` and `#[autokernel::fused_matmul]`: what anybody may write, compiled by a schedule
//! that passes the rules, and held against fp64.
//!
//! The build script draws and compiles them; here they are declared as a user declares kernels.

use autokernel::{AnyKernel, Arch};
use autokernel_codegen::problem::Problem;

mod all;
mod check;

pub use all::{cases, check_all};
pub use check::{Checked, check};

/// A declaration that was drawn.
pub struct Body {
    /// Draws it again.
    pub seed: u64,
    /// Its text.
    pub source: &'static str,
    /// The schedule that was drawn for it.
    pub schedule: &'static str,
    /// Why nvcc refused it, if so.
    pub refused: Option<&'static str>,
    /// What launches it.
    pub kernel: &'static AnyKernel,
}

#[allow(unused, clippy::all, reason = "drawn, and not written by anyone")]
mod drawn {
    use super::Body;

    include!(concat!(env!("OUT_DIR"), "/bodies.rs"));
}

pub use drawn::BODIES;

impl Body {
    /// What it computes, as the build embedded it.
    ///
    /// # Panics
    /// The build embedded what cannot be read.
    pub fn problem(&self) -> Problem {
        let descriptor = self.kernel.descriptor().expect("what the build embedded can be read");
        serde_json::from_str(&descriptor.problem).expect("what the build embedded can be read")
    }

    /// The arch that its image was compiled for; none without an image.
    ///
    /// # Panics
    /// The build embedded what cannot be read.
    pub fn arch(&self) -> Option<Arch> {
        let descriptor = self.kernel.descriptor().expect("what the build embedded can be read");
        descriptor.variants.iter().find(|variant| variant.image.is_some()).map(|variant| variant.arch)
    }

    /// What repeats a failure, and what failed.
    pub fn describe(&self) -> String {
        let Body { seed, source, schedule, .. } = self;
        let soak = if std::env::var_os("AUTOKERNEL_SOAK").is_some() { "AUTOKERNEL_SOAK=1 " } else { "" };
        format!(
            "repeat it with: {soak}AUTOKERNEL_SEED={seed} AUTOKERNEL_BODIES=1 cargo test -p random-bodies\n{schedule}\n\
             {source}"
        )
    }
}
