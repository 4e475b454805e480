//! A portfolio in the making: what was fitted, and which images were chosen.

use autokernel_codegen::config::PortfolioImage;
use autokernel_codegen::matmul::model::Constants;
use autokernel_codegen::schedule::Schedule;

use super::fit::fit;
use super::greedy::{self, Ratios};
use super::measured::Measured;
use super::validation::{error, geomean, held_out, quantile, regrets};

/// How far an image's own factor is trusted: as if so many more shapes had said 1.
const SHRINKAGE: f64 = 2.0;
/// What was not measured is taken to be this much slower than predicted.
const UNMEASURED: f64 = 1.05;

/// The images that were chosen, and what they were chosen by.
pub struct Choice {
    measured: Measured,
    /// What the model was fitted to.
    pub constants: Constants,
    /// Measured over predicted time of each image.
    factors: Vec<f64>,
    ratios: Ratios,
    /// Images that a build compiles anyway.
    in_place: Vec<bool>,
    /// The numbers of the images, most useful first.
    chosen: Vec<usize>,
    /// Of each row, by constants that were fitted to other shapes.
    unseen: Vec<f64>,
}

impl Choice {
    /// Fits the model to `measured` and chooses at most `most` images; those of `in_place` are preferred to equals.
    pub fn new(measured: Measured, most: usize, in_place: &[Schedule]) -> Self {
        let constants = fit(&measured, |_| true);
        let unseen = held_out(&measured);
        let factors = factors(&measured, constants);
        let ratios = ratios(&measured, constants, &factors);
        let in_place: Vec<bool> = measured.images.iter().map(|image| in_place.contains(image)).collect();
        let chosen = greedy::choose(&ratios, most, &in_place);
        Choice { measured, constants, factors, ratios, in_place, chosen, unseen }
    }

    /// The images, as a config holds them.
    pub fn images(&self) -> Vec<PortfolioImage> {
        let image = |&image: &usize| PortfolioImage {
            schedule: self.measured.images[image],
            measured_over_predicted: (1e4 * self.factors[image]).round() / 1e4,
        };
        self.chosen.iter().map(image).collect()
    }

    /// At each shape the best of the images over the best that was tried.
    pub fn left(&self) -> Vec<f64> {
        greedy::best_of(&self.ratios, self.chosen.iter().copied())
    }

    /// The time of the model's choice among the images over the best that was tried, at shapes that its fit did not see.
    pub fn regrets(&self) -> Vec<f64> {
        let Choice { measured, unseen, .. } = self;
        regrets(measured, &self.corrected(unseen, measured), |image| self.has(&measured.images[image]))
    }

    /// The model's error at such shapes, near the fastest.
    pub fn error(&self) -> f64 {
        error(&self.measured, &self.corrected(&self.unseen, &self.measured))
    }

    /// Prints what was fitted and chosen, and how well it does where it was not fitted.
    pub fn tell(&self) {
        let Choice { measured, constants, unseen, .. } = self;
        outln!("{} times of {} images at {} shapes", measured.rows.len(), measured.images.len(), measured.shapes.len());
        for (name, value) in Constants::NAMES.iter().zip(constants.to_array()) {
            outln!("  {name:20} {value:.4}");
        }
        (1..=self.chosen.len()).for_each(|count| self.tell_image(count));
        self.tell_of("at shapes that the fit did not see", measured, unseen);
        self.tell_of("the same with each image's factor", measured, &self.corrected(unseen, measured));
    }

    /// Prints how well it does at what nothing was fitted to.
    pub fn tell_unfitted(&self, what: &str, other: &Measured) {
        let predicted: Vec<f64> = other.rows.iter().map(|row| other.predicted_ms(row, self.constants)).collect();
        self.tell_of(what, other, &self.corrected(&predicted, other));
    }

    /// What the first `count` images leave, the last of them by name.
    fn tell_image(&self, count: usize) {
        let Some((&last, _)) = self.chosen[..count].split_last() else { return };
        let left = greedy::best_of(&self.ratios, self.chosen[..count].iter().copied());
        outln!(
            "{count:2} images leave {:4.1} % (worst {:4.1} %): {} x {:.3}{}",
            100.0 * (geomean(&left) - 1.0),
            100.0 * (quantile(&left, 1.0) - 1.0),
            self.measured.images[last],
            self.factors[last],
            if self.in_place[last] { ", of a tuned entry" } else { "" },
        );
    }

    fn tell_of(&self, what: &str, of: &Measured, predicted: &[f64]) {
        outln!("{what}: error {:.1} % near the fastest", 100.0 * error(of, predicted));
        let all = regrets(of, predicted, |_| true);
        let few = regrets(of, predicted, |image| self.has(&of.images[image]));
        for (among, regrets) in [("all that was tried", all), ("the portfolio", few)] {
            outln!(
                "  its choice among {among}, over the best of all: mean {:.1} %, median {:.1} %, 90th percentile {:.1} %, \
                 worst {:.1} % ({} shapes)",
                100.0 * (geomean(&regrets) - 1.0),
                100.0 * (quantile(&regrets, 0.5) - 1.0),
                100.0 * (quantile(&regrets, 0.9) - 1.0),
                100.0 * (quantile(&regrets, 1.0) - 1.0),
                regrets.len(),
            );
        }
    }

    /// Predicted times of `of`'s rows, each times its image's factor.
    fn corrected(&self, predicted: &[f64], of: &Measured) -> Vec<f64> {
        let factor = |image: usize| self.measured.number_of(&of.images[image]).map_or(1.0, |known| self.factors[known]);
        predicted.iter().zip(&of.rows).map(|(ms, row)| ms * factor(row.image)).collect()
    }

    fn has(&self, image: &Schedule) -> bool {
        self.measured.number_of(image).is_some_and(|known| self.chosen.contains(&known))
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
