//! Recording a space: every schedule measured, to be searched again where there is no GPU.

mod log;
mod plan;
mod progress;
mod selection;

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use autokernel_codegen::config::ConfigError;
use autokernel_codegen::problem::Problem;
use autokernel_codegen::schedule::space::Space;
use autokernel_codegen::schedule::{Family, Schedule};
use autokernel_core::{Extents, Ms};
use autokernel_runtime::timing::Statistics;

use self::log::{Header, Line, Log};
use self::progress::Progress;
use super::bench::Bench;
use super::compile::ImageGroup;
use super::sampling::Effort;
use crate::Target;
use crate::demand::PackageError;
use crate::environment::today;
use crate::evaluate::{Contender, EvaluatorError, Rounds};
use crate::numbers;
use crate::outcome::{Measurement, Outcome};
use crate::replay::{Method, RecordedShape, Recording, RecordingError};

pub use self::log::LogError;
pub use self::selection::{Selection, popular};

/// What is recorded.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What is measured.
    pub problem: Problem,
    /// The kernel family.
    pub family: Family,
    /// At which shapes.
    pub shapes: Vec<Extents>,
    /// A sample of that many images; `None` for all.
    pub images: Option<usize>,
    /// Every raster for that many of the fastest images only; `None` for all.
    pub rasters_for_top: Option<usize>,
    /// A choice of schedules at each shape in the place of all; cuBLAS is then timed, but holds no final.
    pub selection: Option<Selection>,
    /// In which order the images are measured; any number, 0 for the usual one.
    pub order: u64,
    /// How thoroughly each schedule is timed.
    pub effort: Effort,
    /// Stop after this long; what was measured is kept.
    pub limit: Option<Duration>,
    /// The recording.
    pub out: PathBuf,
    /// The command, for the recording's header.
    pub command: String,
}

/// Why a recording ended early.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The GPU is lost.
    #[error(transparent)]
    Evaluator(#[from] EvaluatorError),
    /// The crate that declares the kernel cannot be read.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// It declares no such kernel.
    #[error("the crate declares no `{name}`; name one of these with --kernel: {declared}")]
    NoKernel {
        /// What was asked for.
        name: String,
        /// What there is.
        declared: String,
    },
    /// The config whose images are to be tried cannot be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The log cannot be used.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A recording cannot be read or written.
    #[error(transparent)]
    Recording(#[from] RecordingError),
}

/// How many of the fastest schedules meet cuBLAS in the final at each shape.
const FINALISTS: usize = 3;
const ROUNDS: Rounds = Rounds { count: 15, round_ms: 10.0, warm_up_ms: 300.0 };

/// Measures what `plan` asks for on `bench`, prints progress, and writes the recording. What `<out>.log` holds is not
/// measured again.
///
/// # Errors
/// The GPU is lost or a file cannot be written; the log keeps what was measured.
pub fn record(bench: &mut Bench, plan: &Plan) -> Result<Recording, RecordError> {
    let deadline = plan.limit.map(|limit| Instant::now() + limit);
    let class = plan.problem.class();
    let header = Header { problem: plan.problem.clone(), arch: bench.arch(), environment: bench.rested(&plan.problem) };
    let mut log = Log::open(&log_path(&plan.out), &header)?;
    let space = Space::new(plan.family, &class, bench.arch());
    let probe = plan.rasters_for_top.map(|_| class.default_schedule(bench.arch()));
    let shipped = class.portfolio(bench.arch());
    let groups = plan::images(&space, plan.images, plan.order, &shipped);
    for &shape in &plan.shapes {
        let target = Target { problem: plan.problem.clone(), arch: bench.arch(), shape };
        let mut shape = ShapeRun { bench, log: &mut log, target: &target, deadline, plan };
        if let Some(selection) = &plan.selection {
            shape.measure_selected(selection, &space)?;
            continue;
        }
        shape.pass(&plan::first_pass(&groups, probe))?;
        if let Some(top) = plan.rasters_for_top {
            let second = plan::second_pass(&groups, top, |schedule| shape.median_ms(schedule));
            shape.pass(&second)?;
        }
        shape.meet_cublas(&groups)?;
    }
    let recording = assemble(bench, plan, &space, &log);
    recording.save(&plan.out)?;
    Ok(recording)
}

fn log_path(out: &Path) -> PathBuf {
    let mut path = out.as_os_str().to_owned();
    path.push(".log");
    path.into()
}

/// One shape of a recording.
struct ShapeRun<'r> {
    bench: &'r mut Bench,
    log: &'r mut Log,
    target: &'r Target,
    deadline: Option<Instant>,
    plan: &'r Plan,
}

