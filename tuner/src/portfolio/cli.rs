//! The command `portfolio`.

use std::path::PathBuf;

use autokernel_codegen::config::{
    Config, ConfigError, Portfolio, PortfolioImage, PortfolioOperation, PortfolioProvenance,
};
use autokernel_codegen::matmul::model::Constants;
use autokernel_codegen::problem::ProblemClass;

use super::fit::fit;
use super::greedy::{self, Ratios};
use super::measured::Measured;
use super::validation::{error, geomean, held_out, quantile, regrets};
use crate::environment::today;
use crate::replay::{Recording, RecordingError};

/// Choose the few images that serve every shape well, and fit the model that chooses among them, from recordings.
#[derive(Debug, clap::Args)]
pub struct PortfolioArgs {
    /// Recordings of one layout and element size, on one GPU or several.
    #[arg(required = true, value_name = "RECORDING")]
    pub recordings: Vec<PathBuf>,
    /// Recordings that nothing is fitted to, of another GPU or of other shapes: the choice is tried on them.
    #[arg(long, value_name = "RECORDING,…", value_delimiter = ',')]
    pub validate: Vec<PathBuf>,
    /// At most so many images.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u8).range(1..=16))]
    pub images: u8,
    /// The config that the portfolio is written into, and whose entries' images are preferred to equals.
    #[arg(long, value_name = "FILE", default_value = crate::checkout::DEFAULT_CONFIG)]
    pub config: PathBuf,
    /// Print alone.
    #[arg(long)]
    pub dry_run: bool,
}

/// Why there is no portfolio.
#[derive(Debug, thiserror::Error)]
pub enum PortfolioError {
    /// A recording cannot be read.
    #[error(transparent)]
    Recording(#[from] RecordingError),
    /// The config cannot be read or written.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The recordings do not belong together.
    #[error("{} is of {found}, the first recording of {expected}; choose a portfolio of each apart", .path.display())]
    Other {
        /// The recording.
        path: PathBuf,
        /// What it is of.
        found: String,
        /// What the first is of.
        expected: String,
    },
    /// They are of an operation that has no portfolio.
    #[error("{0} has no portfolio; only matrix products have one yet")]
    NoProduct(String),
    /// They hold too little.
    #[error("the recordings have no times; record with `tuner record --drawn`")]
    Nothing,
}

/// How far an image's own factor is trusted: as if so many more shapes had said 1.
const SHRINKAGE: f64 = 2.0;
/// What was not measured is taken to be this much slower than predicted.
const UNMEASURED: f64 = 1.05;

impl PortfolioArgs {
    /// Chooses, validates, prints and writes.
    ///
    /// # Errors
    /// A file cannot be read or written, or the recordings do not belong together.
    pub fn run(&self) -> Result<(), PortfolioError> {
        let (measured, first) = self.load(&self.recordings, None)?;
        if measured.rows.is_empty() {
            return Err(PortfolioError::Nothing);
        }
        let (problem, class) = (&first.problem, first.problem.class());
        let mut config = if self.config.is_file() { Config::load(&self.config)? } else { Config::default() };

        let constants = fit(&measured, |_| true);
        let unseen = held_out(&measured);
        let factors = factors(&measured, constants);
        let ratios = ratios(&measured, constants, &factors);
        let mut in_place = vec![false; measured.images.len()];
        for entry in config.entries_for(problem, first.arch) {
            let image = entry.schedule.image();
            in_place.iter_mut().zip(&measured.images).for_each(|(here, known)| *here |= *known == image);
        }
        let chosen = greedy::choose(&ratios, self.images.into(), &in_place);

        outln!("{} times of {} images at {} shapes", measured.rows.len(), measured.images.len(), measured.shapes.len());
        for (name, value) in Constants::NAMES.iter().zip(constants.to_array()) {
            outln!("  {name:20} {value:.4}");
        }
        let mut path = Vec::new();
        for &image in &chosen {
            path.push(image);
            let left = greedy::best_of(&ratios, path.iter().copied());
            let mark = if in_place[image] { ", of a tuned entry" } else { "" };
            outln!(
                "{:2} images leave {:4.1} % (worst {:4.1} %): {} x {:.3}{mark}",
                path.len(),
                100.0 * (geomean(&left) - 1.0),
                100.0 * (left.iter().copied().fold(1.0, f64::max) - 1.0),
                measured.images[image],
                factors[image],
            );
        }
        let with_factors = |predicted: &[f64], of: &Measured| -> Vec<f64> {
            let factor = |image: usize| {
                let known = measured.images.iter().position(|known| *known == of.images[image]);
                known.map_or(1.0, |known| factors[known])
            };
            predicted.iter().zip(&of.rows).map(|(ms, row)| ms * factor(row.image)).collect()
        };
        let is_chosen = |of: &Measured, image: usize| chosen.iter().any(|&at| measured.images[at] == of.images[image]);
        let corrected = with_factors(&unseen, &measured);
        tell("at shapes that the fit did not see", &measured, &unseen, |image| is_chosen(&measured, image));
        tell("the same with each image's factor", &measured, &corrected, |image| is_chosen(&measured, image));
        for path in &self.validate {
            let (other, recording) = self.load(std::slice::from_ref(path), Some(&first))?;
            let predicted: Vec<f64> = other.rows.iter().map(|row| other.predicted_ms(row, constants)).collect();
            let predicted = with_factors(&predicted, &other);
            tell(&format!("on {}, {}", recording.gpu.name, path.display()), &other, &predicted, |image| {
                is_chosen(&other, image)
            });
        }

        let left = greedy::best_of(&ratios, chosen.iter().copied());
        let percent = |ratio: f64| (1e4 * (ratio - 1.0)).round() / 100.0;
        let mut gpus: Vec<String> = Vec::new();
        for path in &self.recordings {
            let name = Recording::load(path)?.gpu.name;
            if !gpus.contains(&name) {
                gpus.push(name);
            }
        }
        let regret = regrets(&measured, &corrected, |image| is_chosen(&measured, image));
        let image = |&image: &usize| PortfolioImage {
            schedule: measured.images[image],
            measured_over_predicted: (1e4 * factors[image]).round() / 1e4,
        };
        let product = problem.as_product().ok_or_else(|| PortfolioError::NoProduct(problem.to_string()))?;
        let portfolio = Portfolio {
            operation: PortfolioOperation::Matmul,
            layout: product.layout,
            element_bytes: product.input.bytes(),
            arch: first.arch,
            images: chosen.iter().map(image).collect(),
            model: Constants::from_array(constants.to_array().map(|value| (1e5 * value).round() / 1e5)),
            provenance: PortfolioProvenance {
                gpus,
                sources: first.environment.kernels.clone(),
                date: today(),
                command: self.command(),
                shapes: u32::try_from(measured.shapes.len()).unwrap_or(u32::MAX),
                left_pct: percent(geomean(&left)),
                left_at_worst_pct: percent(left.iter().copied().fold(1.0, f64::max)),
                regret_pct: percent(geomean(&regret)),
                model_error_pct: (1e4 * error(&measured, &corrected)).round() / 100.0,
            },
        };
        let class: ProblemClass = class;
        outln!("{class}: {} images", portfolio.images.len());
        if !self.dry_run {
            config.put_portfolio(portfolio);
            config.save(&self.config)?;
            outln!("written to {}", self.config.display());
        }
        Ok(())
    }

