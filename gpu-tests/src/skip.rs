//! How a test says that it could not run.
//!
//! The harness hides what passing tests print, so the reason is also appended to the file that `AUTOKERNEL_SKIP_LOG`
//! names, as one line `skipped: <test>: <reason>`.

use std::fs::OpenOptions;
use std::io::Write;

use autokernel::Device;

/// GPU 0 with a stream of its own; without one the skip is logged.
pub fn gpu(test: &str) -> Option<Device> {
    found(test, Device::new(0).and_then(|device| device.with_new_stream()))
}

/// GPU 0 and its one stream, for measurements; without one the skip is logged. Where there are several streams, events that order their
/// use of each operand stand between launches: half a microsecond an operand, on the GPU.
pub fn gpu_of_one_stream(test: &str) -> Option<Device> {
    found(test, Device::new(0))
}

fn found(test: &str, device: autokernel::Result<Device>) -> Option<Device> {
    device.map_err(|error| log(test, &error.to_string())).ok()
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
