//! Compiles the kernels of these tests with the schedules of their own best_config.json alone: what ships with
//! autokernel changes with every tuning, and would multiply by the number of epilogues here. Row-wise bodies are also compiled
//! one schedule at a time, for some widths.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use autokernel_codegen::arch::Arch;
use autokernel_codegen::nvcc::{CompileError, Compiler, Nvcc};
use autokernel_codegen::rows::{RowsSchedule, emit, problem};
use rayon::prelude::*;

include!("src/rows/bodies.rs");

fn main() {
    // SAFETY: a build script's main thread is its only one here.
    unsafe { std::env::remove_var("DEP_AUTOKERNEL_CONFIG") };
    autokernel_codegen::Build::new().source("src").run();
    println!("cargo::rerun-if-changed=build.rs");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo names it"));
    let text = rows(&out).unwrap_or_else(|error| panic!("row-wise kernels: {error}"));
    std::fs::write(out.join("rows_images.rs"), text).expect("OUT_DIR is writable");
}

/// An array of `RowsImage`s in Rust, empty without nvcc.
fn rows(out: &Path) -> Result<String, Box<dyn std::error::Error>> {
    let cache = autokernel_codegen::build::cache_folder(out);
    let Ok(nvcc) = Nvcc::locate(Path::new(&std::env::var("CARGO_MANIFEST_DIR")?), &cache) else {
        return Ok("&[]".to_owned());
    };
    let compiler = Compiler::new(nvcc, cache);
    let mut jobs = Vec::new();
    for body in &BODIES {
        for ty in ["bf16", "f16", "f32"] {
            let function = syn::parse_str(&body.source.replace("TYPE", ty))?;
            let problem = problem(&function)?;
            // Speed is measured on bf16 and f32; f16 is held to be right.
            let widths = if ty == "f16" { &[1024, 65_536] } else { &WIDTHS[..] };
            let schedules: BTreeSet<_> = widths
                .iter()
                .map(|&columns| RowsSchedule::for_columns(&problem.class(), columns, Arch::SM_90A))
                .collect();
            jobs.extend(schedules.into_iter().map(|schedule| (body.name, ty, problem.clone(), schedule)));
        }
    }
    let mut text = "&[\n".to_owned();
    for (number, image) in compile(&compiler, &jobs)?.into_iter().enumerate() {
        let (name, ty, problem, schedule) = &jobs[number];
        let (_, plan) = emit::kernel(problem, schedule);
        let cubin = out.join(format!("rows_{number}.cubin"));
        std::fs::copy(&image, &cubin)?;
        let [problem, schedule, plan] = [
            serde_json::to_string(problem)?,
            serde_json::to_string(&autokernel_codegen::rows::AnySchedule::from(*schedule))?,
            serde_json::to_string(&plan)?,
        ];
        writeln!(
            text,
            "RowsImage {{ name: {name:?}, dtype: {ty:?}, problem: {problem:?}, schedule: {schedule:?}, plan: {plan:?}, \
             cubin: include_bytes!({:?}) }},",
            cubin.display().to_string()
        )?;
    }
    text.push(']');
    Ok(text)
}

type Job = (&'static str, &'static str, autokernel_codegen::rows::Problem, RowsSchedule);

/// The cubin of each job, compiled on all cores.
fn compile(compiler: &Compiler, jobs: &[Job]) -> Result<Vec<PathBuf>, CompileError> {
    let cubin = |(.., problem, schedule): &Job| {
        let source = emit::kernel(problem, schedule).0;
        compiler.compile(&source, Arch::SM_90A).map(|image| image.cubin)
    };
    jobs.par_iter().map(cubin).collect()
}
