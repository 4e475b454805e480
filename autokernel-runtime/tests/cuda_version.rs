//! The build script, which refuses what rustc would refuse in many lines.

#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

/// What the build script prints with this version chosen, or with an nvcc of this release in `PATH`.
fn printed(folder: &Path, chosen: Option<&str>, release: &str) -> String {
    let nvcc = folder.join("nvcc");
    std::fs::write(&nvcc, format!("#!/bin/sh\necho 'Cuda compilation tools, release {release}, V{release}.89'\n"))
        .unwrap();
    std::fs::set_permissions(&nvcc, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut script = Command::new(folder.join("script"));
    script.env("PATH", format!("{}:/usr/bin:/bin", folder.display())).env_remove("CUDARC_CUDA_VERSION");
    let output = script.envs(chosen.map(|version| ("CUDARC_CUDA_VERSION", version))).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_cuda_version_that_lacks_what_is_needed_is_refused_in_one_line_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("build.rs");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let mut compile = Command::new(rustc);
    compile.args(["--edition", "2024", "-o"]).arg(folder.path().join("script")).arg(source);
    assert!(compile.status().unwrap().success());

    for (chosen, release, version) in [(None, "11.8", "11.8"), (Some("11040"), "13.0", "11.4")] {
        let text = printed(folder.path(), chosen, release);
        let errors: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("cargo::error=")).collect();
        let [error] = errors[..] else { panic!("{text}") };
        assert!(error.contains(&format!("in CUDA {version}, and autokernel needs those of 12.0")), "{error}");
        assert!(error.contains("set CUDARC_CUDA_VERSION=12000"), "the remedy: {error}");
    }
    for (chosen, release) in [(None, "12.0"), (None, "13.0"), (Some("12000"), "11.8")] {
        assert!(!printed(folder.path(), chosen, release).contains("cargo::error"), "{chosen:?} {release}");
    }
}
