//! GPU architectures: what an image is compiled for, and what it therefore runs on.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::ComputeCapability;
use crate::gpu::Multiprocessor;

/// Which instructions an architecture's name unlocks, and so how far its images travel ("GPU feature list", NVIDIA's
/// nvcc manual).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Features {
    /// No suffix: the baseline, which later GPUs keep.
    Baseline,
    /// Suffix `f`: instructions that a family shares (the same generation, the same or a later minor).
    Family,
    /// Suffix `a`: instructions of exactly one compute capability (`sm_90a`: wgmma and multicast).
    Specific,
}

/// What an image is compiled for: `sm_80`, `sm_90a`, … Later capabilities are greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Arch {
    /// The compute capability in the name.
    pub capability: ComputeCapability,
    /// The suffix of the name.
    pub features: Features,
}

impl Arch {
    /// Ampere (A100): the oldest target, whose PTX runs on every later GPU.
    pub const SM_80: Arch = Arch::new(8, 0, Features::Baseline);
    /// Ada (L4, L40): the oldest target whose matrix units multiply 8-bit floats.
    pub const SM_89: Arch = Arch::new(8, 9, Features::Baseline);
    /// Hopper (H100, H200) with wgmma and TMA.
    pub const SM_90A: Arch = Arch::new(9, 0, Features::Specific);

    /// An architecture from its parts; `new(9, 0, Features::Specific)` is `sm_90a`.
    pub const fn new(major: u8, minor: u8, features: Features) -> Self {
        Arch { capability: ComputeCapability::new(major, minor), features }
    }

    /// The arch that is tuned for a GPU: on Hopper `sm_90a`, elsewhere the baseline.
    pub fn of_gpu(gpu: ComputeCapability) -> Self {
        if gpu == Arch::SM_90A.capability {
            return Arch::SM_90A;
        }
        Arch { capability: gpu, features: Features::Baseline }
    }

    /// The virtual target that nvcc's `-gencode arch=` takes: `compute_90a`.
    pub fn compute(self) -> String {
        self.to_string().replacen("sm", "compute", 1)
    }

    /// Shared memory that one block may have, in bytes.
    pub const fn shared_bytes_per_block(self) -> u32 {
        Multiprocessor::like(self.capability).shared_bytes_per_block
    }

    /// Whether some image for this arch, machine code or PTX, runs on a GPU.
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

    /// Whether PTX runs, which the driver compiles: on any later GPU for the baseline, else as far as machine code does.
    pub fn ptx_runs_on(self, gpu: ComputeCapability) -> bool {
        match self.features {
            Features::Baseline => gpu >= self.capability,
            Features::Family | Features::Specific => self.cubin_runs_on(gpu),
        }
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

/// An architecture's name that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not an architecture; write it as nvcc does, for example sm_80 or sm_90a (8.0 is the oldest supported)"
)]
pub struct ParseArchError(String);

impl FromStr for Arch {
    type Err = ParseArchError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text)
            .filter(|arch| arch.capability >= Arch::SM_80.capability)
            .ok_or_else(|| ParseArchError(text.to_owned()))
    }
}

fn parse(text: &str) -> Option<Arch> {
    let name = text.strip_prefix("sm_")?;
    let (digits, features) = match name.as_bytes().last()? {
        b'a' => (&name[..name.len() - 1], Features::Specific),
        b'f' => (&name[..name.len() - 1], Features::Family),
        _ => (name, Features::Baseline),
    };
    if !(2..=3).contains(&digits.len()) || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (major, minor) = digits.split_at(digits.len() - 1);
    Some(Arch::new(major.parse().ok()?, minor.parse().ok()?, features))
}

impl Serialize for Arch {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Arch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Arch {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Arch".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "pattern": "^sm_[0-9]{2,3}[af]?$",
            "description": "A compile target, as nvcc names it: sm_80, sm_90a, …"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CC: fn(u8, u8) -> ComputeCapability = ComputeCapability::new;

    #[test]
    fn an_arch_reads_back_what_it_prints() {
        for name in ["sm_80", "sm_89", "sm_90a", "sm_100f", "sm_120a"] {
            assert_eq!(name.parse::<Arch>().unwrap().to_string(), name);
        }
    }

    #[test]
    fn a_name_that_is_no_supported_arch_is_refused_with_an_example() {
        for name in ["", "90a", "sm_", "sm_9", "sm_75", "sm_9x", "sm_90b", "sm_a", "compute_90", "sm_9é", "sm_99990"] {
            let text = name.parse::<Arch>().unwrap_err().to_string();
            assert!(text.contains("sm_90a"), "{text}");
        }
    }

    #[test]
    fn the_virtual_target_keeps_the_suffix() {
        assert_eq!(Arch::SM_90A.compute(), "compute_90a");
    }

    #[test]
    fn each_gpu_has_one_arch_that_is_tuned_for_it() {
        let of = |major, minor| Arch::of_gpu(CC(major, minor)).to_string();
        assert_eq!([of(8, 6), of(9, 0), of(12, 0)], ["sm_86", "sm_90a", "sm_120"]);
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

    #[test]
    fn later_archs_are_greater_and_their_own_instructions_break_ties() {
        let sm_90 = Arch::new(9, 0, Features::Baseline);
        assert!(Arch::SM_80 < sm_90 && sm_90 < Arch::SM_90A);
    }
}