    /// The command, its files by their names alone.
    fn command(&self) -> String {
        let name =
            |path: &PathBuf| path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let files: Vec<String> = self.recordings.iter().map(name).collect();
        format!("tuner portfolio --images {} {}", self.images, files.join(" "))
    }

    /// The rows of several recordings, with the first of them; all must be of the class of `like`.
    fn load(&self, paths: &[PathBuf], like: Option<&Recording>) -> Result<(Measured, Recording), PortfolioError> {
        let mut measured = Measured::default();
        let mut first: Option<Recording> = like.cloned();
        let mut last = None;
        for path in paths {
            let recording = Recording::load(path)?;
            let kind = |of: &Recording| {
                let product = of.problem.as_product().map(|product| (product.layout, product.input.bytes()));
                (product, of.arch)
            };
            let expected = first.get_or_insert_with(|| recording.clone());
            if kind(expected) != kind(&recording) {
                let words = |of: &Recording| format!("{} for {}", of.problem, of.arch);
                return Err(PortfolioError::Other {
                    path: path.clone(),
                    found: words(&recording),
                    expected: words(expected),
                });
            }
            measured.add(&recording, &expected.problem.class());
            last.get_or_insert(recording);
        }
        last.map(|recording| (measured, recording)).ok_or(PortfolioError::Nothing)
    }
}

/// Measured over predicted time of each image: the weighted geometric mean, drawn towards 1 where little was measured.
fn factors(measured: &Measured, constants: Constants) -> Vec<f64> {
    let mut sums = vec![(0.0, SHRINKAGE); measured.images.len()];
    for row in &measured.rows {
        let weight = measured.weight(row);
        let (logs, weights) = &mut sums[row.image];
        *logs += weight * (row.ms / measured.predicted_ms(row, constants)).ln();
        *weights += weight;
    }
    sums.into_iter().map(|(logs, weights): (f64, f64)| (logs / weights).exp()).collect()
}

/// The time of each image at each shape over the best of any there; predicted, and a little worse, where it was not
/// measured.
fn ratios(measured: &Measured, constants: Constants, factors: &[f64]) -> Ratios {
    let times = measured.best_times();
    let ratio = |image: usize, shape: usize| {
        let known = times.get(&(shape, image)).copied();
        let predicted = || UNMEASURED * factors[image] * measured.predicted_of(image, shape, constants);
        known.unwrap_or_else(predicted).max(measured.shapes[shape].best_ms) / measured.shapes[shape].best_ms
    };
    let of_image = |image| (0..measured.shapes.len()).map(|shape| ratio(image, shape)).collect();
    (0..measured.images.len()).map(of_image).collect()
}

fn tell(what: &str, measured: &Measured, predicted: &[f64], is_chosen: impl Fn(usize) -> bool) {
    let all = regrets(measured, predicted, |_| true);
    let few = regrets(measured, predicted, is_chosen);
    outln!("{what}: error {:.1} % near the fastest", 100.0 * error(measured, predicted));
    for (among, regrets) in [("all that was tried", all), ("the portfolio", few)] {
        outln!(
            "  its choice among {among}, over the best of all: mean {:.1} %, median {:.1} %, 90th percentile {:.1} %, worst {:.1} % ({} shapes)",
            100.0 * (geomean(&regrets) - 1.0),
            100.0 * (quantile(&regrets, 0.5) - 1.0),
            100.0 * (quantile(&regrets, 0.9) - 1.0),
            100.0 * (quantile(&regrets, 1.0) - 1.0),
            regrets.len(),
        );
    }
}
