//! Building the pack's programs with cargo, and finding what it built.

use std::collections::BTreeSet;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use cargo_metadata::camino::Utf8PathBuf;
use cargo_metadata::{Message, PackageId, Target, TargetKind};

use super::contents::Program;
use crate::{cargo, shell};

/// The profile in the workspace's Cargo.toml: release, stripped.
const PROFILE: &str = "gpu-pack";

/// A program that was built.
pub struct Built {
    pub path_in_pack: String,
    pub file: PathBuf,
}

/// What cargo reports of an executable that it made.
struct Executable {
    package: PackageId,
    target: Target,
    file: Utf8PathBuf,
}

/// Builds every program in one cargo run, and returns them in the order of `programs`.
pub fn programs(root: &Path, programs: &[Program]) -> Result<Vec<Built>> {
    if programs.is_empty() {
        return Ok(Vec::new());
    }
    let mut command = cargo::command(root);
    command.args(["build", "--profile", PROFILE, "--message-format", "json-render-diagnostics"]);
    command.args(arguments(programs));
    // A GPU is to run all that kernels carry.
    command.env_remove("AUTOKERNEL_IMAGES");
    println!("{}", shell::display(&command));
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .context("cargo does not start: run this as `cargo xtask gpu-pack`")?;
    let mut executables = Vec::new();
    if let Some(output) = child.stdout.take() {
        for message in Message::parse_stream(BufReader::new(output)) {
            if let Message::CompilerArtifact(artifact) = message.context("cargo printed no JSON message")?
                && let Some(file) = artifact.executable
            {
                executables.push(Executable { package: artifact.package_id, target: artifact.target, file });
            }
        }
    }
    if !child.wait()?.success() {
        bail!("the build for the GPU pack failed, see above");
    }
    programs.iter().map(|program| find(&executables, program)).collect()
}

fn find(executables: &[Executable], program: &Program) -> Result<Built> {
    let is_built = |built: &&Executable| {
        built.package == program.package_id
            && built.target.name == program.target
            && built.target.kind.contains(&program.kind)
    };
    let built = executables
        .iter()
        .find(is_built)
        .with_context(|| format!("cargo built no {} `{}` of {}", program.kind, program.target, program.package))?;
    Ok(Built { path_in_pack: program.path_in_pack(), file: built.file.clone().into_std_path_buf() })
}

/// `--package P … --test T … --features P/F …` for `programs`, each once: two packages may have a target of one name.
fn arguments(programs: &[Program]) -> Vec<String> {
    let packages: BTreeSet<_> = programs.iter().map(|program| ("--package", &program.package)).collect();
    let targets: BTreeSet<_> = programs.iter().map(|program| (flag(&program.kind), &program.target)).collect();
    let of_program =
        |program: &Program| program.features.iter().map(|it| format!("{}/{it}", program.package)).collect::<Vec<_>>();
    let features: BTreeSet<_> = programs.iter().flat_map(of_program).collect();
    let named = packages.into_iter().chain(targets).map(|(flag, name)| (flag, name.clone()));
    let features = features.into_iter().map(|feature| ("--features", feature));
    named.chain(features).flat_map(|(flag, name)| [flag.to_owned(), name]).collect()
}

fn flag(kind: &TargetKind) -> &'static str {
    match kind {
        TargetKind::Test => "--test",
        TargetKind::Bench => "--bench",
        TargetKind::Example => "--example",
        _ => "--bin",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_package_target_and_required_feature_is_named_once() {
        let program = |package: &str, kind, target: &str, features: &[&str]| Program {
            folder: "any",
            package: package.to_owned(),
            package_id: PackageId { repr: format!("path+file:///{package}#0.1.0") },
            target: target.to_owned(),
            kind,
            features: features.iter().map(|&feature| feature.to_owned()).collect(),
        };
        let arguments = arguments(&[
            program("autokernel-cuda", TargetKind::Test, "gpu", &["speed"]),
            program("tuner", TargetKind::Test, "gpu", &[]),
            program("autokernel-cuda", TargetKind::Bench, "matmul", &["speed"]),
        ]);
        let expected =
            "--package autokernel-cuda --package tuner --bench matmul --test gpu --features autokernel-cuda/speed";
        assert_eq!(arguments.join(" "), expected);
    }
}
