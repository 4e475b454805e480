//! `cargo xtask gpu-pack`: one archive with which a GPU machine without Rust and network can test,
//! measure and tune.
//!
//! The unpacked folder stands in for the workspace root: run.sh names it in `AUTOKERNEL_ROOT`, and
//! data files keep their workspace paths in it. Programs must therefore not rely on the build
//! machine's `CARGO_MANIFEST_DIR`.

mod archive;
mod build;
mod contents;
#[cfg(test)]
mod run_script_tests;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use cargo_metadata::{Metadata, MetadataCommand};
use clap::Args;

use self::archive::{Entry, Source};
use crate::{size, workspace};

/// Relative to the target folder.
const ARCHIVE: &str = "gpu-pack/autokernel-gpu-pack.tar.gz";
/// The archive's only top-level folder.
const TOP: &str = "autokernel-gpu-pack";
const RUN_SCRIPT: &str = include_str!("gpu_pack/run.sh");
/// Above this the archive becomes a burden to copy to a rented machine.
const SIZE_GOAL: u64 = 60 * size::MIB;

/// Pack GPU tests, benches, the tuner and examples for a GPU machine without Rust and network.
#[derive(Args)]
pub struct Options {
    /// Pack what there is, even if a part of the table of contents is missing.
    #[arg(long)]
    allow_missing: bool,
}

/// Builds the programs and writes the archive.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let metadata = MetadataCommand::new()
        .manifest_path(root.join("Cargo.toml"))
        .no_deps()
        .exec()
        .context("cargo metadata failed: the workspace's manifests do not load")?;
    let selection = contents::select(&metadata);
    let data = contents::data_files(root)?;
    let missing: Vec<_> = selection.missing.iter().chain(&data.missing).collect();
    if !missing.is_empty() {
        let list = missing.iter().map(|line| format!("\n  {line}")).collect::<String>();
        if !options.allow_missing {
            bail!("the pack would lack:{list}\nAdd it, or pack the rest with --allow-missing");
        }
        println!("The pack lacks:{list}");
    }

    let programs = build::programs(root, &selection.programs)?;
    let mut entries = vec![Entry::program("run.sh", Source::Text(RUN_SCRIPT.to_owned()))];
    for program in programs {
        entries.push(Entry::program(program.path_in_pack, Source::File(program.file)));
    }
    for path in data.files {
        entries.push(Entry::data(path.display().to_string(), Source::File(root.join(path))));
    }
    entries.push(Entry::data("PROVENANCE.txt", Source::Text(provenance(root)?)));
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    let path = write(&metadata, &entries)?;
    report(root, &path, &entries)
}

fn write(metadata: &Metadata, entries: &[Entry]) -> Result<PathBuf> {
    let path = metadata.target_directory.join(ARCHIVE).into_std_path_buf();
    let dir = path.parent().context("the archive's path has no parent")?;
    fs::create_dir_all(dir).with_context(|| format!("cannot create {}", dir.display()))?;
    archive::write(&path, TOP, entries)?;
    Ok(path)
}

/// What the programs were built from and with.
fn provenance(root: &Path) -> Result<String> {
    let mut text = String::new();
    for words in [["git", "describe", "--always", "--dirty", "--abbrev=40"].as_slice(), &["rustc", "--version"]] {
        let output = std::process::Command::new(words[0]).args(&words[1..]).current_dir(root).output();
        let line = match &output {
            Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
            _ => "unknown".to_owned(),
        };
        writeln!(text, "{}: {line}", words[0])?;
    }
    Ok(text)
}

fn report(root: &Path, path: &Path, entries: &[Entry]) -> Result<()> {
    println!("\n{:>10}  file", "size");
    for entry in entries {
        println!("{:>10}  {}", size::mib(entry.source.length()?), entry.path);
    }
    let length = fs::metadata(path)?.len();
    println!("{:>10}  {}", size::mib(length), workspace::relative(path, root).display());
    if length > SIZE_GOAL {
        eprintln!("warning: the archive is larger than {}: drop programs from the table", size::mib(SIZE_GOAL));
    }
    println!("\nOn the GPU machine: tar -xzf {TOP}.tar.gz && {TOP}/run.sh all");
    Ok(())
}
