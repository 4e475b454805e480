//! Standard output and standard error, whose readers may go away: `tuner show | head` must not end in a panic, nor a run
//! in `tuner 2>&1 | head`.

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether something could not be written, and not because its reader had gone.
static FAILED: AtomicBool = AtomicBool::new(false);

/// As [`print!`].
#[macro_export]
macro_rules! out {
    ($($text:tt)*) => { $crate::console::write_out(format_args!($($text)*)) };
}

/// As [`println!`].
#[macro_export]
macro_rules! outln {
    ($($text:tt)*) => { $crate::console::write_out(format_args!("{}\n", format_args!($($text)*))) };
}

/// As [`eprintln!`].
#[macro_export]
macro_rules! errln {
    ($($text:tt)*) => { $crate::console::write_err(format_args!("{}\n", format_args!($($text)*))) };
}

/// Writes to standard output.
pub fn write_out(text: Arguments<'_>) {
    let mut out = io::stdout().lock();
    match out.write_fmt(text).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe && !FAILED.swap(true, Ordering::Relaxed) => {
            write_err(format_args!("error: standard output: {error}; give it a file or a terminal that takes it\n"));
        }
        _ => {}
    }
}

/// Writes to standard error. What cannot be said there cannot be said at all.
pub fn write_err(text: Arguments<'_>) {
    let _ = io::stderr().lock().write_fmt(text);
}

/// Whether standard output lacks something that a reader waits for.
pub fn failed() -> bool {
    FAILED.load(Ordering::Relaxed)
}
