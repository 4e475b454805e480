//! Compiling kernels through a content-addressed cache.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::COMPILE_ENV;
use super::cache::Cache;
use super::image::Image;
use super::locate::Nvcc;
use super::process::{self, Ended};
use super::remedy::remedy;
use super::report::{PtxasReport, number_before};
use crate::arch::Arch;
use crate::emit::Header;
use crate::emit::KernelSource;
use crate::{hash, headers};

/// Changes when what a cache entry holds changes.
const CACHE_FORMAT: &str = "3";
const FLAGS: [&str; 10] = [
    "-std=c++17",
    "-O3",
    "-DNDEBUG",
    "--expt-relaxed-constexpr",
    "-Werror=all-warnings",
    "-Xptxas=-v",
    WARN_SPILLS,
    "-Xptxas=-Werror",
    "-cubin",
    "--keep",
];
const WARN_SPILLS: &str = "-Xptxas=-warn-spills";
/// The source line of each instruction, for profilers and for the reports of an emulator. It changes no instruction, and
/// makes machine code three times as large.
const LINE_INFO: &str = "-lineinfo";

/// What one run of nvcc does.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Run {
    /// From `kernel.cu` to `kernel.ptx` and `kernel.cubin`.
    Whole,
    /// From `kernel.cu` to `kernel.ptx`.
    ToPtx,
    /// From `kernel.ptx` to `kernel.cubin`.
    FromPtx,
}

/// What nvcc finds in place of the toolkit's header that it includes before everything else, and that takes it most of a
/// second to read.
pub const RUNTIME_HEADER: Header = ("cuda_runtime.h", include_str!("cuda_runtime.h"));
/// The same of kernels that call what few do.
const WITH_ROUNDING: Header =
    ("cuda_runtime.h", concat!(include_str!("cuda_runtime.h"), include_str!("cuda_rounding.h")));
const ROUNDING: [&str; 5] = ["floorf(", "ceilf(", "truncf(", "rintf(", "fmodf("];

/// What nvcc finds in place of the toolkit's header before a kernel of that text.
pub fn runtime_header(cuda: &str) -> Header {
    let rounds = ROUNDING.iter().any(|call| cuda.contains(call));
    if rounds { WITH_ROUNDING } else { RUNTIME_HEADER }
}

/// A kernel that could not be compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// nvcc refused it, warned, or spilled registers.
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
        "nvcc did not finish {symbol} for {arch} in {seconds} s and was stopped; take a smaller tile, or of a body make two kernels: each \
         reduction that needs another one computes what it reduces again"
    )]
    TimedOut {
        /// The kernel.
        symbol: String,
        /// The target.
        arch: Arch,
        /// The limit.
        seconds: u64,
    },
    /// nvcc could not be started.
    #[error("{path}: {source}; reinstall the CUDA toolkit or point AUTOKERNEL_NVCC at another", path = .path.display())]
    Start {
        /// The program.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file of the cache could not be read or written.
    #[error(
        "{path}: {source}; check that the folder is writable and has room, or name another in AUTOKERNEL_CACHE_DIR",
        path = .path.display()
    )]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl CompileError {
    pub(super) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> CompileError {
        let path = path.to_owned();
        move |source| CompileError::Io { path, source }
    }

    /// Bytes of registers that a kernel would spill to memory, if it was refused for that.
    pub fn spilled_bytes(&self) -> Option<u32> {
        let CompileError::Refused { log, .. } = self else { return None };
        // ptxas, told to treat spills as errors, says `…, 4 bytes spill stores, 8 bytes spill loads`.
        number_before(log, " bytes spill stores")
    }
}

/// nvcc with a cache of what it compiled.
#[derive(Clone, Debug)]
pub struct Compiler {
    nvcc: Nvcc,
    cache: Cache,
    limit: Duration,
    line_info: bool,
    /// Whether registers may spill to memory.
    spills: bool,
    /// Whether the toolkit's own runtime header stands before a kernel, rather than ours.
    whole_runtime: bool,
}

impl Compiler {
    /// `nvcc`, caching in the folder `cache`. One kernel may take two minutes.
    pub fn new(nvcc: Nvcc, cache: PathBuf) -> Self {
        Compiler {
            nvcc,
            cache: Cache::new(cache),
            limit: Duration::from_secs(120),
            line_info: false,
            spills: false,
            whole_runtime: false,
        }
    }

