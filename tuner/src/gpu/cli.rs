//! The options of measuring on GPUs, and the subcommands `final`, `worker` and `record`.

use std::collections::HashSet;
use std::io;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use autokernel_codegen::config::Config;
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::epilogue::Epilogue;
use autokernel_codegen::matmul;
use autokernel_codegen::matmul::model::splits_of;
use autokernel_codegen::matmul::space::images_of_heights;
use autokernel_codegen::problem::{INPUTS, Layout, Problem, ProblemClass, in_words, outputs};
use autokernel_codegen::schedule::space::Space;
use autokernel_codegen::schedule::{Family, Schedule};
use autokernel_core::Extents;
use autokernel_runtime::Device;

use super::bench::Bench;
use super::devices::Devices;
use super::record::{self, Plan, RecordError, Selection};
use super::sampling::Effort;
use super::seeds::Seeds;
use super::worker;
use crate::Target;
use crate::demand::{Package, PackageError};
use crate::drawn;
use crate::evaluate::EvaluatorError;
use crate::folder;
use crate::group_sizes::GroupSizes;
use crate::options::{not_negative, of_dims, shape};
use crate::promote::FinalPlan;
use crate::regime::RegimeChoice;
use crate::replay::Recording;

/// On which GPUs.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "GPUs and finals")]
pub struct GpuArgs {
    /// The GPUs that measure: `all`, or their numbers as in 0,1. They must be of one kind [default: 0, where there is one].
    #[arg(long, value_name = "all|N,…")]
    pub gpus: Option<Devices>,
    /// Seed of the inputs that results are checked on [default: another one in each run].
    #[arg(long, value_name = "SEED")]
    pub check_seed: Option<u64>,
    /// How large the groups of grouped products are, which only the device knows: zipf (one in eight empty), uniform or even. Times
    /// of one are not taken for those of another; a study's workers serve those that they were started with.
    #[arg(long, value_enum, default_value_t, value_name = "SIZES")]
    pub group_sizes: GroupSizes,
    /// In which state of the GPU schedules are timed: each after a rest, in turn with a reference that keeps the GPU under load, or so
    /// where arithmetic bounds a launch for 0.03 ms and more. Times of one are not taken for those of the other.
    #[arg(long, value_enum, default_value_t, value_name = "STATE")]
    pub regime: RegimeChoice,
    /// Kernels that are compiled at once [default: one for each core].
    #[arg(long, value_name = "N")]
    pub compile_threads: Option<NonZeroUsize>,
    /// The program that serves as worker, so that tests need no GPU.
    #[arg(long, hide = true, value_name = "PROGRAM")]
    pub worker: Option<PathBuf>,
}

/// How many qualify for a final.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct FinalistArgs {
    /// Schedules of a search that meet what is in use in its final; up to six times as many if they take 0.1 ms or more after rests.
    #[arg(long, value_name = "N", default_value_t = FinalPlan::FINALISTS, value_parser = finalists, help_heading = "GPUs and finals")]
    pub finalists: usize,
}

impl GpuArgs {
    /// Kernels that are compiled at once.
    pub fn compile_threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        self.compile_threads.map_or_else(cores, NonZeroUsize::get)
    }

    /// The bench that these options describe, with its kernels cached in `cache`; none if nobody asked for GPUs and there is none
    /// that can measure.
    ///
    /// # Errors
    /// Somebody asked for GPUs, and they cannot measure.
    pub fn bench(&self, cache: &Path) -> Result<Option<Bench>, EvaluatorError> {
        let asked = self.gpus.is_some() || self.worker.is_some();
        if !asked && !matches!(Device::gpu_count(), Ok(1..)) {
            return Ok(None);
        }
        let devices = self.gpus.clone().unwrap_or(Devices::one(0));
        match Bench::open(&devices, self.worker.as_deref(), Path::new("."), cache) {
            Ok(bench) => {
                if let Some(reason) = &bench.gpu().no_nvml {
                    errln!("note: without NVML, throttling is told from the SM's own counter alone ({reason})");
                }
                let bench = bench.with_group_sizes(self.group_sizes).timing(self.regime);
                Ok(Some(bench.with(self.check_seed.map(Seeds::of_run), self.compile_threads.map(NonZeroUsize::get))))
            }
            Err(error) if asked => Err(error),
            Err(error) => {
                errln!("warning: there is a GPU, but it cannot be measured on: {error}");
                Ok(None)
            }
        }
    }
}

fn finalists(text: &str) -> Result<usize, String> {
    let refused = || "write a number from 1 to 64".to_owned();
    text.parse().ok().filter(|count| (1..=64).contains(count)).ok_or_else(refused)
}

