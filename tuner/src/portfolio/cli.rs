//! The command `portfolio`.

use std::path::PathBuf;

use autokernel_codegen::config::{
    Config, ConfigError, Portfolio, PortfolioImage, PortfolioOperation, PortfolioProvenance,
};
use autokernel_codegen::matmul::model::Constants;
use autokernel_codegen::matmul::space::images_of_heights;
use autokernel_codegen::problem::ProblemClass;
use autokernel_codegen::schedule::Schedule;

use super::choice::{Choice, Wanted};
use super::fit::Held;
use super::measured::Measured;
use super::validation::{geomean, quantile};
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
    /// Keep the images that the config has: fit the constants and each image's factor anew.
    #[arg(long, conflicts_with = "images")]
    pub keep: bool,
    /// Of --keep: images whose factor is not 1 keep it, so that only those that were put in since are fitted one.
    #[arg(long, requires = "keep")]
    pub hold_factors: bool,
    /// Constants of the model that are not fitted, as other measurements tell them better: padding=2.04.
    #[arg(long, value_name = "NAME=VALUE,…", value_delimiter = ',')]
    pub hold: Vec<Held>,
    /// The config that the portfolio is written into. Its entries' images are preferred to equals.
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
    /// There is no portfolio to keep, or its images are unknown to the recordings.
    #[error("the recordings do not hold {missing}; leave --keep out")]
    NotMeasured {
        /// What is missing.
        missing: String,
    },
    /// They hold too little.
    #[error("the recordings have no times; record with `tuner record --drawn`")]
    Nothing,
}

impl PortfolioArgs {
    /// Chooses, validates, prints and writes.
    ///
    /// # Errors
    /// A file cannot be read or written, or the recordings do not belong together.
    pub fn run(&self) -> Result<(), PortfolioError> {
        let (mut measured, first) = self.load(&self.recordings, None)?;
        if measured.rows.is_empty() {
            return Err(PortfolioError::Nothing);
        }
        let mut config = if self.config.is_file() { Config::load(&self.config)? } else { Config::default() };
        let candidates = candidates(&config, &first);
        measured.take_up(&candidates, &first.problem.class());
        let entries = config.entries_for(&first.problem, first.arch);
        let in_place: Vec<Schedule> = entries.iter().map(|entry| entry.schedule.image()).collect();
        let kept = if self.keep { kept(&config, &first, &measured)? } else { Vec::new() };
        let wanted = if self.keep { Wanted::Kept(&kept) } else { Wanted::Most(self.images.into(), &in_place) };
        let factors_held = if self.hold_factors { factors_in_place(&config, &first) } else { Vec::new() };
        let choice = Choice::new(measured, &self.hold, &factors_held, &wanted);
        choice.tell();
        for path in &self.validate {
            let (mut other, recording) = self.load(std::slice::from_ref(path), Some(&first))?;
            other.take_up(&candidates, &first.problem.class());
            choice.tell_unfitted(&format!("on {}, {}", recording.gpu.name, path.display()), &other);
        }
        let portfolio = self.portfolio(&choice, &first)?;
        outln!("{}: {} images, {} tiles", first.problem.class(), choice.count(), portfolio.images.len());
        if !self.dry_run {
            config.put_portfolio(portfolio);
            config.save(&self.config)?;
            outln!("written to {}", self.config.display());
        }
        Ok(())
    }

    /// The choice, as a config holds it.
    fn portfolio(&self, choice: &Choice, first: &Recording) -> Result<Portfolio, PortfolioError> {
        let no_product = || PortfolioError::NoProduct(first.problem.to_string());
        let product = first.problem.as_product().ok_or_else(no_product)?;
        let (left, regrets) = (choice.left(), choice.regrets());
        let Measured { gpus, sources, shapes, .. } = choice.measured();
        let percent = |ratio: f64| (1e4 * (ratio - 1.0)).round() / 100.0;
        Ok(Portfolio {
            operation: PortfolioOperation::Matmul,
            layout: product.layout,
            element_bytes: product.input.bytes(),
            arch: first.arch,
            images: choice.images(),
            model: Constants::from_array(choice.constants.to_array().map(|value| (1e5 * value).round() / 1e5)),
            provenance: PortfolioProvenance {
                gpus: gpus.iter().cloned().collect(),
                sources: Vec::from_iter(sources.iter().map(String::as_str)).join(", "),
                date: today(),
                command: self.command(),
                shapes: u32::try_from(shapes.len()).unwrap_or(u32::MAX),
                left_pct: percent(geomean(&left)),
                left_at_worst_pct: percent(quantile(&left, 1.0)),
                regret_pct: percent(geomean(&regrets)),
                model_error_pct: (1e4 * choice.error()).round() / 100.0,
            },
        })
    }

