//! The command `grid`.

use std::path::{Path, PathBuf};

use autokernel_codegen::config::{Config, ConfigError};
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::problem::{Layout, Problem};
use autokernel_codegen::schedule::Schedule;
use autokernel_core::{Extents, Ms};

use super::outcome::{Met, ratio, summary};
use super::recorded;
use crate::chosen;
use crate::drawn::{Activation, Drawn, Shapes};
use crate::environment::today;
use crate::evaluate::{Contender, EvaluatorError, Rounds};
use crate::gpu::Bench;
use crate::gpu::Devices;
use crate::options::{is_wanted, shape};
use crate::replay::{Recording, RecordingError};
use crate::target::Target;

/// Measure drawn shapes that nobody tuned against cuBLASLt's best, in interleaved rounds under load.
#[derive(Debug, clap::Args)]
pub struct GridArgs {
    /// Draws the shapes.
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// How many.
    #[arg(long, default_value_t = 200)]
    pub count: usize,
    /// Draw on until there are as many of these alone.
    #[arg(long, value_enum, conflicts_with = "entries")]
    pub only: Option<Strides>,
    /// Of the drawn shapes only this one, as MxNxK; may be repeated.
    #[arg(long, value_name = "MxNxK", value_parser = shape, conflicts_with = "entries")]
    pub shape: Vec<Extents>,
    /// Rounds at each shape, each of which both run in.
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u32).range(3..=1000))]
    pub rounds: u32,
    /// At the shapes of the config's entries in the place of drawn ones: the model's choice beside the entry.
    #[arg(long)]
    pub entries: bool,
    /// Without a GPU: at the shapes of these recordings, what a launch chooses against the best that was recorded, of the images and
    /// splits of K that were recorded there: others, which a launch may choose too, nobody measured.
    #[arg(long, value_name = "RECORDING", num_args = 1.., conflicts_with_all = ["seed", "count", "only", "shape", "entries"])]
    pub from: Vec<PathBuf>,
    /// The config whose portfolio serves the shapes. Its tuned entries do not count.
    #[arg(long, value_name = "FILE", default_value = crate::checkout::DEFAULT_CONFIG)]
    pub config: PathBuf,
    /// The GPU's number.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub gpu: usize,
    /// Where compiled kernels are kept.
    #[arg(long, value_name = "DIR", default_value = "target/tuner-kernels")]
    pub kernel_cache: PathBuf,
}

/// How the rows of a product's matrices begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Strides {
    /// All at multiples of 16 bytes.
    Aligned,
    /// Those of one matrix at least anywhere.
    Odd,
}

impl Strides {
    fn has(self, drawn: &Drawn) -> bool {
        drawn.is_aligned() == matches!(self, Strides::Aligned)
    }

    const fn name(self) -> &'static str {
        match self {
            Strides::Aligned => "aligned",
            Strides::Odd => "odd",
        }
    }
}

/// A shape that is going to be measured.
struct Wanted {
    drawn: Drawn,
    target: Target,
    /// What a launch chooses there.
    choice: Schedule,
    /// The time that is predicted for it, in milliseconds.
    predicted: f64,
}

/// Why a grid ended early.
#[derive(Debug, thiserror::Error)]
pub enum GridError {
    /// The config cannot be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A recording cannot be read.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The GPU cannot measure.
    #[error(transparent)]
    Evaluator(#[from] EvaluatorError),
    /// There is nothing to choose from.
    #[error("{} has no portfolio for {target}; choose one with `tuner portfolio`", .config.display())]
    NoPortfolio {
        /// The config.
        config: PathBuf,
        /// What was to be measured.
        target: String,
    },
}

impl GridArgs {
    /// Measures, and prints a line for each shape and the summary.
    ///
    /// # Errors
    /// There is no GPU, nvcc or portfolio here.
    pub fn run(&self) -> Result<(), GridError> {
        let config = Config::load(&self.config)?;
        if !self.from.is_empty() {
            return self.recorded(&config);
        }
        let cache = std::path::absolute(&self.kernel_cache).unwrap_or_else(|_| self.kernel_cache.clone());
        let mut bench = Bench::open(&Devices::one(self.gpu), None, Path::new("."), &cache)?;
        // What is drawn are products.
        let product = Problem::matmul(Dtype::Bf16, Layout::Nt, Activation::Plain.epilogue());
        let environment = bench.rested(&product);
        outln!(
            "{}, driver {}, nvcc {}, kernels {}, {}; random normal data, cold L2, {} rounds under load",
            environment.gpu,
            environment.driver,
            environment.nvcc,
            environment.kernels,
            today(),
            self.rounds,
        );
        if self.entries { self.entries(&config, &mut bench) } else { self.drawn(&config, &mut bench) }
    }

    /// The choice at shapes that were recorded.
    fn recorded(&self, config: &Config) -> Result<(), GridError> {
        let mut choices = Vec::new();
        for path in &self.from {
            let recording = Recording::load(path)?;
            let no_portfolio =
                || GridError::NoPortfolio { config: self.config.clone(), target: recording.problem.to_string() };
            choices.extend(recorded::choices(config, &recording).ok_or_else(no_portfolio)?);
        }
        recorded::tell(&choices).iter().for_each(|line| outln!("{line}"));
        Ok(())
    }

