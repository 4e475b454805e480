//! Compiling candidates ahead of the GPU, on every core.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Sender};
use std::time::Instant;

use autokernel_codegen::arch::Arch;
use autokernel_codegen::emit::{KernelSource, emit, emit_reference};
use autokernel_codegen::nvcc::{CompileError, Compiler, Image, PtxasReport};
use autokernel_codegen::problem::Problem;
use autokernel_codegen::schedule::{Raster, RasterOrder, Schedule};

use super::protocol::Kernel;
use super::worker::instruments;
use crate::evaluate::EvaluatorError;
use crate::outcome::Failure;

/// A compiled candidate.
#[derive(Clone, Debug, PartialEq)]
pub struct Compiled {
    /// The kernel.
    pub kernel: Kernel,
    /// Its resources.
    pub report: PtxasReport,
}

/// What became of a compile.
pub type CompileOutcome = Result<Compiled, Failure>;

/// Schedules that share one image: they differ in the raster alone.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageGroup {
    /// The schedules, in the order given.
    pub schedules: Vec<Schedule>,
}

impl ImageGroup {
    /// Groups schedules by image, in the order of first appearance.
    pub fn of(schedules: &[Schedule]) -> Vec<ImageGroup> {
        let raster = Raster { order: RasterOrder::AlongM, group: 1 };
        let mut groups: Vec<ImageGroup> = Vec::new();
        let mut group_of = HashMap::new();
        for &schedule in schedules {
            let index = *group_of.entry(schedule.with_raster(raster)).or_insert_with(|| {
                groups.push(ImageGroup { schedules: Vec::new() });
                groups.len() - 1
            });
            groups[index].schedules.push(schedule);
        }
        groups
    }
}

/// The helper kernels of a problem: the reference and the instruments.
///
/// # Errors
/// nvcc cannot compile them, so nothing can be measured.
pub fn helpers(compiler: &Compiler, problem: &Problem, arch: Arch) -> Result<(Kernel, Kernel), EvaluatorError> {
    let compile = |source: &KernelSource| {
        let image = compiler.compile(source, arch).map_err(|error| EvaluatorError {
            reason: error.to_string(),
            remedy: "check the CUDA toolkit: these kernels are part of the tuner and compile with nvcc 12 and 13"
                .into(),
        })?;
        Ok(Kernel { symbol: source.symbol.clone(), cubin: image.cubin })
    };
    Ok((compile(&emit_reference(problem))?, compile(&instruments::source(problem))?))
}

/// Compiles one candidate. The schedule's rules come first, and a spill is a failure: such a kernel is slow for sure.
pub fn compile(compiler: &Compiler, problem: &Problem, arch: Arch, schedule: &Schedule) -> CompileOutcome {
    schedule.check(&problem.class(), arch)?;
    let source = emit(problem, schedule);
    let Image { cubin, report, .. } = compiler.compile(&source, arch).map_err(|error| failure(&error))?;
    if report.spills() {
        return Err(Failure::Spill { bytes: report.spill_store_bytes.max(report.spill_load_bytes) });
    }
    Ok(Compiled { kernel: Kernel { symbol: source.symbol, cubin }, report })
}

fn failure(error: &CompileError) -> Failure {
    match error {
        CompileError::TimedOut { seconds, .. } => Failure::CompileTimeout { limit_s: *seconds as f64 },
        CompileError::Refused { log, .. } => match spilled_bytes(log) {
            Some(bytes) => Failure::Spill { bytes },
            None => Failure::Compile { log: log.clone() },
        },
        other => Failure::Compile { log: other.to_string() },
    }
}

/// ptxas, told to treat spills as errors, says `…, 4 bytes spill stores, 8 bytes spill loads`.
fn spilled_bytes(log: &str) -> Option<u32> {
    let (before, _) = log.split_once(" bytes spill stores")?;
    let digits = before.rfind(|c: char| !c.is_ascii_digit()).map_or(before, |at| &before[at + 1..]);
    digits.parse().ok()
}

/// A finished compile of one of several schedules.
#[derive(Clone, Debug, PartialEq)]
pub struct Finished {
    /// Which of the schedules.
    pub index: usize,
    /// What became of it.
    pub outcome: CompileOutcome,
    /// What it took, in seconds.
    pub seconds: f64,
}

/// Compiles `schedules` on `threads` threads, begun in order, and hands each to `each` on the calling thread as soon as
/// it is finished, while the others go on. When `each` breaks or fails, nothing further is begun.
///
/// # Errors
/// That of `each`.
pub fn compile_ahead<E>(
    compiler: &Compiler,
    problem: &Problem,
    arch: Arch,
    schedules: &[Schedule],
    threads: usize,
    mut each: impl FnMut(Finished) -> Result<ControlFlow<()>, E>,
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    let (sender, receiver) = mpsc::channel();
    let work = |sender: Sender<Finished>| {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(schedule) = schedules.get(index) else { break };
            let start = Instant::now();
            let outcome = compile(compiler, problem, arch, schedule);
            if sender.send(Finished { index, outcome, seconds: start.elapsed().as_secs_f64() }).is_err() {
                break;
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, schedules.len().max(1)) {
            let sender = sender.clone();
            scope.spawn(|| work(sender));
        }
        drop(sender);
        for finished in &receiver {
            let verdict = each(finished);
            if !matches!(verdict, Ok(ControlFlow::Continue(()))) {
                next.store(schedules.len(), Ordering::Relaxed);
                return verdict.map(|_| ());
            }
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_that_differ_in_the_raster_share_an_image() {
        let class = Problem::matmul(
            autokernel_codegen::dtype::Dtype::Bf16,
            autokernel_codegen::problem::Layout::Nt,
            "relu".parse().unwrap(),
        )
        .class();
        let space = autokernel_codegen::schedule::space::Space::new(
            autokernel_codegen::schedule::Family::Sm90,
            &class,
            Arch::SM_90A,
        );
        let groups = ImageGroup::of(space.schedules());
        assert_eq!(groups.len(), space.images().count());
        assert_eq!(groups.iter().map(|group| group.schedules.len()).sum::<usize>(), space.schedules().len());
    }

    #[test]
    fn a_spill_that_nvcc_refuses_is_told_from_other_errors() {
        let log = "ptxas error : Registers are spilled to local memory in function 'x', 4 bytes spill stores, 8 bytes";
        assert_eq!(spilled_bytes(log), Some(4));
        assert_eq!(spilled_bytes("error: expected a `;`"), None);
    }
}
