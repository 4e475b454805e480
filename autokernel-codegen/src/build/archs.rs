//! Which GPUs a crate's kernels are compiled for.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::process::Command;

use super::error::BuildError;
use crate::arch::{Arch, ComputeCapability};

/// Replaces the archs of the build script and of the config: `AUTOKERNEL_ARCHS=sm_86,sm_90a`, or `native`.
pub(super) const ARCHS_ENV: &str = "AUTOKERNEL_ARCHS";
/// Stands for the archs of the GPUs of the machine that compiles.
const NATIVE: &str = "native";

/// What `AUTOKERNEL_ARCHS` asks for; none where it is not set.
pub(super) fn from_environment() -> Result<Option<Vec<Arch>>, BuildError> {
    println!("cargo::rerun-if-env-changed={ARCHS_ENV}");
    asked(&std::env::var_os(ARCHS_ENV).unwrap_or_default())
}

/// Blank is not set: that is how a shell or a CI file takes a variable back.
fn asked(variable: &OsStr) -> Result<Option<Vec<Arch>>, BuildError> {
    match variable.to_string_lossy().trim() {
        "" => Ok(None),
        NATIVE => native().map(Some),
        text => listed(text).map(Some),
    }
}

/// The archs, in their order; a second image for one would serve nothing.
pub(super) fn each_once(mut archs: Vec<Arch>) -> Result<Vec<Arch>, BuildError> {
    let mut seen = BTreeSet::new();
    archs.retain(|arch| seen.insert(*arch));
    if archs.is_empty() { Err(BuildError::NoArch) } else { Ok(archs) }
}

fn listed(text: &str) -> Result<Vec<Arch>, BuildError> {
    Ok(text.split(',').map(|arch| arch.trim().parse()).collect::<Result<_, _>>()?)
}

/// Asks the driver's own tool: a build script loads no driver.
fn native() -> Result<Vec<Arch>, BuildError> {
    let output = Command::new("nvidia-smi").args(["--query-gpu=compute_cap", "--format=csv,noheader"]).output();
    let output = output.map_err(|error| BuildError::NoNativeArch(error.to_string()))?;
    capabilities(&String::from_utf8_lossy(&output.stdout))
}

/// The archs of GPUs whose capabilities stand a line each, as `9.0`.
fn capabilities(lines: &str) -> Result<Vec<Arch>, BuildError> {
    let parse = |line: &str| {
        let (major, minor) = line.trim().split_once('.')?;
        Some(Arch::of_gpu(ComputeCapability::new(major.parse().ok()?, minor.parse().ok()?)))
    };
    let archs: Option<Vec<Arch>> = lines.lines().map(parse).collect();
    let mut archs = archs.filter(|archs| !archs.is_empty());
    archs.iter_mut().for_each(|archs| {
        archs.sort();
        archs.dedup();
    });
    archs.ok_or_else(|| BuildError::NoNativeArch(format!("it printed `{}`", lines.trim())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blank_variable_is_one_that_is_not_set() {
        let asked = |text: &str| asked(text.as_ref()).unwrap();
        assert!(asked("").is_none() && asked("  ").is_none());
        assert_eq!(asked(" sm_90a ").unwrap(), [Arch::SM_90A]);
    }

    #[cfg(unix)]
    #[test]
    fn a_variable_that_is_no_text_names_no_arch() {
        let message = asked(std::os::unix::ffi::OsStrExt::from_bytes(b"sm_80\xff")).unwrap_err().to_string();
        assert!(
            message.starts_with("AUTOKERNEL_ARCHS: `sm_80") && message.contains("is not an architecture"),
            "{message}"
        );
    }

    #[test]
    fn an_arch_is_compiled_for_once_and_none_is_told() {
        let twice = vec![Arch::SM_90A, Arch::SM_80, Arch::SM_90A];
        assert_eq!(each_once(twice).unwrap(), [Arch::SM_90A, Arch::SM_80]);
        let message = each_once(Vec::new()).unwrap_err().to_string();
        assert!(message.contains("Build::archs") && message.contains("leave it out"), "{message}");
    }

    #[test]
    fn archs_are_listed_or_those_of_the_gpus_that_the_driver_names_each_once() {
        assert_eq!(listed("sm_80, sm_90a").unwrap(), [Arch::SM_80, Arch::SM_90A]);
        assert!(listed("sm_80,").unwrap_err().to_string().starts_with("AUTOKERNEL_ARCHS"));
        assert_eq!(capabilities("9.0\n8.0\n9.0\n").unwrap(), [Arch::SM_80, Arch::SM_90A]);
        for broken in ["", "No devices were found", "9.0\n[N/A]"] {
            let message = capabilities(broken).unwrap_err().to_string();
            assert!(message.contains("AUTOKERNEL_ARCHS") && message.contains("sm_90a"), "{message}");
        }
    }
}
