//! How far the compiler is, for a person who waits: cargo keeps what a build script prints to itself.

use std::fs::File;
use std::io::Write;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// What takes less is not told.
const WORTH_TELLING: Duration = Duration::from_secs(2);

/// A line on the terminal that cargo was started from, if it was started from one.
pub(super) struct Progress {
    terminal: Mutex<Option<File>>,
    started: Instant,
    images: usize,
}

impl Progress {
    /// Of compiling this many images.
    pub fn new(images: usize) -> Self {
        Progress { terminal: Mutex::new(terminal()), started: Instant::now(), images }
    }

    /// So many images are there.
    pub fn tell(&self, done: usize) {
        let took = self.started.elapsed();
        if took < WORTH_TELLING {
            return;
        }
        // Cargo's own bar stands on the line where the cursor is, and comes again: each is written over the other.
        let end = if done == self.images { "\n" } else { "\r" };
        let line =
            format!("\r\x1b[K    autokernel: {done} of {} kernels, {:.0} s{end}", self.images, took.as_secs_f64());
        if let Some(terminal) = &mut *self.terminal.lock().expect("nobody panics while they hold it") {
            // Nobody waits for a line that cannot be written.
            let _ = terminal.write_all(line.as_bytes());
        }
    }
}

/// None where there is no terminal, or where cargo is told to show no progress.
fn terminal() -> Option<File> {
    let is_asked_for = std::env::var_os("CARGO_TERM_QUIET").is_none_or(|quiet| quiet != "true")
        && std::env::var_os("CARGO_TERM_PROGRESS_WHEN").is_none_or(|when| when != "never")
        && std::env::var_os("CI").is_none();
    let open = || File::options().write(true).open("/dev/tty").ok();
    is_asked_for.then(open).flatten()
}
