//! The schedules that a measurement of products times at a shape: those that a kernel carries, as the model would launch them, and others.

use autokernel::{AnyKernel, CompiledKernel, Device, Extents, Result};
use autokernel_codegen::matmul::schedule::Schedule;
use autokernel_codegen::product::Problem;

use crate::carried::{Carried, machine};
use crate::timed::{self, Compiled};

/// The number of the one that the model chooses, among all.
pub const CHOSEN: usize = 0;
/// How many of the fastest meet others beside it.
const FASTEST: usize = 3;

/// A schedule at one shape.
pub struct Contender<'k> {
    /// How it is launched.
    pub schedule: Schedule,
    /// Its kernel.
    pub kernel: &'k CompiledKernel,
    /// The milliseconds that the model predicts, of those that are carried.
    pub predicted_ms: Option<f64>,
}

impl Contender<'_> {
    /// It and what is predicted of it.
    pub fn told(&self) -> String {
        let predicted = self.predicted_ms.map_or(String::new(), |ms| format!("predicted {ms:.4} "));
        format!("{predicted}{}", self.schedule)
    }
}

/// What is timed of a problem.
pub struct Contenders {
    problem: Problem,
    carried: Carried,
    images: Vec<Compiled>,
    listed: Vec<Compiled>,
}

/// What is carried, on a GPU and at one shape.
pub struct AtShape<'c> {
    by_model: Vec<(f64, Schedule, CompiledKernel)>,
    listed: &'c [(Schedule, CompiledKernel)],
}

impl Contenders {
    /// Those of `problem`, compiled: what it carries, and `listed`. Images are kept in `AUTOKERNEL_CACHE_DIR`, or in `folder`.
    pub fn compile(problem: Problem, listed: Vec<Schedule>, folder: &str) -> Self {
        let carried = Carried::of(&problem);
        let listed = timed::compile(&problem, listed, folder);
        let images = timed::compile(&problem, carried.images().collect(), folder);
        Contenders { problem, carried, images, listed }
    }

    /// A kernel as a declaration makes it, which chooses among what is carried.
    pub fn declared(&self) -> AnyKernel {
        self.carried.kernel(&self.images)
    }

    /// The kernels of the list.
    pub fn load(&self, device: &Device) -> Vec<(Schedule, CompiledKernel)> {
        timed::load(device, &self.problem, &self.listed)
    }

    /// What is carried, as a launch on `device` takes it at `extents`, and what `load` gave.
    ///
    /// # Panics
    /// The driver cannot say what GPU it is.
    pub fn at<'c>(&self, device: &Device, extents: &Extents, listed: &'c [(Schedule, CompiledKernel)]) -> AtShape<'c> {
        let by_model = self.carried.at(extents, machine(device)).into_iter();
        let loaded = by_model.filter_map(|(ms, schedule)| {
            let kernel = timed::load_as(device, &self.problem, &self.images, &schedule)?;
            Some((ms, schedule, kernel))
        });
        AtShape { by_model: loaded.collect(), listed }
    }
}

impl AtShape<'_> {
    /// All of them, that which the model chooses first.
    pub fn all(&self) -> Vec<Contender<'_>> {
        let of_model = self.by_model.iter().map(|(ms, schedule, kernel)| Contender {
            schedule: *schedule,
            kernel,
            predicted_ms: Some(*ms),
        });
        let of_list =
            self.listed.iter().map(|(schedule, kernel)| Contender { schedule: *schedule, kernel, predicted_ms: None });
        of_model.chain(of_list).collect()
    }
}

/// Milliseconds with the number of whose they are, in order of them.
pub type Ranked = Vec<(f64, usize)>;

/// What `time` says of each, the fastest first; each is told to stderr behind `shape`.
///
/// # Errors
/// A launch fails.
pub fn rank(
    shape: &str,
    contenders: &[Contender<'_>],
    mut time: impl FnMut(&CompiledKernel) -> Result<f64>,
) -> Result<Ranked> {
    let mut ranked = Ranked::new();
    for (number, contender) in contenders.iter().enumerate() {
        let ms = time(contender.kernel)?;
        eprintln!("{shape} {ms:.4} ms {}", contender.told());
        ranked.push((ms, number));
    }
    ranked.sort_by(|left, right| left.0.total_cmp(&right.0));
    Ok(ranked)
}

/// The numbers of those that meet what others launch: the model's choice and the fastest.
pub fn finalists(ranked: &Ranked) -> Vec<usize> {
    let fastest = ranked.iter().take(FASTEST).map(|(_, number)| *number);
    [CHOSEN].into_iter().chain(fastest).collect()
}
