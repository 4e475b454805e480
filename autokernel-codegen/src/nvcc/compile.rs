//! Compiling kernels through a content-addressed cache.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{Nvcc, PtxasReport};
use crate::arch::Arch;
use crate::emit::{HEADERS, KernelSource};
use crate::hash;

/// Changes when what a cache entry holds changes.
const CACHE_FORMAT: &str = "1";
const FLAGS: [&str; 10] = [
    "-std=c++17",
    "-O3",
    "-DNDEBUG",
    "--expt-relaxed-constexpr",
    "-Werror=all-warnings",
    "-Xptxas=-v",
    "-Xptxas=-warn-spills",
    "-Xptxas=-Werror",
    "-cubin",
    "--keep",
];
/// How often a running nvcc is looked at.
const POLL: Duration = Duration::from_millis(10);

/// A compiled kernel, for one arch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// PTX, which the driver can compile for later GPUs too.
    pub ptx: PathBuf,
    /// Machine code for exactly the arch.
    pub cubin: PathBuf,
    /// The kernel's resources.
    pub report: PtxasReport,
    /// Whether the image was there already, so that nvcc did not run.
    pub cached: bool,
}

/// A kernel that could not be compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// nvcc refused it, or warned.
    #[error("nvcc could not compile {symbol} for {arch}; it said:\n{log}")]
    Refused {
        /// The kernel.
        symbol: String,
        /// The target.
        arch: Arch,
        /// nvcc's standard error, trimmed to its first lines.
        log: String,
    },
    /// nvcc took too long.
    #[error(
        "nvcc did not finish {symbol} for {arch} in {seconds} s and was stopped; take a smaller tile or a longer limit"
    )]
    TimedOut {
        /// The kernel.
        symbol: String,
        /// The target.
        arch: Arch,
        /// The limit.
        seconds: u64,
    },
    /// A file could not be read or written, or nvcc could not be started.
    #[error("{path}: {source}; check that the folder exists, is writable and has room", path = .path.display())]
    Io {
        /// The file or program.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// nvcc with a cache of what it compiled.
#[derive(Clone, Debug)]
pub struct Compiler {
    nvcc: Nvcc,
    cache: PathBuf,
    limit: Duration,
}

impl Compiler {
    /// `nvcc`, caching in the folder `cache`. One kernel may take two minutes.
    pub fn new(nvcc: Nvcc, cache: PathBuf) -> Self {
        Compiler { nvcc, cache, limit: Duration::from_secs(120) }
    }

    /// The same compiler with another time limit for one kernel.
    pub fn with_limit(self, limit: Duration) -> Self {
        Compiler { limit, ..self }
    }

    /// The nvcc in use.
    pub fn nvcc(&self) -> &Nvcc {
        &self.nvcc
    }

    /// Compiles `source` for `arch`, or finds it compiled: the same text, headers, flags, nvcc and arch give the same
    /// image. Safe to call from several threads and processes at once.
    ///
    /// # Errors
    /// nvcc refuses the kernel or spills registers, takes longer than the limit, or a file cannot be written.
    pub fn compile(&self, source: &KernelSource, arch: Arch) -> Result<Image, CompileError> {
        let folder = self.cache.join(self.key(source, arch));
        if let Some(report) = read_report(&folder) {
            return Ok(Image { cached: true, ..image(&folder, report) });
        }
        let io = |path: &Path| {
            let path = path.to_owned();
            move |source| CompileError::Io { path, source }
        };
        std::fs::create_dir_all(&self.cache).map_err(io(&self.cache))?;
        let work = tempfile::tempdir_in(&self.cache).map_err(io(&self.cache))?;
        self.write_sources(source, work.path()).map_err(io(work.path()))?;

        let log = self.run_nvcc(source, arch, work.path())?;
        let refused = |log: String| CompileError::Refused { symbol: source.symbol.clone(), arch, log };
        let report = PtxasReport::parse(&log, &source.symbol)
            .ok_or_else(|| refused(format!("no ptxas report for the kernel in:\n{log}")))?;
        store(work.path(), &folder, &report).map_err(io(&folder))?;
        Ok(image(&folder, report))
    }

    fn key(&self, source: &KernelSource, arch: Arch) -> String {
        let arch = arch.to_string();
        let mut parts = vec![CACHE_FORMAT, &self.nvcc.version, &arch, &source.symbol, &source.cuda];
        parts.extend(FLAGS);
        parts.extend(HEADERS.iter().flat_map(|(path, text)| [*path, *text]));
        hash::full(parts.into_iter().map(str::as_bytes))
    }

    fn write_sources(&self, source: &KernelSource, folder: &Path) -> std::io::Result<()> {
        std::fs::write(folder.join("kernel.cu"), &source.cuda)?;
        for (path, text) in HEADERS {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().unwrap_or(folder))?;
            std::fs::write(path, text)?;
        }
        Ok(())
    }

    /// Runs nvcc in `folder`; gives its standard error.
    fn run_nvcc(&self, source: &KernelSource, arch: Arch, folder: &Path) -> Result<String, CompileError> {
        let io = |source| CompileError::Io { path: self.nvcc.path.clone(), source };
        let mut command = Command::new(&self.nvcc.path);
        command
            .current_dir(folder)
            .args(FLAGS)
            .arg(format!("-gencode=arch={},code={arch}", arch.compute()))
            .args(["-I.", "-o", "kernel.cubin", "kernel.cu"])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        own_process_group(&mut command);
        let mut child = command.spawn().map_err(io)?;

        let mut stderr = child.stderr.take();
        let reader = std::thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(stderr) = &mut stderr {
                // What could be read before a fault is still the best account of what happened.
                let _ = stderr.read_to_end(&mut bytes);
            }
            String::from_utf8_lossy(&bytes).into_owned()
        });
        let deadline = Instant::now() + self.limit;
        let status = loop {
            if let Some(status) = child.try_wait().map_err(io)? {
                break status;
            }
            if Instant::now() > deadline {
                kill_process_group(&mut child);
                let seconds = self.limit.as_secs();
                return Err(CompileError::TimedOut { symbol: source.symbol.clone(), arch, seconds });
            }
            std::thread::sleep(POLL);
        };
        let log = reader.join().unwrap_or_default();
        if status.success() {
            return Ok(log);
        }
        let log = if log.trim().is_empty() { format!("nothing; it ended with {status}") } else { first_lines(&log) };
        Err(CompileError::Refused { symbol: source.symbol.clone(), arch, log })
    }
}