/// Hold the finals of a journal again, and say how far their choices are from the best.
#[derive(Debug, clap::Args)]
pub struct FinalArgs {
    /// Only this shape, as MxNxK; may be repeated.
    #[arg(long, value_name = "MxNxK", value_parser = shape)]
    pub shape: Vec<Extents>,
    /// Only this problem class, for example matmul_leaky_relu_bf16_bf16_nt.
    #[arg(long, value_name = "CLASS")]
    pub problem: Option<String>,
    /// How often each final is held. From 2 on, a long measurement then tells how far each choice was from the best.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeat: u32,
    /// Hold no final: measure so many of the search's schedules, drawn at equal steps of their rank, twice for long, and tell
    /// how near the search's order is to that under load.
    #[arg(long, value_name = "N", conflicts_with_all = ["repeat", "finalists"], value_parser = clap::value_parser!(u32).range(2..=1000))]
    pub long: Option<u32>,
    /// The output folder of the search: its journal says who qualified.
    #[arg(long, value_name = "DIR", default_value = folder::DEFAULT)]
    pub out: PathBuf,
    /// The config that is in use [default: best_config.json].
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// On which GPUs.
    #[command(flatten)]
    pub gpu: GpuArgs,
    /// How many meet.
    #[command(flatten)]
    pub qualify: FinalistArgs,
}

/// Check and time candidates on one GPU, as told on standard input (started by the tuner itself).
#[derive(Debug, clap::Args)]
pub struct WorkerArgs {
    /// The GPU.
    #[arg(long, default_value_t = 0)]
    pub device: usize,
}

impl WorkerArgs {
    /// Serves until standard input ends.
    ///
    /// # Errors
    /// Standard input or output is broken.
    pub fn run(&self) -> io::Result<()> {
        worker::end_with_parent();
        worker::serve(self.device, io::stdin().lock(), io::stdout().lock())
    }
}

/// Measure a whole space of schedules on this machine's GPU, to be searched again without one.
#[derive(Debug, clap::Args)]
pub struct RecordArgs {
    /// The kernel family: sm80, sm90 or skinny_sm80 of products, rows_sm80 or rows_sm90, attention_sm80 or attention_sm90, routing_sm80, or packing_sm80.
    #[arg(long, value_parser = parse_family, default_value = "sm90")]
    pub family: Family,
    /// What is measured, as INPUT[-OUTPUT]:LAYOUT:EPILOGUE.
    #[arg(long, value_name = "PROBLEM", default_value = "bf16:nt:leaky_relu(0.01)", conflicts_with = "kernel")]
    pub problem: ProblemSpec,
    /// A kernel that the crate of --crate declares, by its name: `softmax`, or of several types `softmax<bf16>`.
    #[arg(long, value_name = "NAME", conflicts_with = "drawn")]
    pub kernel: Option<String>,
    /// The crate that declares --kernel.
    #[arg(long = "crate", value_name = "DIR", default_value = ".")]
    pub package: PathBuf,
    /// At which shapes: MxNxK, of groups or a batch MxNxKxCOUNT, or of row-wise kernels ROWSxCOLUMNS, separated by commas.
    #[arg(long, value_name = "MxNxK,…", value_delimiter = ',', value_parser = shape, required_unless_present = "drawn")]
    pub shapes: Vec<Extents>,
    /// At COUNT shapes drawn by SEED, with a choice of schedules at each: what arithmetic and --pool suggest, and a
    /// random sample.
    #[arg(long, value_name = "SEED:COUNT", value_parser = drawn, conflicts_with_all = ["shapes", "images", "rasters_for_top"])]
    pub drawn: Option<(u64, usize)>,
    /// Recordings whose fast images are tried at drawn shapes, too.
    #[arg(long, value_name = "FILE,…", value_delimiter = ',', requires = "drawn")]
    pub pool: Vec<PathBuf>,
    /// The config whose portfolio is measured at every drawn shape where it is near the best, and whose entries' images are tried, too.
    #[arg(long, value_name = "FILE", requires = "drawn")]
    pub config: Option<PathBuf>,
    /// Of --config the portfolio, images of several heights, and what arithmetic ranks first alone: no entries' images, no pool and no
    /// sample. So few images say most of each other in little time.
    #[arg(long, requires = "config", conflicts_with = "pool")]
    pub portfolio_alone: bool,
    /// Measure a sample of this many compiled images, the same each time.
    #[arg(long, value_name = "N")]
    pub images: Option<NonZeroUsize>,
    /// Measure every raster for this many of the fastest images at each shape, and one raster for the others.
    #[arg(long, value_name = "N")]
    pub rasters_for_top: Option<usize>,
    /// How large the groups of a grouped product are: zipf (one in eight empty), uniform or even.
    #[arg(long, value_enum, default_value_t, value_name = "SIZES")]
    pub group_sizes: GroupSizes,
    /// How long the GPU rests before each schedule is timed, in milliseconds, so that all meet the same clocks.
    #[arg(long, default_value_t = Effort::QUICK.rest_ms, value_parser = not_negative)]
    pub rest_ms: f64,
    /// Measure the images in another order.
    #[arg(long, default_value_t = 0, hide = true)]
    pub order: u64,
    /// Stop after this long. What was measured is written; the same command goes on from there.
    #[arg(long, value_parser = not_negative)]
    pub minutes: Option<f64>,
    /// The recording to write. FILE.log keeps what was measured on the way.
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// The GPUs: `all`, or their numbers as in 0,1. They must be of one kind.
    #[arg(long, value_name = "all|N,…", default_value = "0")]
    pub gpus: Devices,
    /// Where compiled kernels are kept.
    #[arg(long, value_name = "DIR", default_value = "target/tuner-kernels")]
    pub kernel_cache: PathBuf,
}

