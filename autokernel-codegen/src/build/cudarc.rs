//! Which CUDA cudarc takes a machine to have: it asks the nvcc in `PATH`, which need not be the one that compiles kernels.

use std::path::Path;

use crate::nvcc::Nvcc;

/// What cudarc takes in place of what `nvcc --version` prints: 1000 × major + 10 × minor.
const CHOSEN_ENV: &str = "CUDARC_CUDA_VERSION";

/// Warns where cudarc declares the driver's functions of a newer CUDA than the one that kernels are compiled by, and so perhaps of a newer
/// one than the driver's. An older one does no harm: CUDA keeps functions.
pub(super) fn warn_of_newer_functions(nvcc: &Nvcc, cache: &Path) {
    println!("cargo::rerun-if-env-changed={CHOSEN_ENV}");
    if std::env::var_os(CHOSEN_ENV).is_some() {
        return;
    }
    if let Some(warning) = Nvcc::in_path(cache).and_then(|in_path| warning(nvcc, &in_path)) {
        println!("cargo::warning=autokernel: {warning}");
    }
}

fn warning(nvcc: &Nvcc, in_path: &Nvcc) -> Option<String> {
    let (used, found) = (nvcc.release(), in_path.release());
    (found > used).then(|| {
        format!(
            "kernels are compiled by nvcc {} ({}), and cudarc declares the driver's functions of the nvcc {} in PATH, which an older \
             driver lacks; set {CHOSEN_ENV}={used}, or put the same nvcc first in PATH",
            nvcc.version,
            nvcc.path.display(),
            in_path.version,
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_nvcc_in_path_is_told_with_the_version_to_set_and_an_older_one_is_not() {
        let nvcc = |version: &str| Nvcc { path: "/opt/bin/nvcc".into(), version: version.to_owned() };
        let text = warning(&nvcc("12.4.131"), &nvcc("13.0.88")).unwrap();
        assert!(text.contains("CUDARC_CUDA_VERSION=12040") && text.contains("13.0.88 in PATH"), "{text}");
        for in_path in ["12.4.99", "12.0.140", "11.8.89"] {
            assert!(warning(&nvcc("12.4.131"), &nvcc(in_path)).is_none(), "{in_path}");
        }
    }
}
