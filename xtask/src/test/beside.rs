//! Test binaries that run beside the others.
//!
//! Cargo runs one after the other, and some of them wait most of their time for a database, or for a compiler that has one thread to
//! run: on few cores that leaves one of them idle for minutes. Cargo is told to run test binaries by `xtask run-test`, which hands those
//! few to the `xtask test` that started it, so that cargo goes on with the next.

use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Args;
use serde::{Deserialize, Serialize};
use tempfile::{NamedTempFile, TempDir};

/// The test targets that are run so. None of them needs a GPU, which others measure, or is a measurement.
const BESIDE: [&str; 2] = ["consumer_build", "study"];
/// Names to `run-test` the folder in which it leaves what it hands over.
const FOLDER: &str = "AUTOKERNEL_TESTS_BESIDE";
/// How often that folder is looked at.
const POLL: Duration = Duration::from_millis(50);

/// Run a test binary as cargo asks for it, or hand it over: `test` has cargo call this.
#[derive(Args)]
pub struct Options {
    /// The binary and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<OsString>,
}

/// A test binary, to be run as cargo would.
#[derive(Serialize, Deserialize)]
struct Job {
    command: Vec<OsString>,
    folder: PathBuf,
    environment: Vec<(OsString, OsString)>,
}

/// A test binary that was run.
pub struct Ran {
    pub program: PathBuf,
    pub output: String,
    pub succeeded: bool,
    pub ended: Instant,
}

/// Runs what is handed over.
pub struct Beside {
    folder: TempDir,
    is_all: Arc<AtomicBool>,
    taking: JoinHandle<Vec<Ran>>,
}

impl Beside {
    pub fn start() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("autokernel-beside-").tempdir();
        let folder = folder.context("cannot create a temporary folder for test binaries: check TMPDIR")?;
        // A copy, as the build of the tests may write this program anew.
        let this = std::env::current_exe().context("the system does not say where this program lies")?;
        fs::copy(&this, runner(folder.path())).with_context(|| format!("cannot copy {}", this.display()))?;
        let is_all = Arc::new(AtomicBool::new(false));
        let taking = {
            let (folder, is_all) = (folder.path().to_owned(), is_all.clone());
            thread::spawn(move || take(&folder, &is_all))
        };
        Ok(Beside { folder, is_all, taking })
    }

    /// Has this `cargo test` hand over what is run beside.
    pub fn serve(&self, cargo: &mut Command) -> Result<()> {
        let runner = serde_json::to_string(&runner(self.folder.path()))?;
        cargo.args(["--config", &format!("target.'cfg(all())'.runner = [{runner}, \"run-test\"]")]);
        cargo.env(FOLDER, self.folder.path());
        Ok(())
    }

    /// Waits for all that was handed over.
    pub fn finish(self) -> Vec<Ran> {
        self.is_all.store(true, Ordering::Release);
        self.taking.join().expect("it does not panic")
    }
}

fn runner(folder: &Path) -> PathBuf {
    folder.join(format!("xtask{}", std::env::consts::EXE_SUFFIX))
}

/// Runs a test binary, or hands it over.
pub fn run(options: &Options) -> Result<()> {
    let command = options.command.clone();
    let folder = std::env::var_os(FOLDER).filter(|_| is_beside(Path::new(&command[0])));
    if let Some(folder) = folder {
        let environment = std::env::vars_os().filter(|(name, _)| name != FOLDER).collect();
        println!("{}: runs beside the others; what it says comes at the end", Path::new(&command[0]).display());
        return hand_over(Path::new(&folder), &Job { command, folder: std::env::current_dir()?, environment });
    }
    let (program, arguments) = command.split_first().expect("clap asks for one");
    let mut command = Command::new(program);
    command.args(arguments).env_remove(FOLDER);
    if !Path::new(program).parent().is_some_and(|folder| folder.ends_with("deps")) {
        // As rustdoc does without a runner, so that each example of the docs has a process of its own.
        command.env("RUSTDOC_DOCTEST_BIN_PATH", program);
    }
    let shown = || format!("{} does not start", Path::new(program).display());
    #[cfg(unix)]
    return Err(std::os::unix::process::CommandExt::exec(&mut command)).with_context(shown);
    #[cfg(not(unix))]
    std::process::exit(command.status().with_context(shown)?.code().unwrap_or(1));
}

