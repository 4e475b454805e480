//! How a test says that it could not run.
//!
//! The harness hides what passing tests print, so the reason is also appended to the file that `AUTOKERNEL_SKIP_LOG`
//! names, as one line `skipped: <test>: <reason>`.

use std::fs::OpenOptions;
use std::io::Write;

use autokernel::Device;

/// GPU 0 with a stream of its own; without one the skip is logged.
pub fn gpu(test: &str) -> Option<Device> {
    match Device::new(0).and_then(|device| device.with_new_stream()) {
        Ok(device) => Some(device),
        Err(error) => {
            log(test, &error.to_string());
            None
        }
    }
}

/// Says that `test` did not run, and why.
pub fn log(test: &str, reason: &str) {
    let line = format!("skipped: {test}: {reason}\n");
    eprint!("{line}");
    let Some(path) = std::env::var_os("AUTOKERNEL_SKIP_LOG") else { return };
    let written = OpenOptions::new().create(true).append(true).open(&path);
    if let Err(error) = written.and_then(|mut file| file.write_all(line.as_bytes())) {
        eprintln!("AUTOKERNEL_SKIP_LOG={}: {error}", path.display());
    }
}