/// nvcc starts cicc and ptxas: in a group of their own, all of them can be stopped together.
fn own_process_group(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(not(unix))]
    let _ = command;
}

fn kill_process_group(child: &mut std::process::Child) {
    #[cfg(unix)]
    let _ = Command::new("kill").args(["-KILL", "--", &format!("-{}", child.id())]).status();
    let _ = child.kill();
    let _ = child.wait();
}

/// Enough of a log to see the cause.
fn first_lines(log: &str) -> String {
    const LINES: usize = 40;
    let lines: Vec<&str> = log.lines().filter(|line| !line.starts_with("ptxas info")).take(LINES).collect();
    lines.join("\n")
}

fn image(folder: &Path, report: PtxasReport) -> Image {
    Image { ptx: folder.join("kernel.ptx"), cubin: folder.join("kernel.cubin"), report, cached: false }
}

fn read_report(folder: &Path) -> Option<PtxasReport> {
    serde_json::from_slice(&std::fs::read(folder.join("report.json")).ok()?).ok()
}

/// Moves a finished compile into the cache in one step.
fn store(work: &Path, folder: &Path, report: &PtxasReport) -> std::io::Result<()> {
    let ready = tempfile::tempdir_in(work)?.keep();
    for file in ["kernel.cu", "kernel.ptx", "kernel.cubin"] {
        std::fs::rename(work.join(file), ready.join(file))?;
    }
    std::fs::write(ready.join("report.json"), serde_json::to_vec(report)?)?;
    match std::fs::rename(&ready, folder) {
        // Another process was faster with the same content.
        Err(_) if read_report(folder).is_some() => Ok(()),
        result => result,
    }
}
