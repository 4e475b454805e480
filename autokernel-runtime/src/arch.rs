//! GPU architectures: what an image was compiled for, and what it therefore runs on.

use std::fmt;
use std::str::FromStr;

use crate::Error;

/// A GPU's compute capability, such as 9.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComputeCapability {
    /// The part before the dot: the generation.
    pub major: u8,
    /// The part after the dot.
    pub minor: u8,
}

impl ComputeCapability {
    /// A compute capability from its two parts.
    pub const fn new(major: u8, minor: u8) -> Self {
        Self { major, minor }
    }
}

impl fmt::Display for ComputeCapability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Which instructions an architecture name allows, and so how far its images travel.
///
/// See "GPU feature list" in NVIDIA's nvcc manual.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Features {
    /// No suffix: the baseline that later GPUs keep.
    Baseline,
    /// Suffix `f`: instructions shared by a family (same generation, same or later minor).
    Family,
    /// Suffix `a`: instructions of exactly one compute capability (`sm_90a`: wgmma, TMA multicast).
    Specific,
}

/// What an image was compiled for: `sm_80`, `sm_90a`, …
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Arch {
    /// The compute capability in the name.
    pub capability: ComputeCapability,
    /// The suffix in the name.
    pub features: Features,
}

impl Arch {
    /// `sm_80`: the portable family's architecture.
    pub const SM_80: Self = Self::new(8, 0, Features::Baseline);
    /// `sm_90a`: Hopper with its own instructions.
    pub const SM_90A: Self = Self::new(9, 0, Features::Specific);

    /// An architecture from its parts; `new(9, 0, Features::Specific)` is `sm_90a`.
    pub const fn new(major: u8, minor: u8, features: Features) -> Self {
        Self { capability: ComputeCapability::new(major, minor), features }
    }

    /// Whether some image for this architecture, machine code or PTX, runs on a GPU of that compute capability.
    pub fn runs_on(self, gpu: ComputeCapability) -> bool {
        self.cubin_runs_on(gpu) || self.ptx_runs_on(gpu)
    }

    /// Whether machine code runs: the same generation and at least this minor; `sm_90a` exactly on 9.0.
    pub fn cubin_runs_on(self, gpu: ComputeCapability) -> bool {
        match self.features {
            Features::Baseline | Features::Family => {
                gpu.major == self.capability.major && gpu.minor >= self.capability.minor
            }
            Features::Specific => gpu == self.capability,
        }
    }

    /// Whether PTX runs (the driver compiles it): any later GPU for the baseline, else as far as machine code goes.
    pub fn ptx_runs_on(self, gpu: ComputeCapability) -> bool {
        match self.features {
            Features::Baseline => gpu >= self.capability,
            Features::Family | Features::Specific => self.cubin_runs_on(gpu),
        }
    }

    /// Order of preference among architectures that run: later capability first, then more instructions.
    pub(crate) fn preference(self) -> (ComputeCapability, Features) {
        (self.capability, self.features)
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.features {
            Features::Baseline => "",
            Features::Family => "f",
            Features::Specific => "a",
        };
        write!(f, "sm_{}{}{suffix}", self.capability.major, self.capability.minor)
    }
}

impl FromStr for Arch {
    type Err = Error;

    /// Parses `sm_80` or `sm_90a`.
    ///
    /// # Errors
    /// [`Error::UnknownArch`] for anything else.
    fn from_str(text: &str) -> Result<Self, Error> {
        parse(text).ok_or_else(|| Error::UnknownArch { name: text.to_owned() })
    }
}

fn parse(text: &str) -> Option<Arch> {
    let name = text.strip_prefix("sm_")?;
    let (digits, features) = match name.as_bytes().last()? {
        b'a' => (&name[..name.len() - 1], Features::Specific),
        b'f' => (&name[..name.len() - 1], Features::Family),
        _ => (name, Features::Baseline),
    };
    if digits.len() < 2 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (major, minor) = digits.split_at(digits.len() - 1);
    Some(Arch::new(major.parse().ok()?, minor.parse().ok()?, features))
}

#[cfg(test)]
mod tests {
    use super::*;

    const CC: fn(u8, u8) -> ComputeCapability = ComputeCapability::new;

    #[test]
    fn names_survive_a_round_trip() {
        for name in ["sm_80", "sm_89", "sm_90a", "sm_100f", "sm_120a"] {
            assert_eq!(name.parse::<Arch>().unwrap().to_string(), name);
        }
    }

    #[test]
    fn a_name_that_is_no_arch_is_refused_with_an_example() {
        for name in ["", "sm_", "sm_8", "80", "sm_9x", "sm_a", "compute_80", "sm_9é", "sm_99990"] {
            let text = name.parse::<Arch>().unwrap_err().to_string();
            assert!(text.contains("sm_90a"), "{text}");
        }
    }

    #[test]
    fn sm_90a_runs_on_hopper_and_nowhere_else() {
        assert!(Arch::SM_90A.runs_on(CC(9, 0)));
        for gpu in [CC(8, 0), CC(8, 9), CC(9, 1), CC(10, 0), CC(12, 0)] {
            assert!(!Arch::SM_90A.runs_on(gpu), "{gpu}");
        }
    }

    #[test]
    fn sm_80_machine_code_stays_in_its_generation_and_its_ptx_travels_on() {
        assert!(Arch::SM_80.cubin_runs_on(CC(8, 0)) && Arch::SM_80.cubin_runs_on(CC(8, 9)));
        assert!(!Arch::SM_80.cubin_runs_on(CC(9, 0)) && Arch::SM_80.ptx_runs_on(CC(9, 0)));
        assert!(Arch::SM_80.runs_on(CC(12, 0)));
        assert!(!Arch::SM_80.runs_on(CC(7, 5)));
    }

    #[test]
    fn machine_code_does_not_run_on_an_earlier_minor() {
        let sm_86 = Arch::new(8, 6, Features::Baseline);
        assert!(!sm_86.runs_on(CC(8, 0)) && sm_86.cubin_runs_on(CC(8, 9)));
    }
}
