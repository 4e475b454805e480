//! `tuner work`: a process that measures for a study.

use std::cell::RefCell;
use std::num::NonZeroUsize;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::compile::compile;
use super::ending::Ending;
use super::error::AppError;
use super::work_args::WorkArgs;
use crate::checkout::own_spaces;
use crate::evaluate::Evaluator;
use crate::folder;
use crate::gate::{Check, Gate, Gated};
use crate::gpu::sampling::Effort;
use crate::gpu::{Bench as Gpus, GpuEvaluator};
use crate::replay::{Library, Recording, Replay};
use crate::stop::Stop;
use crate::study::{Bench, Habits, Kind, Link, Queue, Task, Worker};
use crate::target::Target;

/// Works until `stop` is requested, or there was nothing to do for as long as `args` say.
///
/// # Errors
/// The study cannot be used, nothing can be measured here, or the GPU is lost.
pub fn work(args: &WorkArgs, stop: &Stop) -> Result<Ending, AppError> {
    if args.compile {
        return compile(args, stop);
    }
    let bench = Here::of(args)?;
    let queue = Queue::open(Link::open(&args.study, stop)?)?;
    let (name, idle) = (args.name(), args.idle());
    let ahead = args.ahead.map_or(bench.ahead(), NonZeroUsize::get);
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
        let cache = args.shared_cache().unwrap_or_else(|| folder::kernels(&args.out));
        let gate = match args.check {
            Some(Check::Emulate) => Some(Arc::new(Gate::open(Path::new("."), &cache, args.gpu.compile_threads())?)),
            None => None,
        };
        if args.spaces.is_none()
            && let Some(gpus) = args.gpu.bench(&cache)?
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
                let target = &*task.target;
                let serves = {
                    let gpus = gpus.borrow();
                    gpus.environment(target) == *task.environment && gpus.runs(target.arch)
                };
                serves.then(|| Box::new(GpuEvaluator::new(Rc::clone(gpus), target, Effort::THOROUGH)) as Box<_>)
            }
            What::Spaces(library, delay) => {
                let recorded = |(_, recording): &&(String, Arc<Recording>)| {
                    let has = |shape| Target { problem: recording.problem.clone(), arch: recording.arch, shape };
                    recording.environment == *task.environment
                        && recording.shapes.iter().any(|recorded| has(recorded.shape) == *task.target)
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
