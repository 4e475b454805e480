//! What a second build costs, with a stand-in for nvcc that counts its runs.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use autokernel_codegen::Build;
use autokernel_codegen::arch::Arch;
use autokernel_codegen::build::{Manifest, ManifestError};

/// With a body, as a plain product carries several images for GPUs other than Hopper.
const DECLARATION: &str = "#[autokernel::fused_matmul] \
     fn product(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>) { out = dot(a, b) * 2.0; }";

/// Writes what nvcc would leave behind, and the report that it would print.
const STAND_IN: &str = r#"#!/bin/sh
echo run >> "$(dirname "$0")/runs"
if [ "$1" = --version ]; then echo 'release 13.0, V13.0.0'; exit 0; fi
symbol=$(sed -n 's/^\(autokernel_[a-z0-9_]*\)(.*/\1/p' kernel.cu)
echo ptx > kernel.ptx; echo cubin > kernel.cubin
echo "ptxas info    : Compiling entry function '$symbol' for 'sm_90a'" >&2
echo "ptxas info    : Used 168 registers, used 1 barriers" >&2
"#;

#[test]
fn a_rebuild_with_no_change_runs_no_nvcc_and_takes_no_time() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    std::fs::create_dir(root.join("src")).unwrap();
    std::fs::write(root.join("src/lib.rs"), DECLARATION).unwrap();
    let nvcc = root.join("nvcc");
    std::fs::write(&nvcc, STAND_IN).unwrap();
    std::fs::set_permissions(&nvcc, std::fs::Permissions::from_mode(0o755)).unwrap();
    // SAFETY: this is the only test of the program, so no other thread reads the environment now.
    unsafe {
        std::env::set_var("AUTOKERNEL_NVCC", &nvcc);
        std::env::set_var("AUTOKERNEL_CACHE_DIR", root.join("cache"));
    }
    let runs = || std::fs::read_to_string(root.join("runs")).unwrap().lines().count();
    let out = root.join("out");

    let first = Build::new().compile_crate(root, &out).unwrap();
    let images = 1 + first.plans.values().map(|plan| plan.variants.len()).sum::<usize>();
    assert_eq!(runs(), images, "once for its version, and once for each image");
    let written = std::fs::metadata(out.join("manifest.json")).unwrap().modified().unwrap();

    let start = Instant::now();
    let second = Build::new().compile_crate(root, &out).unwrap();
    let elapsed = start.elapsed();
    assert_eq!((runs(), &second), (images, &first));
    assert!(elapsed < Duration::from_millis(200), "{elapsed:?}");
    let rewritten = std::fs::metadata(out.join("manifest.json")).unwrap().modified().unwrap();
    assert_eq!(rewritten, written, "an unchanged file is not touched, or all that depends on it is built again");

    let chosen = Build::new().archs([Arch::SM_90A]).compile_crate(root, &out).unwrap();
    let archs: Vec<Arch> = chosen.plans.values().flat_map(|plan| &plan.variants).map(|variant| variant.arch).collect();
    assert_eq!((archs, runs()), (vec![Arch::SM_90A], images), "for the GPUs that the script names, from the cache");

    a_stale_manifest_is_refused_with_its_remedy(&out.join("manifest.json"));
}

fn a_stale_manifest_is_refused_with_its_remedy(path: &Path) {
    let text = std::fs::read_to_string(path).unwrap();
    let version = format!("\"codegen\": \"{}\"", env!("CARGO_PKG_VERSION"));
    for (stale, reason) in [
        (text.replace(&version, "\"codegen\": \"0.0.1\""), "written by autokernel-codegen 0.0.1"),
        (text[..text.len() / 2].to_owned(), "EOF"),
    ] {
        std::fs::write(path, stale).unwrap();
        let error = Manifest::load(path).unwrap_err();
        assert!(matches!(error, ManifestError::Stale { .. }));
        let message = error.to_string();
        assert!(message.contains(reason) && message.contains("cargo clean -p"), "{message}");
    }
}