    /// The same compiler with another time limit for one kernel.
    pub fn with_limit(self, limit: Duration) -> Self {
        Compiler { limit, ..self }
    }

    /// The same compiler, whose images name the source line of each instruction.
    pub fn with_line_info(self) -> Self {
        Compiler { line_info: true, ..self }
    }

    /// The same compiler, for kernels that there are not without registers spilled to memory: these are right, and slower.
    pub fn with_spills(self) -> Self {
        Compiler { spills: true, ..self }
    }

    /// The same compiler with the toolkit's own runtime header, for kernels that use more of CUDA than the operations' do.
    pub fn with_whole_runtime(self) -> Self {
        Compiler { whole_runtime: true, ..self }
    }

    /// The nvcc in use.
    pub fn nvcc(&self) -> &Nvcc {
        &self.nvcc
    }

    /// Removes from the cache what no build has asked for in so long.
    pub fn remove_unused(&self, unused: Duration) {
        self.cache.remove_unused(unused);
    }

    /// Compiles `source` for `arch`, or finds it compiled: the same text, headers, flags, nvcc and arch give the same
    /// image. Safe to call from several threads and processes at once.
    ///
    /// # Errors
    /// nvcc refuses the kernel or spills registers, takes longer than the limit, or a file cannot be written.
    pub fn compile(&self, source: &KernelSource, arch: Arch) -> Result<Image, CompileError> {
        if let Some(known) = self.known(source, arch) {
            return known;
        }
        self.noted(source, arch, self.compile_anew(source, arch))
    }

    /// What the cache has: an image, or that registers spill. Builds ask for those again and again, as a kernel does without what spills.
    pub(super) fn known(&self, source: &KernelSource, arch: Arch) -> Option<Result<Image, CompileError>> {
        let key = self.key(source, arch);
        let refused = |log| CompileError::Refused { symbol: source.symbol.clone(), arch, log };
        let image = self.cache.find(&key).map(Ok);
        image.or_else(|| Some(Err(self.cache.refusal(&key).map(refused).filter(|it| it.spilled_bytes().is_some())?)))
    }

    /// `compiled`, of which the cache keeps that registers spill.
    pub(super) fn noted(
        &self,
        source: &KernelSource,
        arch: Arch,
        compiled: Result<Image, CompileError>,
    ) -> Result<Image, CompileError> {
        if let Err(error @ CompileError::Refused { log, .. }) = &compiled
            && error.spilled_bytes().is_some()
        {
            // A cache that cannot be written costs a later run of nvcc, nothing else.
            let _ = self.cache.refuse(&self.key(source, arch), log);
        }
        compiled
    }

    fn compile_anew(&self, source: &KernelSource, arch: Arch) -> Result<Image, CompileError> {
        let work = self.cache.work_folder().map_err(CompileError::io(self.cache.folder()))?;
        self.write_sources(source, work.path()).map_err(CompileError::io(work.path()))?;
        let log = self.run_nvcc(source, arch, Run::Whole, self.limit, work.path())?;
        if self.line_info {
            name_sources_by_their_paths_here(work.path()).map_err(CompileError::io(work.path()))?;
        }
        self.keep(source, arch, work.path(), &log)
    }

    /// Moves what was compiled in `folder` into the cache, if ptxas said in `log` that its registers suffice.
    pub(super) fn keep(
        &self,
        source: &KernelSource,
        arch: Arch,
        folder: &Path,
        log: &str,
    ) -> Result<Image, CompileError> {
        let refused = |log: String| CompileError::Refused { symbol: source.symbol.clone(), arch, log };
        let report = PtxasReport::parse(log, &source.symbol)
            .ok_or_else(|| refused(format!("no ptxas report for the kernel in:\n{log}")))?;
        if report.spills() && !self.spills {
            return Err(refused(format!("registers spilled to memory:\n{log}")));
        }
        self.cache.store(&self.key(source, arch), folder, report).map_err(CompileError::io(self.cache.folder()))
    }