    fn rounds(&self) -> Rounds {
        Rounds { count: self.rounds, round_ms: 4.0, warm_up_ms: 80.0 }
    }

    /// What launch would choose at `target`.
    fn choice(&self, config: &Config, bench: &Bench, target: &Target) -> Result<(Schedule, f64), GridError> {
        let chosen = chosen::predicted(config, target, &bench.gpu().facts);
        chosen.ok_or_else(|| GridError::NoPortfolio { config: self.config.clone(), target: target.to_string() })
    }

    /// The shapes, with what a launch chooses there and the time that is predicted for it.
    fn wanted(&self, config: &Config, bench: &Bench) -> Result<Vec<Wanted>, GridError> {
        let has_strides = |drawn: &Drawn| self.only.is_none_or(|strides| strides.has(drawn));
        let drawn = Shapes::of_seed(self.seed).filter(has_strides).take(self.count);
        let drawn = drawn.filter(|drawn| is_wanted(&self.shape, &drawn.extents));
        let wanted = drawn.map(|drawn| {
            let problem = Problem::matmul(Dtype::Bf16, drawn.layout, drawn.activation.epilogue());
            let target = Target { problem, arch: bench.arch(), shape: drawn.extents };
            let (choice, predicted) = self.choice(config, bench, &target)?;
            Ok(Wanted { drawn, target, choice, predicted })
        });
        wanted.collect()
    }

    fn drawn(&self, config: &Config, bench: &mut Bench) -> Result<(), GridError> {
        let mut met: Vec<Met> = Vec::new();
        let wanted = self.wanted(config, bench)?;
        let choices: Vec<(Target, Schedule)> =
            wanted.iter().map(|wanted| (wanted.target.clone(), wanted.choice)).collect();
        bench.compile_ahead(&choices)?;
        for Wanted { drawn, target, choice, predicted } in wanted {
            let Drawn { extents, layout, activation, .. } = drawn;
            let finals = bench.compare(&target, &[Contender::Schedule(choice), Contender::Cublas], self.rounds())?;
            let [Ok(ours), Ok(theirs)] = finals.as_slice() else {
                let failures: Vec<String> =
                    finals.iter().filter_map(|fell| Some(fell.as_ref().err()?.to_string())).collect();
                outln!("{extents} {layout} {activation}: not measured: {}", failures.join("; "));
                continue;
            };
            let ratio = ratio(&theirs.round_ms, &ours.round_ms);
            let ms = ours.measurement.median_ms;
            let odd = if drawn.is_aligned() { "" } else { " odd strides" };
            outln!(
                "{extents} {layout} {activation}{odd}: {}, predicted {}, {ratio:.3} x cuBLASLt: {}",
                Ms(ms),
                Ms(predicted),
                choice
            );
            met.push(Met { drawn, ratio });
        }
        let only = self.only.map(|strides| format!(" --only {}", strides.name())).unwrap_or_default();
        outln!("tuner grid --seed {} --count {}{only}: {} measured", self.seed, self.count, met.len());
        summary(&met).iter().for_each(|line| outln!("{line}"));
        Ok(())
    }

    /// The model's choice beside each entry, so that entries which gain nothing can be told.
    fn entries(&self, config: &Config, bench: &mut Bench) -> Result<(), GridError> {
        for entry in &config.entries {
            let mut known = Problem::built_in().into_iter();
            let Some(problem) = known.find(|known| known.class() == entry.problem) else { continue };
            let target = Target { problem, arch: bench.arch(), shape: entry.extents };
            let (choice, _) = self.choice(config, bench, &target)?;
            let contenders = [Contender::Schedule(choice), Contender::Schedule(entry.schedule), Contender::Cublas];
            let finals = bench.compare(&target, &contenders, self.rounds())?;
            let [Ok(ours), Ok(tuned), Ok(theirs)] = finals.as_slice() else {
                outln!("{} {}: not measured", entry.extents, entry.problem);
                continue;
            };
            outln!(
                "{} {}: entry {}, {:.3} x cuBLASLt; the model's choice takes {:.3} of its time: {}",
                entry.extents,
                entry.problem.brief(),
                Ms(tuned.measurement.median_ms),
                ratio(&theirs.round_ms, &tuned.round_ms),
                ratio(&ours.round_ms, &tuned.round_ms),
                choice,
            );
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_shape_that_is_drawn_is_of_one_kind_of_strides() {
        let drawn: Vec<Drawn> = Shapes::of_seed(5).take(300).collect();
        let of = |strides: Strides| drawn.iter().filter(|drawn| strides.has(drawn)).count();
        assert_eq!(of(Strides::Aligned) + of(Strides::Odd), drawn.len());
        assert!(of(Strides::Odd) > 30 && of(Strides::Odd) < 90);
    }
}