impl RecordArgs {
    /// What is measured: a product, or what a crate declares.
    fn problem(&self) -> Result<Problem, RecordError> {
        let Some(name) = &self.kernel else { return Ok(self.problem.0.clone()) };
        let package = Package::open(&self.package)?;
        let declared = package.build.declared(&package.root).map_err(PackageError::from)?;
        let names = || declared.iter().map(|kernel| kernel.name.as_str()).collect::<Vec<_>>().join(", ");
        let found = declared.iter().find(|kernel| kernel.name == *name).map(|kernel| kernel.problem.clone());
        found.ok_or_else(|| RecordError::NoKernel { name: name.clone(), declared: names() })
    }

    /// Records.
    ///
    /// # Errors
    /// There is no GPU or nvcc here, or a file cannot be written.
    pub fn run(&self) -> Result<(), RecordError> {
        // nvcc runs in folders of its own, so its paths must not depend on this one.
        let cache = std::path::absolute(&self.kernel_cache).unwrap_or_else(|_| self.kernel_cache.clone());
        let problem = self.problem()?;
        let bench = Bench::open(&self.gpus, None, Path::new("."), &cache)?;
        let mut bench = bench.with_group_sizes(self.group_sizes);
        let shapes = match self.drawn {
            None => {
                let signature = problem.signature();
                let named = |shape| of_dims(shape, signature.names()).unwrap_or(*shape);
                self.shapes.iter().map(named).collect()
            }
            Some((seed, count)) => drawn::aligned(seed, count),
        };
        let selection = self.drawn.map(|(seed, _)| self.selection(seed, &shapes, &bench)).transpose()?;
        let plan = Plan {
            problem,
            family: self.family,
            shapes,
            selection,
            images: self.images.map(NonZeroUsize::get),
            rasters_for_top: self.rasters_for_top,
            order: self.order,
            effort: Effort { rest_ms: self.rest_ms, ..Effort::QUICK },
            limit: self.minutes.and_then(|minutes| Duration::try_from_secs_f64(minutes * 60.0).ok()),
            out: self.out.clone(),
            command: std::env::args().skip(1).fold("tuner".to_owned(), |command, arg| format!("{command} {arg}")),
        };
        let recording = record::record(&mut bench, &plan)?;
        let rows: usize = recording.shapes.iter().map(|shape| shape.rows.len()).sum();
        outln!("{}: {rows} rows of {} shapes", self.out.display(), recording.shapes.len());
        Ok(())
    }
}

impl RecordArgs {
    /// What is tried at drawn shapes.
    fn selection(&self, seed: u64, shapes: &[Extents], bench: &Bench) -> Result<Selection, RecordError> {
        let (problem, arch) = (&self.problem.0, bench.arch());
        let space = Space::new(self.family, &problem.class(), arch);
        let target = |&shape: &Extents| Target { problem: problem.clone(), arch, shape };
        let targets: Vec<Target> = shapes.iter().map(target).collect();
        let alone = self.portfolio_alone;
        let often = || record::popular(&space, &targets, &bench.gpu().facts, DRAWN_FIRST, DRAWN_OFTEN);
        let mut pool = if alone { Vec::new() } else { often() };
        for path in &self.pool {
            pool.extend(Recording::load(path)?.shapes.iter().flat_map(|shape| shape.within(DRAWN_WITHIN)));
        }
        let mut always = Vec::new();
        if let Some(path) = &self.config {
            let config = Config::load(path)?;
            if !alone {
                pool.extend(config.entries.iter().map(|entry| entry.schedule.form()));
            }
            let portfolio = config.portfolio_for(problem, arch);
            let images = portfolio.iter().flat_map(|portfolio| &portfolio.images);
            always.extend(images.flat_map(|image| launched(problem, image.schedule)));
            if let (true, ProblemClass::Matmul(class)) = (alone, problem.class()) {
                always.extend(images_of_heights(&class, arch).into_iter().flat_map(|tile| launched(problem, tile)));
            }
        }
        let forms: HashSet<Schedule> = space.forms().collect();
        let mut seen = HashSet::new();
        pool.retain(|form| forms.contains(form) && seen.insert(*form));
        outln!("{} shapes drawn by seed {seed}; {} images in the pool", shapes.len(), pool.len());
        Ok(Selection {
            seed,
            first: if alone { DRAWN_FIRST_BESIDE_PORTFOLIO } else { DRAWN_FIRST },
            always,
            pool,
            of_pool: DRAWN_OF_POOL,
            random: if alone { 0 } else { DRAWN_RANDOM },
            random_of: DRAWN_RANDOM_OF,
        })
    }
}

