//! Appends the counted launches to the file: once a second, and at exit.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::{counts, state};

/// Names the file that launches are recorded in.
const RECORD_ENV: &str = "AUTOKERNEL_RECORD";

/// How long a launch waits to be written.
const PERIOD: Duration = Duration::from_secs(1);

/// The file, while launches are recorded.
static FILE: Mutex<Option<PathBuf>> = Mutex::new(None);

/// The process that began to record. A forked child must not write its parent's launches again, nor take a lock that
/// the parent's writer held at the fork.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Begins to record if the environment asks for it and the file can be written; whether it did.
pub(super) fn start() -> bool {
    let Some(path) = std::env::var_os(RECORD_ENV).filter(|path| !path.is_empty()) else { return false };
    match begin(&path) {
        Ok(()) => true,
        Err(error) => {
            warn(Path::new(&path), &error);
            false
        }
    }
}

fn begin(path: &OsStr) -> io::Result<()> {
    // The program may change its working folder.
    let path = std::path::absolute(path)?;
    open(&path)?;
    PROCESS.store(std::process::id(), Ordering::Relaxed);
    *lock() = Some(path);
    // SAFETY: the handler takes nothing, and no panic leaves an `extern "C"` function: it would abort.
    if unsafe { libc::atexit(at_exit) } != 0 {
        return Err(io::Error::other("the exit handler could not be set"));
    }
    let name = "autokernel-record".to_owned();
    std::thread::Builder::new().name(name).spawn(|| {
        loop {
            std::thread::sleep(PERIOD);
            if !write_counted() {
                break;
            }
        }
    })?;
    Ok(())
}

extern "C" fn at_exit() {
    write_counted();
}

/// Appends what was counted since the last time; `false` once nothing is recorded any more.
fn write_counted() -> bool {
    if PROCESS.load(Ordering::Relaxed) != std::process::id() {
        return false;
    }
    let mut file = lock();
    let Some(path) = &*file else { return false };
    match append(path) {
        Ok(()) => true,
        Err(error) => {
            state::set(false);
            warn(path, &error);
            *file = None;
            false
        }
    }
}

fn append(path: &Path) -> io::Result<()> {
    let counts = counts::take();
    if counts.is_empty() {
        return Ok(());
    }
    let mut lines: Vec<String> = counts.values().map(|(launch, count)| launch.line(*count)).collect();
    lines.sort_unstable();
    // One write: the lines of processes that append to the same file do not mix.
    open(path)?.write_all(lines.concat().as_bytes())
}

/// Opened for each write, so that the file may be moved away or removed meanwhile.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}

/// One warning; recording ends with it. A closed standard error is no reason to panic.
fn warn(path: &Path, error: &io::Error) {
    let path = path.display();
    let _ = writeln!(
        io::stderr(),
        "warning: autokernel: launches are not recorded: {RECORD_ENV}={path}: {error}; name a file that can be written"
    );
}

fn lock() -> MutexGuard<'static, Option<PathBuf>> {
    FILE.lock().unwrap_or_else(PoisonError::into_inner)
}
