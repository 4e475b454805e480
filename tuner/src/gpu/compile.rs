//! Compiling candidates.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use autokernel_codegen::arch::Arch;
use autokernel_codegen::emit::KernelSource;
use autokernel_codegen::nvcc::{CompileError, Compiler, Image, PtxasReport};
use autokernel_codegen::problem::Problem;
use autokernel_codegen::schedule::Schedule;

use super::deadline::{Limit, SharedLimit};
use super::protocol::Kernel;
use super::worker::instruments;
use crate::bridge::capability;
use crate::evaluate::EvaluatorError;
use crate::outcome::Failure;

/// How long one compile may take: what was seen tells more than any number, and a hang of ptxas must end.
pub const COMPILE_LIMIT: Limit =
    Limit::adaptive(Duration::from_secs(120), Duration::from_secs(30), Duration::from_secs(300));

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

/// Schedules that share one image: they differ in launch-time knobs alone.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageGroup {
    /// The schedules, in the order given.
    pub schedules: Vec<Schedule>,
}

impl ImageGroup {
    /// Groups schedules by image, in the order of first appearance.
    pub fn of(schedules: &[Schedule]) -> Vec<ImageGroup> {
        let mut groups: Vec<ImageGroup> = Vec::new();
        let mut group_of = HashMap::new();
        for &schedule in schedules {
            let index = *group_of.entry(schedule.image()).or_insert_with(|| {
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
    let compiler = compiler.clone().with_whole_runtime();
    let compile = |source: &KernelSource| {
        let image = compiler.compile(source, arch).map_err(|error| EvaluatorError {
            reason: error.to_string(),
            remedy: "check the CUDA toolkit: these kernels are part of the tuner and compile with nvcc 12 and 13"
                .into(),
        })?;
        Ok(Kernel { symbol: source.symbol.clone(), image: image.cubin })
    };
    Ok((compile(&problem.reference().0)?, compile(&instruments::source(problem))?))
}

/// Compiles candidates for one target. Cheap to clone, and shared by threads.
#[derive(Clone, Debug)]
pub struct CandidateCompiler {
    compiler: Compiler,
    problem: Problem,
    arch: Arch,
    form: ImageForm,
    limit: Arc<SharedLimit>,
}

/// Which of its two forms of an image a GPU takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageForm {
    /// Machine code: for the arch the GPU is of.
    Cubin,
    /// What the GPU's driver compiles: for an earlier arch.
    Ptx,
}

impl ImageForm {
    /// The form in which an image for `arch` runs on a GPU of this compute capability; `None` if it does not.
    pub fn on_device(arch: Arch, gpu: (u32, u32)) -> Option<Self> {
        let gpu = capability(gpu);
        let ptx = || arch.ptx_runs_on(gpu).then_some(ImageForm::Ptx);
        arch.cubin_runs_on(gpu).then_some(ImageForm::Cubin).or_else(ptx)
    }

    fn of(self, image: Image) -> PathBuf {
        match self {
            ImageForm::Cubin => image.cubin,
            ImageForm::Ptx => image.ptx,
        }
    }
}

impl CandidateCompiler {
    /// A compiler for the candidates of `problem` and `arch`, in the form that their GPU takes. One compile may take as
    /// long as `limit` says.
    pub fn new(compiler: Compiler, problem: Problem, arch: Arch, form: ImageForm, limit: Arc<SharedLimit>) -> Self {
        CandidateCompiler { compiler, problem, arch, form, limit }
    }

    /// As [`CandidateCompiler::try_compile`], for an evaluator.
    ///
    /// # Errors
    /// Nothing can be compiled here.
    pub fn compile(&self, schedule: &Schedule) -> Result<CompileOutcome, EvaluatorError> {
        self.try_compile(schedule).map_err(|error| EvaluatorError {
            reason: format!("nothing can be compiled here: {error}"),
            remedy: "`tuner doctor` says what nvcc and its cache lack; what was measured is kept".to_owned(),
        })
    }

    /// Compiles one candidate. The schedule's rules come first, and a spill is a failure: such a kernel is slow for sure. Faults of
    /// this machine are none of the schedule's.
    ///
    /// # Errors
    /// nvcc does not start, or the cache cannot be written.
    pub fn try_compile(&self, schedule: &Schedule) -> Result<CompileOutcome, CompileError> {
        let CandidateCompiler { compiler, problem, arch, form, limit } = self;
        if let Err(broken) = problem.class().check(schedule, *arch) {
            return Ok(Err(broken.into()));
        }
        let source = match problem.emit(schedule) {
            Ok((source, _)) => source,
            Err(other) => return Ok(Err(Failure::Compile { log: other.to_string() })),
        };
        let begun = Instant::now();
        // Limits are told in whole seconds.
        let seconds = limit.now().as_secs_f64().ceil();
        let compiler = compiler.clone().with_limit(Duration::from_secs_f64(seconds));
        let image = match compiler.compile(&source, *arch) {
            Ok(image) => image,
            Err(error) => return failure(error).map(Err),
        };
        if !image.cached {
            limit.saw(begun.elapsed());
        }
        let report = image.report;
        if report.spills() {
            return Ok(Err(Failure::Spill { bytes: report.spill_store_bytes.max(report.spill_load_bytes) }));
        }
        Ok(Ok(Compiled { kernel: Kernel { symbol: source.symbol, image: form.of(image) }, report }))
    }
}

/// What `error` says of the schedule; what says nothing of it comes back.
fn failure(error: CompileError) -> Result<Failure, CompileError> {
    match (error.spilled_bytes(), error) {
        (Some(bytes), _) => Ok(Failure::Spill { bytes }),
        (None, CompileError::TimedOut { seconds, .. }) => Ok(Failure::CompileTimeout { limit_s: seconds as f64 }),
        (None, CompileError::Refused { log, .. }) => Ok(Failure::Compile { log }),
        (None, other @ (CompileError::Start { .. } | CompileError::Io { .. })) => Err(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schedules_that_differ_in_launch_time_knobs_share_an_image() {
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
    fn an_image_runs_as_machine_code_within_its_major_version_and_as_ptx_on_all_that_is_later() {
        let form = |arch, device| ImageForm::on_device(arch, device);
        let sm_86: Arch = "sm_86".parse().unwrap();
        assert_eq!(form(Arch::SM_80, (8, 0)), Some(ImageForm::Cubin));
        assert_eq!(form(Arch::SM_80, (8, 9)), Some(ImageForm::Cubin));
        assert_eq!(form(Arch::SM_80, (9, 0)), Some(ImageForm::Ptx));
        assert_eq!(form(sm_86, (8, 0)), None);
        assert_eq!(form(Arch::SM_90A, (9, 0)), Some(ImageForm::Cubin));
        assert_eq!(form(Arch::SM_90A, (10, 0)), None);
        assert_eq!(form(Arch::SM_90A, (8, 0)), None);
    }

    #[test]
    fn a_spill_that_nvcc_refuses_is_told_from_other_errors() {
        let refused =
            |log: &str| CompileError::Refused { symbol: "x".to_owned(), arch: Arch::SM_80, log: log.to_owned() };
        let spill =
            "ptxas error : Registers are spilled to local memory in function 'x', 4 bytes spill stores, 8 bytes";
        assert_eq!(failure(refused(spill)).unwrap(), Failure::Spill { bytes: 4 });
        let log = "error: expected a `;`";
        assert_eq!(failure(refused(log)).unwrap(), Failure::Compile { log: log.to_owned() });
        let source = std::io::Error::other("no room");
        assert!(
            failure(CompileError::Io { path: "cache".into(), source }).is_err(),
            "that says nothing of the schedule"
        );
    }
}