    /// The command, its files by their names alone.
    fn command(&self) -> String {
        let name =
            |path: &PathBuf| path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let files: Vec<String> = self.recordings.iter().map(name).collect();
        let images = if self.keep { "--keep".to_owned() } else { format!("--images {}", self.images) };
        let held: Vec<String> = self.hold.iter().map(Held::to_string).collect();
        let held = if held.is_empty() { String::new() } else { format!(" --hold {}", held.join(",")) };
        let factors = if self.hold_factors { " --hold-factors" } else { "" };
        format!("tuner portfolio {images}{factors}{held} {}", files.join(" "))
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

/// What is chosen from beside all that was recorded: what the config has, and images of several heights.
fn candidates(config: &Config, first: &Recording) -> Vec<Schedule> {
    let in_place = config.portfolio_for(&first.problem, first.arch);
    let in_place = in_place.iter().flat_map(|portfolio| &portfolio.images).map(|image| image.schedule);
    let heights = match first.problem.class() {
        ProblemClass::Matmul(class) => images_of_heights(&class, first.arch),
        _ => Vec::new(),
    };
    in_place.chain(heights).collect()
}

/// The images of the portfolio that `config` has for what was recorded, as far as they have a factor.
fn factors_in_place(config: &Config, first: &Recording) -> Vec<PortfolioImage> {
    let in_place = config.portfolio_for(&first.problem, first.arch);
    let images = in_place.into_iter().flat_map(|portfolio| portfolio.images.clone());
    images.filter(|image| image.measured_over_predicted != 1.0).collect()
}

/// The images of the portfolio that `config` has for what was recorded.
fn kept(config: &Config, first: &Recording, measured: &Measured) -> Result<Vec<Schedule>, PortfolioError> {
    let none = || PortfolioError::NotMeasured { missing: "any image of a portfolio in place".to_owned() };
    let portfolio = config.portfolio_for(&first.problem, first.arch).ok_or_else(none)?;
    let images: Vec<Schedule> = portfolio.images.iter().map(|image| image.schedule.image()).collect();
    let file_of = |image: &Schedule| measured.number_of(&image.form()).map(|form| measured.files[form]);
    let is_measured =
        |image: &Schedule| measured.rows.iter().any(|row| Some(measured.files[row.form]) == file_of(image));
    match images.iter().find(|image| !is_measured(image)) {
        Some(image) => Err(PortfolioError::NotMeasured { missing: image.to_string() }),
        None => Ok(images),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_that_have_a_factor_keep_it_and_others_are_fitted_one() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut config = Config::load(&root.join("best_config.json")).unwrap();
        let recording = root.join("docs/results/drawn-h200/drawn-bf16-nt-h200-straddling.json.gz");
        let recording = Recording::load(&recording).unwrap();
        let mut measured = Measured::default();
        measured.add(&recording, &recording.problem.class());
        let mut portfolio = config.portfolio_for(&recording.problem, recording.arch).unwrap().clone();
        let constants = Constants::NAMES.iter().zip(portfolio.model.to_array());
        let held: Vec<Held> = constants.map(|(name, value)| format!("{name}={value}").parse().unwrap()).collect();
        // Of two images in pairs, one as if somebody had just put it in.
        portfolio.images.retain(|image| image.schedule.value("cluster_m") == Some(2));
        let (first, second) = (portfolio.images[0].schedule, portfolio.images[1].schedule);
        portfolio.images[0].measured_over_predicted = 1.25;
        portfolio.images[1].measured_over_predicted = 1.0;
        config.put_portfolio(portfolio);
        let held_factors = factors_in_place(&config, &recording);
        assert_eq!(held_factors.iter().map(|image| image.schedule).collect::<Vec<_>>(), [first]);

        let choice = Choice::new(measured, &held, &held_factors, &Wanted::Kept(&[first, second]));
        let factors: Vec<f64> = choice.images().iter().map(|image| image.measured_over_predicted).collect();
        assert_eq!((factors.len(), factors[0]), (2, 1.25));
        assert!(factors[1] != 1.0 && (0.9..1.1).contains(&factors[1]), "{}", factors[1]);
    }
}
