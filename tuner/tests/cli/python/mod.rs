//! LiteLLM for the tests: installed once below the target folder, from pinned versions.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Exact versions, in pip's requirements format.
const PINS: &str = include_str!("requirements.txt");
/// Installers in the order that they are tried.
const INSTALLERS: [&[&str]; 3] = [&["python3", "-m", "pip"], &["python", "-m", "pip"], &["uv", "pip"]];
/// What installers say when they cannot reach the package index.
const NO_NETWORK: [&str; 6] = [
    "name resolution",
    "Network is unreachable",
    "Connection refused",
    "NewConnectionError",
    "ProxyError",
    "dns error",
];

/// The folder with LiteLLM, installed if it is not there; `None`, with the reason told, where that cannot be.
pub fn site(test: &str) -> Option<PathBuf> {
    let starts = |words: &[&str]| {
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    if !starts(&["python3"]) {
        return skipped(test, "there is no python3");
    }
    let Some(installer) = INSTALLERS.into_iter().find(|words| starts(words)) else {
        return skipped(test, "there is neither pip nor uv");
    };
    // Beside the test binaries: below the target folder, whatever it is called.
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("litellm");
    std::fs::create_dir_all(&folder).unwrap();
    let lock = File::create(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    let (site, stamp) = (folder.join("site"), folder.join("site/autokernel-pins.txt"));
    if std::fs::read_to_string(&stamp).is_ok_and(|installed| installed == PINS) {
        return Some(site);
    }
    let _ = std::fs::remove_dir_all(&site);
    let requirements = folder.join("requirements.txt");
    std::fs::write(&requirements, PINS).unwrap();
    let output = Command::new(installer[0])
        .args(&installer[1..])
        .args(["install", "--no-deps", "--only-binary", ":all:", "--target"])
        .arg(&site)
        .arg("--requirement")
        .arg(&requirements)
        .env_remove("PIP_USER")
        .env("PIP_REQUIRE_VIRTUALENV", "0")
        .env("PIP_NO_INPUT", "1")
        .env("PIP_NO_COMPILE", "1")
        .env("PIP_RETRIES", "1")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() && NO_NETWORK.iter().any(|sign| said.contains(sign)) {
        return skipped(test, "the Python package index cannot be reached");
    }
    assert!(output.status.success(), "installing LiteLLM failed:\n{said}");
    std::fs::write(&stamp, PINS).unwrap();
    Some(site)
}

fn skipped(test: &str, reason: &str) -> Option<PathBuf> {
    let line = format!("skipped: {test}: {reason}");
    eprintln!("{line}");
    if let Some(log) = std::env::var_os("AUTOKERNEL_SKIP_LOG") {
        let mut log = File::options().append(true).create(true).open(log).unwrap();
        writeln!(log, "{line}").unwrap();
    }
    None
}
