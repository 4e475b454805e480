//! `cargo xtask test`: every check of the project, in the order in which they fail fastest.

pub mod beside;
mod libtest;
mod skip_log;
mod step;
mod summary;

use std::env::consts::{ARCH, OS};
use std::path::Path;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use autokernel_codegen::nvcc::Nvcc;
use clap::Args;

use self::beside::Beside;
use self::libtest::Tests;
use self::skip_log::{SKIP_LOG, SkipLog};
use self::step::Step;
use self::summary::{Finished, Summary};
use crate::{setup, shell, toolkit};

/// Run every check: formatting, clippy, tests, docs. Installs nvcc first if no toolkit is found.
#[derive(Args)]
pub struct Options {
    /// Run this step alone.
    #[arg(long, value_enum, value_name = "STEP")]
    only: Option<Step>,
}

/// Runs the steps, stops at the first that fails, and ends with a summary either way.
pub fn run(root: &Path, options: &Options) -> Result<()> {
    let nvcc = nvcc(root)?;
    match &nvcc {
        Some(nvcc) => println!("nvcc {}: {}", nvcc.version, nvcc.path.display()),
        None => println!("No CUDA toolkit, and none to install on this platform: tests that need nvcc are skipped."),
    }
    let skip_log = SkipLog::create()?;
    let beside = Beside::start()?;
    let mut summary = Summary::default();
    let mut failed = Step::ALL
        .into_iter()
        .filter(|&step| options.only.is_none_or(|only| only == step))
        .find(|&step| !run_step(step, root, nvcc.as_ref(), &skip_log, &beside, &mut summary));
    if !take_in(beside, &mut summary) {
        failed = Some(Step::Tests);
    }
    summary.skipped = skip_log.read()?;
    print!("\n{summary}");
    match failed {
        None => Ok(()),
        Some(step) => bail!(
            "step `{step}` failed. It is this command: {}\nRerun it with: cargo xtask test --only {step}",
            shell::display(&step.command(root))
        ),
    }
}

/// The nvcc that is found, or the one that setup installs where it can.
fn nvcc(root: &Path) -> Result<Option<Nvcc>> {
    let found = toolkit::find(root)?;
    if found.is_some() || !setup::is_supported(OS, ARCH) {
        return Ok(found);
    }
    println!("No CUDA toolkit found: running `cargo xtask setup`.");
    setup::run(root, &setup::Options::default())?;
    let installed = toolkit::find(root)?;
    Ok(Some(installed.context("setup installed no nvcc: run `cargo xtask setup --force`")?))
}

/// Runs one step, reports whether it succeeded, and notes it in `summary`.
fn run_step(
    step: Step,
    root: &Path,
    nvcc: Option<&Nvcc>,
    skips: &SkipLog,
    beside: &Beside,
    summary: &mut Summary,
) -> bool {
    let mut command = step.command(root);
    println!("\n==> {step}: {}", shell::display(&command));
    // Build scripts of crates that tests create elsewhere must find the same toolkit.
    command.envs(nvcc.map(|nvcc| ("AUTOKERNEL_NVCC", &nvcc.path)));
    command.env(SKIP_LOG, skips.path());
    let started = Instant::now();
    let served = if step == Step::Tests { beside.serve(&mut command) } else { Ok(()) };
    let outcome = served.and_then(|()| step.run(&mut command));
    let seconds = started.elapsed().as_secs_f64();
    let succeeded = match outcome {
        Ok(outcome) => {
            summary.tests = summary.tests.take().or(outcome.tests);
            outcome.succeeded
        }
        Err(error) => {
            eprintln!("{error:#}");
            false
        }
    };
    println!("<== {step}: {} in {seconds:.1} s", if succeeded { "ok" } else { "FAILED" });
    summary.steps.push(Finished { step, started, seconds, succeeded });
    succeeded
}

/// Waits for the test binaries that ran beside the others, shows what they said, and counts them to the tests. Whether all succeeded.
fn take_in(beside: Beside, summary: &mut Summary) -> bool {
    let all = beside.finish();
    let succeeded = all.iter().all(|ran| ran.succeeded);
    for ran in all {
        println!("\n     Beside the others {}\n{}", ran.program.display(), ran.output.trim_end());
        let tests = summary.tests.get_or_insert_with(Tests::default);
        ran.output.lines().for_each(|line| tests.read_line(line));
        if let Some(tests) = summary.steps.iter_mut().find(|finished| finished.step == Step::Tests) {
            tests.succeeded &= ran.succeeded;
            tests.seconds = tests.seconds.max((ran.ended - tests.started).as_secs_f64());
        }
    }
    succeeded
}