impl ShapeRun<'_> {
    /// Measures what is not in the log yet.
    fn pass(&mut self, schedules: &[Schedule]) -> Result<(), RecordError> {
        let shape = self.target.shape;
        let known = self.log.rows.entry(shape).or_default();
        let left: Vec<Schedule> = schedules.iter().copied().filter(|schedule| !known.contains_key(schedule)).collect();
        if left.is_empty() || self.is_over() {
            return Ok(());
        }
        let begun = Instant::now();
        let opened = self.bench.prepare(self.target)?;
        outln!(
            "{shape}: {} of {} schedules to measure; {} sets of matrices, {} L2; open in {:.1} s",
            left.len(),
            schedules.len(),
            opened.buffer_sets,
            if opened.cold_l2 { "cold" } else { "partly warm" },
            begun.elapsed().as_secs_f64(),
        );
        let mut progress = Progress::new(self.target, left.len());
        let mut written = Ok(());
        let ShapeRun { log, deadline, .. } = self;
        self.bench.evaluate(self.target, &left, self.plan.effort, None, &mut |evaluated| {
            progress.count(evaluated.schedule, &evaluated.outcome);
            let (schedule, outcome) = (evaluated.schedule, evaluated.outcome);
            // What other GPUs still finish is told after a fault, too: the first fault counts.
            if written.is_ok() {
                written = log.append(Line::Schedule { shape, schedule, outcome });
            }
            let over = deadline.is_some_and(|deadline| Instant::now() >= deadline);
            if over || written.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        outln!("{}; worker replaced {} times", progress.line(), self.bench.replaced());
        written.map_err(|source| LogError::Io { path: log_path(&self.plan.out), source })?;
        Ok(())
    }

    /// What was chosen for this shape, and cuBLAS as each of them is timed.
    fn measure_selected(&mut self, selection: &Selection, space: &Space) -> Result<(), RecordError> {
        let chosen = selection.at(space, self.target, &self.bench.gpu().facts);
        self.pass(&chosen)?;
        let others = selection.rasters(&chosen, |schedule| self.median_ms(schedule));
        self.pass(&others)?;
        let shape = self.target.shape;
        if self.is_over() || self.log.cublas.contains_key(&shape) {
            return Ok(());
        }
        match self.bench.baseline(self.target, self.plan.effort)? {
            Outcome::Failed(failure) => outln!("{shape}: cuBLAS could not be measured: {failure}"),
            Outcome::Measured(measurement) => self.append(Line::Cublas { shape, measurement })?,
        }
        Ok(())
    }

    /// The fastest schedules against cuBLAS, in interleaved rounds, where it computes such problems at all. A recording without
    /// cuBLAS is one all the same.
    fn meet_cublas(&mut self, groups: &[ImageGroup]) -> Result<(), RecordError> {
        let shape = self.target.shape;
        let schedules = groups.iter().flat_map(|group| &group.schedules);
        let mut timed: Vec<(f64, Schedule)> =
            schedules.filter_map(|schedule| Some((self.median_ms(schedule)?, *schedule))).collect();
        let is_met = self.target.problem.opponent().is_none() || self.log.cublas.contains_key(&shape);
        if timed.is_empty() || is_met {
            return Ok(());
        }
        match self.bench.baseline(self.target, self.plan.effort)? {
            Outcome::Failed(failure) => outln!("{shape}: cuBLAS could not be measured: {failure}"),
            Outcome::Measured(measurement) => {
                outln!("{shape}: cuBLAS + epilogue {}", self.describe(&measurement));
                self.append(Line::Cublas { shape, measurement })?;
            }
        }
        timed.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let finalists: Vec<Schedule> = timed.iter().take(FINALISTS).map(|(_, schedule)| *schedule).collect();
        let mut contenders: Vec<Contender> = finalists.iter().copied().map(Contender::Schedule).collect();
        contenders.push(Contender::Cublas);
        let mut finals = self.bench.compare(self.target, &contenders, ROUNDS)?;
        let Some(Ok(cublas)) = finals.pop() else { return Ok(()) };
        outln!("{shape}: sustained, in turn: cuBLAS + epilogue {}", self.describe(&cublas.measurement));
        for (schedule, result) in finalists.iter().zip(finals) {
            match result {
                Ok(time) => {
                    let ratios: Vec<f64> = cublas.round_ms.iter().zip(&time.round_ms).map(|(a, b)| a / b).collect();
                    let ratio = Statistics::of(&ratios).map_or(f64::NAN, |ratio| ratio.median);
                    outln!(
                        "{shape}: sustained, in turn: {} = {ratio:.3} x cuBLAS: {schedule}",
                        self.describe(&time.measurement)
                    );
                }
                Err(failure) => outln!("{shape}: {failure}: {schedule}"),
            }
        }
        Ok(())
    }

    fn append(&mut self, line: Line) -> Result<(), RecordError> {
        self.log.append(line).map_err(|source| LogError::Io { path: log_path(&self.plan.out), source })?;
        Ok(())
    }

    fn describe(&self, measurement: &Measurement) -> String {
        let clock = measurement.sm_clock_mhz.map_or_else(String::new, |mhz| format!(", SM {mhz} MHz"));
        let Measurement { median_ms, spread_pct, .. } = measurement;
        format!("{}, {:.1} TFLOP/s (spread {spread_pct:.2} %{clock})", Ms(*median_ms), self.target.tflops(*median_ms))
    }

    fn median_ms(&self, schedule: &Schedule) -> Option<f64> {
        self.log.rows.get(&self.target.shape)?.get(schedule)?.median_ms()
    }

    fn is_over(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }
}

/// What the operands held.
fn data(bench: &Bench, problem: &Problem) -> String {
    let drawn = "standard normal; B scaled by 1/sqrt(k)";
    let groups = numbers::has_groups(problem).then(|| bench.rested(problem).group_sizes);
    groups.map_or_else(|| drawn.to_owned(), |sizes| format!("{drawn}; groups of {sizes}"))
}

/// The recording of what the log holds: in the order of the space, and behind that what no search proposes, as tiles of an image
/// that has several.
fn assemble(bench: &Bench, plan: &Plan, space: &Space, log: &Log) -> Recording {
    let shape = |&shape: &Extents| {
        let known = log.rows.get(&shape)?;
        let row = |schedule: &Schedule| Some((*schedule, known.get(schedule)?.clone()));
        let of_space: HashSet<&Schedule> = space.schedules().iter().collect();
        let mut others: Vec<&Schedule> = known.keys().filter(|schedule| !of_space.contains(schedule)).collect();
        others.sort();
        let rows: Vec<_> = space.schedules().iter().chain(others).filter_map(row).collect();
        (!rows.is_empty()).then(|| RecordedShape { shape, rows, cublas: log.cublas.get(&shape).copied() })
    };
    Recording {
        problem: plan.problem.clone(),
        arch: bench.arch(),
        environment: bench.rested(&plan.problem),
        gpu: bench.gpu().facts.clone(),
        method: Method {
            data: data(bench, &plan.problem),
            cache: "cold".to_owned(),
            samples: plan.effort.min_samples,
            date: today(),
            command: plan.command.clone(),
            coverage: coverage(plan, space, log),
        },
        shapes: plan.shapes.iter().filter_map(shape).collect(),
    }
}

/// What was left out of the space, in words; `None` if nothing was.
fn coverage(plan: &Plan, space: &Space, log: &Log) -> Option<String> {
    let total = space.schedules().len();
    let tried = |shape: &Extents| {
        let known = log.rows.get(shape);
        known.map_or(0, |known| space.schedules().iter().filter(|schedule| known.contains_key(schedule)).count())
    };
    let others = |shape: &Extents| log.rows.get(shape).map_or(0, |known| known.len()) - tried(shape);
    let short: Vec<String> = plan
        .shapes
        .iter()
        .filter(|shape| tried(shape) < total)
        .map(|shape| match others(shape) {
            0 => format!("{} of {total} schedules at {shape}", tried(shape)),
            others => format!("{} of {total} schedules and {others} others at {shape}", tried(shape)),
        })
        .collect();
    (!short.is_empty()).then(|| short.join(", "))
}
