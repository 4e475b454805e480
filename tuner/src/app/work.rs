//! `tuner work`: a process that measures for a study.

use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::ending::Ending;
use super::error::AppError;
use crate::checkout::own_spaces;
use crate::evaluate::Evaluator;
use crate::folder;
use crate::gate::{Check, Gate, Gated};
use crate::gpu::cli::GpuArgs;
use crate::gpu::sampling::Effort;
use crate::gpu::{Bench as Gpus, GpuEvaluator};
use crate::options::not_negative;
use crate::replay::{Library, Recording, Replay};
use crate::stop::Stop;
use crate::study::{Bench, Habits, Kind, Link, Queue, StudyUrl, Task, Worker};
use crate::target::Target;

/// Measure for a study: take what it asks of GPUs like this machine's, and write down what comes of it.
#[derive(Debug, clap::Args)]
pub struct WorkArgs {
    /// The study: postgres://USER@HOST/DATABASE, or env:VARIABLE where a variable holds the URL.
    #[arg(long, value_name = "URL")]
    pub study: StudyUrl,
    /// End after so many seconds without work [default: wait for more].
    #[arg(long, value_name = "SECONDS", value_parser = not_negative)]
    pub idle: Option<f64>,
    /// Schedules that are taken at once, to be compiled ahead [default: 4 on a GPU, 1 in a replay].
    #[arg(long, value_name = "N")]
    pub ahead: Option<NonZeroUsize>,
    /// What each schedule must pass before it is measured.
    #[arg(long, value_name = "CHECK")]
    pub check: Option<Check>,
    /// Where compiled kernels are kept.
    #[arg(long, value_name = "DIR", default_value = folder::DEFAULT)]
    pub out: PathBuf,
    /// Replay the recorded spaces of this folder, GPU or not [default: the tuner's own, where no GPU can measure].
    #[arg(long, value_name = "DIR", conflicts_with = "gpus")]
    pub spaces: Option<PathBuf>,
    /// On which GPUs.
    #[command(flatten)]
    pub gpu: GpuArgs,
    /// Lets each replayed trial take this long, so that tests can interrupt it.
    #[arg(long, hide = true, value_name = "MS", default_value_t = 0)]
    pub replay_delay_ms: u64,
}

/// Works until `stop` is requested, or there was nothing to do for as long as `args` say.
///
/// # Errors
/// The study cannot be used, nothing can be measured here, or the GPU is lost.
pub fn work(args: &WorkArgs, stop: &Stop) -> Result<Ending, AppError> {
    let bench = Here::of(args)?;
    let queue = Queue::open(Link::open(&args.study, stop)?)?;
    let name = format!("{}:{}", gethostname::gethostname().to_string_lossy(), std::process::id());
    let ahead = args.ahead.map_or(bench.ahead(), NonZeroUsize::get);
    let idle = args.idle.map(|idle| Duration::try_from_secs_f64(idle).unwrap_or(Duration::MAX));
    errln!("{name} works for {}: {}", args.study, bench.words());
    let done = Worker::new(queue, name, &bench, Habits { ahead, idle }, stop.clone())?.run()?;
    outln!("{} results recorded, {} too late", done.counted, done.late);
    Ok(if stop.is_requested() { Ending::Interrupted } else { Ending::Finished })
}

/// What measures on this machine.
struct Here {
    what: What,
    gate: Option<Arc<Gate>>,
}

enum What {
    Gpus(Rc<RefCell<Gpus>>),
    Spaces(Library, Duration),
}

/// Schedules that are taken at once where they are compiled: enough that the GPU does not wait.
const AHEAD: usize = 4;

impl Here {
    fn of(args: &WorkArgs) -> Result<Self, AppError> {
        let gate = match args.check {
            Some(Check::Emulate) => {
                Some(Arc::new(Gate::open(Path::new("."), &folder::kernels(&args.out), args.gpu.compile_threads())?))
            }
            None => None,
        };
        if args.spaces.is_none()
            && let Some(gpus) = args.gpu.bench(&args.out)?
        {
            return Ok(Here { what: What::Gpus(gpus.into_shared()), gate });
        }
        let library = Library::load(&args.spaces.clone().unwrap_or_else(own_spaces))?;
        if library.recordings.is_empty() {
            return Err(AppError::NoSpaces { folder: library.folder });
        }
        Ok(Here { what: What::Spaces(library, Duration::from_millis(args.replay_delay_ms)), gate })
    }

    fn ahead(&self) -> usize {
        match self.what {
            What::Gpus(_) => AHEAD,
            What::Spaces(..) => 1,
        }
    }

    fn words(&self) -> String {
        match &self.what {
            What::Gpus(gpus) => format!("measuring on {}", gpus.borrow().gpu().facts.name),
            What::Spaces(library, _) => format!("replaying the spaces of {}", library.folder.display()),
        }
    }

    fn ungated(&self, task: &Task) -> Option<Box<dyn Evaluator>> {
        match &self.what {
            What::Gpus(gpus) => {
                let class = task.target.problem.class();
                let serves = {
                    let gpus = gpus.borrow();
                    gpus.environment(&class) == task.environment && gpus.runs(task.target.arch)
                };
                serves.then(|| Box::new(GpuEvaluator::new(Rc::clone(gpus), &class, Effort::THOROUGH)) as Box<_>)
            }
            What::Spaces(library, delay) => {
                let recorded = |(_, recording): &&(String, Arc<Recording>)| {
                    let has = |shape| Target { problem: recording.problem.clone(), arch: recording.arch, shape };
                    recording.environment == task.environment
                        && recording.shapes.iter().any(|recorded| has(recorded.shape) == task.target)
                };
                let (name, recording) = library.recordings.iter().find(recorded)?;
                Some(Box::new(Replay::new(Arc::clone(recording), name.clone()).with_delay(*delay)))
            }
        }
    }
}

impl Bench for Here {
    fn kind(&self) -> Option<Kind> {
        match &self.what {
            What::Gpus(gpus) => {
                let gpus = gpus.borrow();
                let (gpu, driver) = (gpus.gpu().facts.clone(), gpus.gpu().driver.clone());
                Some(Kind { gpu, arch: gpus.arch(), driver, nvcc: gpus.nvcc_version().to_owned() })
            }
            What::Spaces(..) => None,
        }
    }

    fn evaluator(&self, task: &Task) -> Option<Box<dyn Evaluator>> {
        let inner = self.ungated(task)?;
        Some(match &self.gate {
            Some(gate) => Box::new(Gated::new(Arc::clone(gate), inner)),
            None => inner,
        })
    }
}
