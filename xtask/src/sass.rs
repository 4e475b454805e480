//! `cargo xtask sass`: the machine code of every built-in kernel, by hash.
//!
//! Run it before and after a change to the CUDA sources: equal lines are equal instructions, whatever symbols are
//! called and wherever arguments lie in the constant bank.

mod normalise;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use autokernel_codegen::Build;
use autokernel_codegen::arch::Arch;
use autokernel_codegen::config::Config;
use autokernel_codegen::emit::KernelSource;
use autokernel_codegen::nvcc::{Compiler, Nvcc};
use autokernel_codegen::problem::Problem;
use autokernel_codegen::schedule::Schedule;
use clap::Args;
use rayon::prelude::*;

/// Print a hash of the normalised machine code of every built-in kernel, a line each, sorted.
#[derive(Args)]
pub struct Options {
    /// NVIDIA's disassembler, of a CUDA toolkit or of the wheel nvidia-cuda-nvdisasm.
    #[arg(long, default_value = "nvdisasm")]
    nvdisasm: PathBuf,
    /// Where to write the normalised machine code too, a file a hash.
    #[arg(long)]
    keep: Option<PathBuf>,
}

/// A kernel to disassemble.
struct Job {
    name: String,
    arch: Arch,
    source: KernelSource,
}

pub fn run(root: &Path, options: &Options) -> Result<()> {
    let cache = root.join("target/autokernel-cache");
    let compiler = Compiler::new(Nvcc::locate(root, &cache)?, cache);
    let jobs = jobs(root)?;
    let line = |job: &Job| {
        let image = compiler.compile(&job.source, job.arch)?;
        let code = normalise::kernels(&disassemble(&options.nvdisasm, &image.cubin)?);
        ensure!(!code.is_empty(), "no machine code in {}", image.cubin.display());
        let hash = autokernel_codegen::hash::short(&code);
        if let Some(folder) = &options.keep {
            std::fs::create_dir_all(folder)?;
            std::fs::write(folder.join(&hash), code)?;
        }
        Ok(format!("{}\t{}\t{hash}", job.name, job.arch))
    };
    let mut lines: Vec<_> = jobs.par_iter().map(line).collect::<Result<_>>()?;
    lines.sort();
    lines.dedup();
    println!("{}", lines.join("\n"));
    Ok(())
}

/// Every image of the facade, and the reference of every problem.
fn jobs(root: &Path) -> Result<Vec<Job>> {
    let declared = Build::new().source("src/builtin.rs").declared(root)?;
    let config = Config::load(&root.join("best_config.json"))?;
    let mut jobs = Vec::new();
    for problem in declared.into_iter().map(|declared| declared.problem) {
        for &arch in &config.archs {
            for schedule in schedules(&config, &problem, arch) {
                let name = format!("{problem}\t{schedule}");
                let (source, _) = problem.emit(&schedule)?;
                jobs.push(Job { name, arch, source });
            }
            jobs.push(Job { name: format!("{problem}\treference"), arch, source: problem.reference().0 });
        }
    }
    Ok(jobs)
}

/// What the build compiles for `problem`: its tuned entries, and the default beside them.
fn schedules(config: &Config, problem: &Problem, arch: Arch) -> Vec<Schedule> {
    let tuned = config.entries_for(problem, arch).into_iter().map(|entry| entry.schedule);
    tuned.chain([problem.class().default_schedule(arch)]).collect()
}

fn disassemble(nvdisasm: &Path, cubin: &Path) -> Result<String> {
    let output = Command::new(nvdisasm).arg("-c").arg(cubin).output().with_context(|| {
        format!(
            "cannot run {}: name the program with --nvdisasm; `pip install nvidia-cuda-nvdisasm` has one",
            nvdisasm.display()
        )
    })?;
    ensure!(output.status.success(), "nvdisasm: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(String::from_utf8(output.stdout)?)
}
