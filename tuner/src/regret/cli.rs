//! The command `regret`.

use std::path::{Path, PathBuf};
use std::rc::Rc;

use autokernel_codegen::config::{Config, ConfigError};
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::problem::Problem;
use autokernel_codegen::schedule::Schedule;
use autokernel_core::Extents;

use super::lost::{Lost, summary};
use super::tuned::{Searches, finalists};
use crate::chosen;
use crate::drawn::{Activation, Drawn, Shapes};
use crate::environment::today;
use crate::evaluate::{Contender, Evaluator, EvaluatorError, Rounds};
use crate::folder;
use crate::gpu::sampling::Effort;
use crate::gpu::{Bench, Devices, GpuEvaluator};
use crate::held_final::Leg;
use crate::journal::{Journal, JournalError, Start};
use crate::options::{is_wanted, shape};
use crate::session::{Budget, Progress};
use crate::stop::Stop;
use crate::target::Target;

/// Rounds in which a search's finalists meet.
const WIDE: Rounds = Rounds { count: 7, round_ms: 4.0, warm_up_ms: 60.0 };
/// Rounds in which the fastest of these meet the choice: anew, so that luck in the rounds before counts for nobody.
const LAST: Rounds = Rounds { count: 25, round_ms: 4.0, warm_up_ms: 60.0 };
/// How many of them.
const FASTEST: usize = 3;

/// Search drawn shapes that nobody tuned, and say how far behind the best that was found what a launch chooses is.
#[derive(Debug, clap::Args)]
pub struct RegretArgs {
    /// Draws the shapes.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// How many; those whose strides are odd are left out.
    #[arg(long, default_value_t = 40)]
    pub count: usize,
    /// Of the drawn shapes only this one, as MxNxK; may be repeated.
    #[arg(long, value_name = "MxNxK", value_parser = shape)]
    pub shape: Vec<Extents>,
    /// Schedules to try at each shape.
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub evaluations: u32,
    /// Generations these are divided into.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub generations: u32,
    /// Where the journal and compiled kernels are kept. Trials that it has are not made again.
    #[arg(long, value_name = "DIR", default_value = "target/tuner-regret")]
    pub out: PathBuf,
    /// The config whose portfolio serves the shapes. Its tuned entries seed searches alone.
    #[arg(long, value_name = "FILE", default_value = crate::checkout::DEFAULT_CONFIG)]
    pub config: PathBuf,
    /// The GPU's number.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub gpu: usize,
}

/// Why it ended early.
#[derive(Debug, thiserror::Error)]
pub enum RegretError {
    /// The config cannot be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The GPU cannot measure.
    #[error(transparent)]
    Evaluator(#[from] EvaluatorError),
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// There is nothing to choose from.
    #[error("{} has no portfolio for {target}; choose one with `tuner portfolio`", .config.display())]
    NoPortfolio {
        /// The config.
        config: PathBuf,
        /// What was to be searched.
        target: String,
    },
}

impl RegretArgs {
    /// Searches and compares, and prints a line for each shape and the summary. `stop` ends it behind the shape at hand.
    ///
    /// # Errors
    /// There is no GPU, nvcc or portfolio here, or the journal cannot be used.
    pub fn run(&self, stop: &Stop) -> Result<(), RegretError> {
        let config = Config::load(&self.config)?;
        let bench = Bench::open(&Devices::one(self.gpu), None, Path::new("."), &folder::kernels(&self.out))?;
        let mut journal = Journal::open(&folder::journal(&self.out), Start::Resume)?;
        stop.withdraws(journal.intents());
        let wanted = self.wanted(&config, &bench)?;
        let choices: Vec<(Target, Schedule)> =
            wanted.iter().map(|(_, target, choice)| (target.clone(), *choice)).collect();
        bench.compile_ahead(&choices)?;
        let searches = Searches {
            config: &config,
            budget: Budget { evaluations: self.evaluations as usize, generations: self.generations as usize },
            seed: self.seed,
            stop,
            progress: Progress::new(),
        };
        let bench = bench.into_shared();
        let mut all = Vec::new();
        for (drawn, target, choice) in wanted {
            let mut evaluator = GpuEvaluator::new(Rc::clone(&bench), &target, Effort::QUICK);
            if all.is_empty() {
                let about = &evaluator.about().environment;
                outln!(
                    "{}, driver {}, nvcc {}, kernels {}, {}",
                    about.gpu,
                    about.driver,
                    about.nvcc,
                    about.kernels,
                    today()
                );
            }
            let finalists = finalists(&searches.at(&target, &mut evaluator, &mut journal));
            if stop.is_requested() {
                break;
            }
            let lost = meet(drawn, &target, choice, &finalists, &mut evaluator)?;
            match &lost {
                Some(lost) => outln!("{}", lost.line()),
                None => outln!("{} {}: not measured", drawn.extents, drawn.layout),
            }
            all.extend(lost);
        }
        outln!("tuner regret --seed {} --count {} --evaluations {}", self.seed, self.count, self.evaluations);
        outln!("{}", summary(&all));
        Ok(())
    }

    /// The shapes, each as a plain product, with what a launch chooses there.
    fn wanted(&self, config: &Config, bench: &Bench) -> Result<Vec<(Drawn, Target, Schedule)>, RegretError> {
        let drawn = Shapes::of_seed(self.seed).filter(Drawn::is_aligned).take(self.count);
        let drawn = drawn.filter(|drawn| is_wanted(&self.shape, &drawn.extents));
        let wanted = drawn.map(|drawn| {
            let problem = Problem::matmul(Dtype::Bf16, drawn.layout, Activation::Plain.epilogue());
            let target = Target { problem, arch: bench.arch(), shape: drawn.extents };
            let Some((choice, _)) = chosen::predicted(config, &target, &bench.gpu().facts) else {
                return Err(RegretError::NoPortfolio { config: self.config.clone(), target: target.to_string() });
            };
            Ok((drawn, target, choice))
        });
        wanted.collect()
    }
}

/// The final of `finalists`, whose fastest then meet `choice`.
fn meet(
    drawn: Drawn,
    target: &Target,
    choice: Schedule,
    finalists: &[Schedule],
    evaluator: &mut dyn Evaluator,
) -> Result<Option<Lost>, EvaluatorError> {
    let mut held = |schedules: &[Schedule], rounds: Rounds| -> Result<Leg, EvaluatorError> {
        let contenders: Vec<Contender> = schedules.iter().copied().map(Contender::Schedule).collect();
        let results = evaluator.compare(target, &contenders, rounds)?;
        Ok(Leg::new(Some(rounds), &contenders, results))
    };
    if finalists.is_empty() {
        return Ok(None);
    }
    let wide = held(finalists, WIDE)?;
    let fastest: Vec<Schedule> = wide.ranking().into_iter().take(FASTEST).map(|(schedule, _)| schedule).collect();
    let mut last = fastest.clone();
    if !last.contains(&choice) {
        last.push(choice);
    }
    Ok(Lost::of(drawn, choice, &held(&last, LAST)?, &fastest))
}
