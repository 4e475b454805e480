//! Refuses in one line the CUDA versions that would otherwise be errors of rustc: cudarc declares the driver's functions as they
//! were in the version that it finds, and ours are of 12.0.

use std::process::Command;

/// What cudarc takes in place of what `nvcc --version` prints: 1000 × major + 10 × minor.
const CHOSEN: &str = "CUDARC_CUDA_VERSION";
const OLDEST: u32 = 12_000;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    for name in [CHOSEN, "CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDA_TOOLKIT_ROOT_DIR"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    if let Some(found) = chosen().or_else(of_nvcc).filter(|&found| found < OLDEST) {
        println!(
            "cargo::error=cudarc would declare the driver's functions as they were in CUDA {}.{}, and autokernel needs those of \
             {}.{} or later; set {CHOSEN}={OLDEST}, on a machine without a GPU too: the driver is opened when a program runs",
            found / 1000,
            found % 1000 / 10,
            OLDEST / 1000,
            OLDEST % 1000 / 10,
        );
    }
}

fn chosen() -> Option<u32> {
    std::env::var(CHOSEN).ok()?.parse().ok()
}

/// `… release 11.8, V11.8.89` of the nvcc that cudarc asks too.
fn of_nvcc() -> Option<u32> {
    let output = Command::new("nvcc").arg("--version").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, rest) = text.split_once("release ")?.1.split_once('.')?;
    let minor = rest.split(',').next()?;
    Some(1000 * major.parse::<u32>().ok()? + 10 * minor.parse::<u32>().ok()?)
}
