//! Tests that cannot run here.

use std::io::Write;

/// Says that `test` did not run, and why: on the terminal and in the file that AUTOKERNEL_SKIP_LOG names.
pub fn skip(test: &str, reason: &str) {
    let line = format!("skipped: {test}: {reason}\n");
    eprint!("{line}");
    if let Some(log) = std::env::var_os("AUTOKERNEL_SKIP_LOG") {
        let mut log = std::fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
        log.write_all(line.as_bytes()).unwrap();
    }
}