    pub(super) fn key(&self, source: &KernelSource, arch: Arch) -> String {
        let arch = arch.to_string();
        let mut parts = vec![CACHE_FORMAT, &self.nvcc.version, &arch, &source.symbol, &source.cuda];
        parts.extend(self.flags().map(|flag| -> &str { flag }));
        parts.extend(self.line_info.then_some(LINE_INFO));
        parts.extend(self.files(source).into_iter().flat_map(|(path, text)| [path, text]));
        let env = COMPILE_ENV.map(|name| std::env::var_os(name).unwrap_or_default());
        hash::full(parts.into_iter().map(str::as_bytes).chain(env.iter().map(|value| value.as_encoded_bytes())))
    }

    fn flags(&self) -> impl Iterator<Item = &'static str> + use<> {
        let spills = self.spills;
        FLAGS.into_iter().filter(move |flag| !(spills && *flag == WARN_SPILLS))
    }

    /// The files beside the source: those that it includes, and what nvcc includes before it.
    fn files(&self, source: &KernelSource) -> Vec<Header> {
        let mut files = headers::included_by(&source.cuda);
        files.extend(Some(runtime_header(&source.cuda)).filter(|_| !self.whole_runtime));
        files
    }

    pub(super) fn write_sources(&self, source: &KernelSource, folder: &Path) -> std::io::Result<()> {
        std::fs::write(folder.join("kernel.cu"), &source.cuda)?;
        for (path, text) in self.files(source) {
            let path = folder.join(path);
            std::fs::create_dir_all(path.parent().unwrap_or(folder))?;
            std::fs::write(path, text)?;
        }
        Ok(())
    }

    pub(super) fn cache(&self) -> &Cache {
        &self.cache
    }

    pub(super) fn limit(&self) -> Duration {
        self.limit
    }

    pub(super) fn has_line_info(&self) -> bool {
        self.line_info
    }

    /// Runs nvcc in `folder` for at most `limit`; gives its standard error.
    pub(super) fn run_nvcc(
        &self,
        source: &KernelSource,
        arch: Arch,
        run: Run,
        limit: Duration,
        folder: &Path,
    ) -> Result<String, CompileError> {
        let (input, output, code) = match run {
            Run::Whole => ("kernel.cu", "kernel.cubin", arch.to_string()),
            Run::ToPtx => ("kernel.cu", "kernel.ptx", arch.compute()),
            Run::FromPtx => ("kernel.ptx", "kernel.cubin", arch.to_string()),
        };
        let is_asked = |flag: &&str| match run {
            Run::Whole => true,
            Run::ToPtx => !flag.starts_with("-Xptxas") && !["-cubin", "--keep"].contains(flag),
            Run::FromPtx => *flag != "--keep",
        };
        let mut command = Command::new(&self.nvcc.path);
        command.current_dir(folder).args(self.flags().filter(is_asked)).args(self.line_info.then_some(LINE_INFO));
        command.args((run == Run::ToPtx).then_some("-ptx"));
        command.arg(format!("-gencode=arch={},code={code}", arch.compute())).args(["-I.", "-o", output, input]);
        let ended = process::run(command, limit);
        match ended.map_err(|source| CompileError::Start { path: self.nvcc.path.clone(), source })? {
            Ended::TimedOut => {
                let seconds = limit.as_secs();
                Err(CompileError::TimedOut { symbol: source.symbol.clone(), arch, seconds })
            }
            Ended::Exited { status, stderr } if status.success() => Ok(stderr),
            Ended::Exited { status, stderr } => {
                let silent = stderr.trim().is_empty();
                let log = if silent { format!("nothing; it ended with {status}") } else { first_lines(&stderr) };
                Err(CompileError::Refused { symbol: source.symbol.clone(), arch, log })
            }
        }
    }
}

/// Takes the temporary folder out of the PTX's `.file` lines, so that the same kernel gives the same text everywhere.
fn name_sources_by_their_paths_here(folder: &Path) -> std::io::Result<()> {
    let path = folder.join("kernel.ptx");
    let here = format!("\"{}/", folder.canonicalize()?.display());
    let ptx = std::fs::read_to_string(&path)?;
    std::fs::write(&path, ptx.replace(&here, "\""))
}

/// Enough of a log to see the cause, and what to do about it where that is known.
fn first_lines(log: &str) -> String {
    const LINES: usize = 40;
    let lines = log.lines().filter(|line| !line.starts_with("ptxas info")).take(LINES);
    lines.chain(remedy(log)).collect::<Vec<_>>().join("\n")
}