/// Whether `program`, `target/debug/deps/NAME-0123456789abcdef`, is of a target that is run beside.
fn is_beside(program: &Path) -> bool {
    let name = program.file_stem().and_then(|name| name.to_str()?.rsplit_once('-'));
    name.is_some_and(|(name, _)| BESIDE.contains(&name))
}

fn hand_over(folder: &Path, job: &Job) -> Result<()> {
    let file = NamedTempFile::new_in(folder)?;
    serde_json::to_writer(&file, job)?;
    let to = file.path().with_extension("job");
    file.persist(&to).with_context(|| format!("cannot write {}", to.display()))?;
    Ok(())
}

/// Starts each job as it comes, until there is none and `is_all`; waits for all of them.
fn take(folder: &Path, is_all: &AtomicBool) -> Vec<Ran> {
    let mut running = Vec::new();
    loop {
        // Asked before the folder is looked at: nothing comes after.
        let is_last_look = is_all.load(Ordering::Acquire);
        let paths = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let mut jobs: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|it| it == "job")).collect();
        jobs.sort();
        for path in jobs {
            let taken = path.with_extension("taken");
            let job = fs::rename(&path, &taken).and_then(|()| fs::read(&taken));
            let output = path.with_extension("output");
            running.push(thread::spawn(move || run_job(job.map_err(anyhow::Error::from), &output)));
        }
        if is_last_look {
            return running.into_iter().map(|job| job.join().expect("it does not panic")).collect();
        }
        thread::sleep(POLL);
    }
}

/// What cannot be run has failed.
fn run_job(job: Result<Vec<u8>>, output: &Path) -> Ran {
    let job = job.and_then(|text| Ok(serde_json::from_slice::<Job>(&text)?));
    let program = job.as_ref().map(|job| PathBuf::from(&job.command[0])).unwrap_or_default();
    let status = job.and_then(|job| {
        // A file: what a test leaves running would hold a pipe open.
        let file = File::create(output)?;
        let mut command = Command::new(&program);
        command.args(&job.command[1..]).current_dir(job.folder).env_clear().envs(job.environment);
        Ok(command.stdin(std::process::Stdio::null()).stdout(file.try_clone()?).stderr(file).status()?)
    });
    let mut text = fs::read(output).map(|text| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default();
    match &status {
        Ok(status) if status.success() => {}
        Ok(status) => text += &format!("{}: {status}\n", program.display()),
        Err(error) => text += &format!("{}: {error:#}\n", program.display()),
    }
    Ran { program, output: text, succeeded: status.is_ok_and(|status| status.success()), ended: Instant::now() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_beside_are_test_targets_of_the_workspace() {
        let root = crate::workspace::root().unwrap();
        let metadata = cargo_metadata::MetadataCommand::new()
            .manifest_path(root.join("Cargo.toml"))
            .no_deps()
            .other_options(["--offline".to_owned()])
            .exec()
            .unwrap();
        let is_there = |name: &str| {
            let targets = metadata.packages.iter().flat_map(|package| &package.targets);
            targets.filter(|target| target.is_test() && target.name == name).count() == 1
        };
        for name in BESIDE {
            assert!(is_there(name), "{name}");
            assert!(is_beside(Path::new(&format!("/target/debug/deps/{name}-0123456789abcdef"))));
        }
        assert!(!is_beside(Path::new("/target/debug/deps/all-0123456789abcdef")));
    }

    #[test]
    #[cfg(unix)]
    fn what_is_handed_over_is_run_where_cargo_stood_and_what_it_said_and_how_it_ended_come_back() {
        let beside = Beside::start().unwrap();
        let here = tempfile::tempdir().unwrap();
        let job = |script: &str| Job {
            command: ["/bin/sh", "-c", script].map(OsString::from).to_vec(),
            folder: here.path().to_owned(),
            environment: vec![("SAID".into(), "a word".into())],
        };
        for script in ["echo $SAID; echo here > found", "echo failing >&2; exit 3"] {
            hand_over(beside.folder.path(), &job(script)).unwrap();
        }
        let mut ran = beside.finish();
        ran.sort_by_key(|ran| !ran.succeeded);
        assert_eq!(ran.iter().map(|ran| ran.succeeded).collect::<Vec<_>>(), [true, false]);
        assert_eq!(ran[0].output, "a word\n");
        assert!(ran[1].output.starts_with("failing\n/bin/sh: exit status: 3"), "{}", ran[1].output);
        assert!(here.path().join("found").is_file());
    }
}
