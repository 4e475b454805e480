//! CUDA to PTX, with our headers as they are or changed, through a cache below the target folder.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;

use autokernel_codegen::arch::Arch;
use autokernel_codegen::emit::{KernelSource, all_headers};
use autokernel_codegen::nvcc::{Nvcc, runtime_header};

use super::skip::skip;

/// A change of one header.
#[derive(Clone, Copy, Debug)]
pub struct Change<'a> {
    pub file: &'a str,
    pub before: &'a str,
    pub after: &'a str,
}

/// A mistake in a header.
pub const fn mutant(file: &'static str, before: &'static str, after: &'static str) -> Change<'static> {
    Change { file, before, after }
}

/// nvcc, where there is one.
#[derive(Clone)]
pub struct Compiler {
    nvcc: Nvcc,
    cache: PathBuf,
    /// Whether the toolkit's own runtime header stands before a kernel, rather than the short one.
    whole_runtime: bool,
}

impl Compiler {
    /// The nvcc of this machine; none, with a note, where there is none.
    pub fn find(test: &str) -> Option<Compiler> {
        let cache = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("emulator-ptx");
        std::fs::create_dir_all(&cache).unwrap();
        match Nvcc::locate(Path::new(env!("CARGO_MANIFEST_DIR")), &cache) {
            Ok(nvcc) => Some(Compiler { nvcc, cache, whole_runtime: false }),
            Err(reason) => {
                skip(test, &reason.to_string());
                None
            }
        }
    }

    /// The same compiler with the toolkit's own runtime header, for kernels that use more of CUDA than ours do.
    pub fn with_whole_runtime(&self) -> Compiler {
        Compiler { whole_runtime: true, ..self.clone() }
    }

    /// The PTX of `source`, with line information. Gives what nvcc said if it refuses.
    pub fn ptx(&self, source: &KernelSource, arch: Arch, change: Option<Change<'_>>) -> Result<String, String> {
        let before = || all_headers().chain(Some(runtime_header(&source.cuda)).filter(|_| !self.whole_runtime));
        let headers: Vec<(&str, String)> = before().map(|(path, text)| (path, changed(path, text, change))).collect();
        if let Some(change) = change {
            let is_changed = headers.iter().zip(before()).any(|((_, now), (_, before))| now != before);
            assert!(is_changed, "{change:?} changes nothing");
        }
        let mut hasher = DefaultHasher::new();
        (&self.nvcc.version, arch.to_string(), &source.cuda, &headers).hash(&mut hasher);
        let cached = self.cache.join(format!("{:016x}.ptx", hasher.finish()));
        if let Ok(text) = std::fs::read_to_string(&cached) {
            return Ok(text);
        }
        let text = self.compile(source, arch, &headers)?;
        let partial = tempfile::NamedTempFile::new_in(&self.cache).unwrap();
        std::fs::write(partial.path(), &text).unwrap();
        partial.persist(&cached).unwrap();
        Ok(text)
    }

    fn compile(&self, source: &KernelSource, arch: Arch, headers: &[(&str, String)]) -> Result<String, String> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("kernel.cu"), &source.cuda).unwrap();
        for (path, text) in headers {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let flags = ["-std=c++17", "-O3", "-DNDEBUG", "--expt-relaxed-constexpr", "-lineinfo", "-ptx", "-I."];
        let output = Command::new(&self.nvcc.path)
            .current_dir(folder.path())
            .args(flags)
            .arg(format!("-arch={arch}"))
            .args(["-o", "kernel.ptx", "kernel.cu"])
            .output()
            .unwrap();
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        Ok(std::fs::read_to_string(folder.path().join("kernel.ptx")).unwrap())
    }
}

/// The instructions of a PTX text, without what says where they come from.
pub fn instructions(ptx: &str) -> Vec<&str> {
    let lines = ptx.lines().map(str::trim);
    lines.filter(|line| !line.is_empty() && !line.starts_with('.') && !line.starts_with("//")).collect()
}

fn changed(path: &str, text: &str, change: Option<Change<'_>>) -> String {
    match change {
        Some(change) if change.file == path => text.replacen(change.before, change.after, 1),
        _ => text.to_owned(),
    }
}