/// A schedule, and its image at each split of K that a launch may take.
fn launched(problem: &Problem, schedule: Schedule) -> Vec<Schedule> {
    let mut forms = vec![schedule];
    if let (ProblemClass::Matmul(class), Ok(product)) = (problem.class(), matmul::Schedule::try_from(&schedule)) {
        forms.extend(splits_of(&class, product).map(Schedule::from));
    }
    forms
}

/// What is tried at a drawn shape: images that arithmetic ranks first there, …
const DRAWN_FIRST: usize = 15;
/// The same where the portfolio is what is measured: they show what it lacks.
const DRAWN_FIRST_BESIDE_PORTFOLIO: usize = 4;
/// … those that it ranks so at several shapes, …
const DRAWN_OFTEN: usize = 6;
/// … those that other recordings found within this factor of the fastest, …
const DRAWN_WITHIN: f64 = 1.03;
/// … at most so many of both, …
const DRAWN_OF_POOL: usize = 45;
/// … and a random sample, of so many images in all.
const DRAWN_RANDOM: usize = 12;
const DRAWN_RANDOM_OF: usize = 64;

fn drawn(text: &str) -> Result<(u64, usize), String> {
    let parts = text.split_once(':').and_then(|(seed, count)| Some((seed.parse().ok()?, count.parse().ok()?)));
    parts.filter(|(_, count)| *count > 0).ok_or_else(|| "write SEED:COUNT, for example 11:60".to_owned())
}

/// A problem in short: `bf16:nt:leaky_relu(0.01)`, `f16-f32:nn:identity`.
#[derive(Clone, Debug, PartialEq)]
pub struct ProblemSpec(pub Problem);

impl FromStr for ProblemSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = "write INPUT[-OUTPUT]:LAYOUT:EPILOGUE, for example bf16:nt:leaky_relu(0.01) or f16-f32:nn:identity";
        let refused = |what: &str| format!("{what}; {form}");
        let parts: Vec<&str> = text.splitn(3, ':').collect();
        let &[types, layout, epilogue] = parts.as_slice() else { return Err(refused("three parts are needed")) };
        let (input, output) = types.split_once('-').unwrap_or((types, types));
        let dtype = |name: &str| Dtype::from_name(name).ok_or_else(|| refused(&format!("`{name}` is no element type")));
        let (input, output) = (dtype(input)?, dtype(output)?);
        if !INPUTS.contains(&input) {
            return Err(refused(&format!("{input} is an output type only")));
        }
        let layout = Layout::ALL.into_iter().find(|known| known.to_string() == layout);
        let layout = layout.ok_or_else(|| refused("the layout is nn, nt, tn or tt"))?;
        if !outputs(input).contains(&output) {
            return Err(refused(&format!("products of {input} are stored as {}", in_words(outputs(input)))));
        }
        if !Layout::of(input).contains(&layout) {
            return Err(refused(&format!("factors of {input} are multiplied where they lie along K, as nt")));
        }
        let epilogue: Epilogue = epilogue.parse().map_err(|error| refused(&format!("{error}")))?;
        Ok(ProblemSpec(matmul::Problem { output, ..matmul::Problem::new(input, layout, epilogue) }.into()))
    }
}

fn parse_family(name: &str) -> Result<Family, String> {
    let known = || Family::ALL.iter().map(|family| family.name()).collect::<Vec<_>>().join(" or ");
    Family::from_name(name).ok_or_else(|| format!("write {}", known()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_read_from_its_short_form() {
        let ProblemSpec(problem) = "f16-f32:nn:leaky_relu(0.2)".parse().unwrap();
        assert_eq!(problem.to_string(), "matmul nn f16 -> f32, epilogue leaky_relu(0.2)");
    }

    #[test]
    fn a_problem_that_cannot_be_read_is_refused_with_an_example() {
        for text in ["", "bf16", "bf16:nt", "f32:nn:relu", "bf16:xt:relu", "bf16:nt:frobnicate", "i8:nt:relu"] {
            let error = text.parse::<ProblemSpec>().unwrap_err();
            assert!(error.contains("f16-f32:nn:identity"), "{text}: {error}");
        }
    }
}
