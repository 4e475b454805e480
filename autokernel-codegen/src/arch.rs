//! GPU architectures, as nvcc names them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A compile target: a compute capability, and for some the `a` that unlocks its own instructions.
///
/// `sm_90a` code runs on compute capability 9.0 alone; `sm_80` PTX runs on every later GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Arch {
    /// Compute capability, major number.
    pub major: u32,
    /// Compute capability, minor number.
    pub minor: u32,
    /// Whether the target is architecture-specific (`sm_90a`).
    pub specific: bool,
}

impl Arch {
    /// Ampere (A100): the oldest target, whose PTX runs on every later GPU.
    pub const SM_80: Arch = Arch { major: 8, minor: 0, specific: false };
    /// Hopper (H100, H200) with wgmma and TMA.
    pub const SM_90A: Arch = Arch { major: 9, minor: 0, specific: true };

    /// The arch whose images serve a device of this compute capability best, among `sm_80` and `sm_90a`.
    pub fn of_device(major: u32, minor: u32) -> Arch {
        match (major, minor) {
            (9, 0) => Arch::SM_90A,
            _ => Arch { major, minor, specific: false },
        }
    }

    /// The virtual target that `-gencode arch=` takes: `compute_90a`.
    pub fn compute(self) -> String {
        self.to_string().replacen("sm", "compute", 1)
    }

    /// Shared memory one block may have, in bytes
    /// (CUDA C++ Programming Guide, "Compute Capabilities", table of technical specifications).
    pub fn shared_bytes_per_block(self) -> u32 {
        match (self.major, self.minor) {
            (8, 0) | (8, 7) => 163 << 10,
            (8, _) | (12, _) => 99 << 10,
            _ => 227 << 10,
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = if self.specific { "a" } else { "" };
        write!(f, "sm_{}{}{suffix}", self.major, self.minor)
    }
}

/// An architecture name that could not be read.
#[derive(Debug, thiserror::Error)]
#[error(
    "`{0}` is not an architecture; write it as nvcc does, for example sm_80 or sm_90a (8.0 is the oldest supported)"
)]
pub struct ParseArchError(String);

impl FromStr for Arch {
    type Err = ParseArchError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let refused = || ParseArchError(text.to_owned());
        let name = text.strip_prefix("sm_").ok_or_else(refused)?;
        let (digits, specific) = match name.strip_suffix('a') {
            Some(digits) => (digits, true),
            None => (name, false),
        };
        let number: u32 = digits.parse().map_err(|_| refused())?;
        if !(80..200).contains(&number) {
            return Err(refused());
        }
        Ok(Arch { major: number / 10, minor: number % 10, specific })
    }
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
            "pattern": "^sm_[0-9]{2,3}a?$",
            "description": "A compile target, as nvcc names it: sm_80, sm_90a, …"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arch_reads_back_what_it_prints() {
        for name in ["sm_80", "sm_86", "sm_90a", "sm_100a", "sm_120"] {
            assert_eq!(name.parse::<Arch>().unwrap().to_string(), name);
        }
    }

    #[test]
    fn names_that_nvcc_would_not_know_are_refused() {
        for name in ["", "90a", "sm_", "sm_9", "sm_75", "sm_90b", "compute_90"] {
            assert!(name.parse::<Arch>().is_err(), "{name}");
        }
    }

    #[test]
    fn the_virtual_target_keeps_the_suffix() {
        assert_eq!(Arch::SM_90A.compute(), "compute_90a");
    }
}
