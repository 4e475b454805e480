//! `cargo xtask soak`: checks that are too long for every run, with their results written beside them.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::{cargo, shell};

/// What lengthens the tests: every image of a portfolio with bodies and of attention, bodies in every mode, batches by every kind of
/// schedule, and of the emulator every mutant of our headers, many orders of events, a million changed programs, and a sample of the space
/// of schedules.
const LENGTHS: [(&str, &str); 3] =
    [("AUTOKERNEL_SOAK", "1"), ("AUTOKERNEL_FUZZ", "1000000"), ("AUTOKERNEL_SCHEDULES", "150")];

/// What became of each mutant, a line each.
const MUTANTS: &str = "autokernel-emulator/tests/all/mutants/results.txt";

/// Crates that test a second operation, each behind its feature `sketch`: among all operations it changes the schema and
/// the headers that other tests hold, so that they are built a second time.
const SKETCHED: [&str; 2] = ["autokernel-emulator", "tuner"];

/// Random bodies of both attributes, by schedules of any size.
const BODIES: [(&str, &str); 4] =
    [("AUTOKERNEL_SOAK", "1"), ("AUTOKERNEL_BODIES", "300"), ("AUTOKERNEL_SEED", "5000"), ("AUTOKERNEL_CASES", "12")];

/// Runs the long tests: about an hour on two cores.
pub fn run(root: &Path) -> Result<()> {
    let mut command = cargo::command(root);
    command.args(["build", "--workspace", "--all-targets"]).env_remove("AUTOKERNEL_IMAGES");
    passes(&mut command, "an image that a declared kernel carries does not compile, see above")?;
    for package in SKETCHED {
        let mut command = cargo::command(root);
        command.args(["test", "--package", package, "--features", "sketch", "--test", "sketch"]);
        passes(&mut command, "the seam between operations has a fault, see above")?;
    }
    let mut command = cargo::command(root);
    command.args(["test", "--release", "--package", "tuner", "--features", "study", "--lib", "fuzz"]).envs(LENGTHS);
    passes(&mut command, "a journal or a config was misread, see above; a seed that is named there repeats it")?;
    let mut command = cargo::command(root);
    command.args(["test", "--release", "--package", "tuner", "--features", "study", "--test", "study"]).envs(LENGTHS);
    command.args(["--", "--nocapture", "--test-threads", "1"]);
    passes(&mut command, "a study lost or doubled a trial, or is too slow, see above")?;
    let mut command = cargo::command(root);
    command
        .args(["test", "--package", "autokernel-codegen", "--test", "bodies_compile", "--test", "attention_compiles"])
        .envs(LENGTHS);
    passes(&mut command, "an image that kernels carry spills, see above")?;
    let mut command = cargo::command(root);
    command.args(["test", "--package", "gpu-tests", "--test", "declared_bodies", "--test", "resources"]);
    command.envs(LENGTHS).env_remove("AUTOKERNEL_IMAGES");
    passes(&mut command, "a body gives something else in a mode of its schedule, or a kernel spills, see above")?;
    let mut command = cargo::command(root);
    command.args(["test", "--package", "batch-tests", "--test", "schedules"]).envs(LENGTHS);
    passes(&mut command, "a batch gives something else by a kind of schedule, see above")?;
    let mut command = cargo::command(root);
    command.args(["test", "--package", "random-bodies", "--no-fail-fast", "--", "--nocapture"]).envs(BODIES);
    passes(&mut command, "a random body is wrong, see above; the command that is named there repeats it")?;
    let mut command = cargo::command(root);
    command.args(["test", "--package", "autokernel-emulator", "--no-fail-fast"]);
    command.envs(LENGTHS).env("AUTOKERNEL_MUTANT_RESULTS", root.join(MUTANTS));
    passes(&mut command, "the soak found a fault, see above; a seed that is named there repeats it")
}

fn passes(command: &mut Command, otherwise: &str) -> Result<()> {
    println!("{}", shell::display(command));
    if !command.status()?.success() {
        bail!("{otherwise}");
    }
    Ok(())
}
