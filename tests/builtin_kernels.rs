//! The built-in kernels as they were compiled with this crate.

use std::collections::BTreeSet;
use std::path::Path;

use autokernel_codegen::build::Manifest;

#[test]
fn every_built_in_kernel_compiles_for_both_archs_without_a_spill() {
    let manifest = Manifest::load(Path::new(env!("AUTOKERNEL_MANIFEST"))).unwrap();
    let [rows, swiglu] = [cfg!(feature = "rows"), cfg!(feature = "swiglu")].map(usize::from);
    let declared = 7 + 10 * rows + swiglu;
    assert_eq!(manifest.plans.len(), declared, "one plan for each function of `builtin`");
    for plan in manifest.plans.values() {
        let archs: BTreeSet<String> = plan.variants.iter().map(|variant| variant.arch.to_string()).collect();
        assert_eq!(archs, ["sm_80", "sm_90a"].map(String::from).into());
    }
    let variants = manifest.plans.values().flat_map(|plan| &plan.variants);
    if let Some(reason) = &manifest.not_compiled {
        skip("every_built_in_kernel_compiles_for_both_archs_without_a_spill", reason);
        return;
    }
    for variant in variants {
        let image = variant.image.as_ref().expect("there was an nvcc");
        let report = &image.report;
        assert!(!report.spills() && report.stack_bytes == 0, "{}: {report:?}", variant.schedule);
        let is_chosen = variant.tuned.is_some() || variant.portfolio.is_some();
        assert_eq!(image.cubin.is_some(), is_chosen, "a cubin for what was tuned or is of a portfolio");
    }
}

/// Notes a test that could not run, for the summary of `cargo xtask test`.
fn skip(test: &str, reason: &str) {
    use std::io::Write;
    let line = format!("skipped: {test}: {reason}\n");
    eprint!("{line}");
    if let Some(log) = std::env::var_os("AUTOKERNEL_SKIP_LOG") {
        let mut log = std::fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
        log.write_all(line.as_bytes()).unwrap();
    }
}
