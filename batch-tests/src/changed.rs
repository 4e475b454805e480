//! Kernels with a mistake in one of their headers.

use std::process::Command;

use autokernel::Arch;
use autokernel_codegen::emit::{KernelSource, all_headers};
use autokernel_codegen::nvcc::{Nvcc, RUNTIME_HEADER};

/// PTX of `source` with one header changed: what it has in the place of what, once.
///
/// # Panics
/// The header has no such text, or nvcc refuses it.
pub fn ptx(nvcc: &Nvcc, source: &KernelSource, change: Option<(&str, &str, &str)>, arch: Arch) -> String {
    let folder = tempfile::tempdir().unwrap();
    let mut is_changed = change.is_none();
    for (path, text) in all_headers().chain([RUNTIME_HEADER]) {
        let change = change.filter(|(file, ..)| *file == path);
        is_changed |= change.is_some_and(|(_, before, _)| text.contains(before));
        let text = change.map_or(text.to_owned(), |(_, before, after)| text.replacen(before, after, 1));
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    assert!(is_changed, "{change:?} changes nothing");
    std::fs::write(folder.path().join("kernel.cu"), &source.cuda).unwrap();
    let flags = ["-std=c++17", "-O3", "-DNDEBUG", "--expt-relaxed-constexpr", "-ptx", "-I.", "-o", "kernel.ptx"];
    let output = Command::new(&nvcc.path)
        .current_dir(folder.path())
        .args(flags)
        .arg("kernel.cu")
        .arg(format!("-arch={arch}"))
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read_to_string(folder.path().join("kernel.ptx")).unwrap()
}
