//! A portfolio in the making: what was fitted, and which images were chosen.

use std::collections::HashMap;

use autokernel_codegen::config::PortfolioImage;
use autokernel_codegen::matmul::model::Constants;
use autokernel_codegen::schedule::Schedule;

use super::fit::{Held, fit};
use super::greedy::{self, Candidate};
use super::measured::{Measured, Row};
use super::validation::{Miss, error, geomean, held_out, misses, quantile, regrets};

/// How far an image's own factor is trusted: as if so many more shapes had said 1.
const SHRINKAGE: f64 = 2.0;
/// Shapes at which the choice loses most, that are told.
const TOLD: usize = 6;
/// What was not measured is taken to be this much slower than predicted.
const UNMEASURED: f64 = 1.05;

/// Which images there shall be.
pub enum Wanted<'w> {
    /// At most so many; those that are in place already are preferred to equals.
    Most(usize, &'w [Schedule]),
    /// These.
    Kept(&'w [Schedule]),
}

/// The images that were chosen, and what they were chosen by.
pub struct Choice {
    measured: Measured,
    /// What the model was fitted to.
    pub constants: Constants,
    /// The images of what was measured.
    images: Images,
    /// Measured over predicted time of each image.
    factors: Vec<f64>,
    candidates: Vec<Candidate>,
    /// The numbers of the files that hold the images, most useful first.
    chosen: Vec<usize>,
    /// Of each row, by constants that were fitted to other shapes.
    unseen: Vec<f64>,
}

impl Choice {
    /// Fits the model to `measured` but for constants that are `held`, and chooses the images that are `wanted`; of those to keep, the
    /// ones that were measured. Images of `factors_held` have the factors that they have there.
    pub fn new(measured: Measured, held: &[Held], factors_held: &[PortfolioImage], wanted: &Wanted<'_>) -> Self {
        let constants = fit(&measured, held, |_| true);
        let unseen = held_out(&measured, held);
        let images = Images::of(&measured);
        let mut factors = factors(&measured, &images, constants);
        for PortfolioImage { schedule, measured_over_predicted } in factors_held {
            images.number_of(schedule).into_iter().for_each(|image| factors[image] = *measured_over_predicted);
        }
        let (Wanted::Most(_, in_place) | Wanted::Kept(in_place)) = wanted;
        let candidates = candidates(&measured, &images, constants, &factors, in_place);
        let chosen = match wanted {
            Wanted::Most(most, _) => greedy::choose(&candidates, *most),
            Wanted::Kept(kept) => images.files_of(kept),
        };
        Choice { measured, constants, images, factors, candidates, chosen, unseen }
    }

    /// What it was chosen from.
    pub fn measured(&self) -> &Measured {
        &self.measured
    }

    /// How many images are compiled.
    pub fn count(&self) -> usize {
        self.chosen.len()
    }

    /// The images, as a config holds them.
    pub fn images(&self) -> Vec<PortfolioImage> {
        let image = |image: usize| PortfolioImage {
            schedule: self.images.images[image],
            measured_over_predicted: (1e4 * self.factors[image]).round() / 1e4,
        };
        self.chosen.iter().flat_map(|&file| self.images.held_by(file)).map(image).collect()
    }

    /// At each shape the best of the images over the best that was tried.
    pub fn left(&self) -> Vec<f64> {
        greedy::best_of(&self.candidates, self.chosen.iter().copied())
    }

    /// The time of the model's choice among the images over the best that was tried, at shapes that its fit did not see.
    pub fn regrets(&self) -> Vec<f64> {
        let Choice { measured, unseen, .. } = self;
        regrets(measured, &self.corrected(unseen, measured), |form| self.has(&measured.forms[form]))
    }

    /// The model's error at such shapes, near the fastest.
    pub fn error(&self) -> f64 {
        error(&self.measured, &self.corrected(&self.unseen, &self.measured))
    }

    /// Prints what was fitted and chosen, and how well it does where it was not fitted.
    pub fn tell(&self) {
        let Choice { measured, constants, unseen, .. } = self;
        let (images, shapes) = (self.images.files.len(), measured.shapes.len());
        let times = measured.rows.iter().filter(|row| !row.borrowed).count();
        outln!("{times} times of {images} images at {shapes} shapes");
        for (name, value) in Constants::NAMES.iter().zip(constants.to_array()) {
            outln!("  {name:20} {value:.4}");
        }
        (1..=self.chosen.len()).for_each(|count| self.tell_image(count));
        self.tell_of("at shapes that the fit did not see", measured, unseen);
        self.tell_of("the same with each image's factor", measured, &self.corrected(unseen, measured));
        self.tell_worst();
    }

    /// Prints how well it does at what nothing was fitted to.
    pub fn tell_unfitted(&self, what: &str, other: &Measured) {
        let predicted: Vec<f64> = other.rows.iter().map(|row| other.predicted_ms(row, self.constants)).collect();
        self.tell_of(what, other, &self.corrected(&predicted, other));
    }

    /// What the first `count` images leave, the last of them by name.
    fn tell_image(&self, count: usize) {
        let Some((&last, _)) = self.chosen[..count].split_last() else { return };
        let of = |ratios: Vec<f64>| (100.0 * (geomean(&ratios) - 1.0), 100.0 * (quantile(&ratios, 1.0) - 1.0));
        let (left, left_at_worst) = of(greedy::best_of(&self.candidates, self.chosen[..count].iter().copied()));
        let (lost, lost_at_worst) = of(greedy::chosen_of(&self.candidates, self.chosen[..count].iter().copied()));
        outln!(
            "{count:2} images leave {left:4.1} % (worst {left_at_worst:4.1} %), a launch's choice {lost:4.1} % ({lost_at_worst:4.1} \
             %): {} x {:.3}{}",
            self.images.files[last],
            geomean(&self.images.held_by(last).map(|image| self.factors[image]).collect::<Vec<_>>()),
            if self.candidates[last].in_place { ", in place" } else { "" },
        );
    }

    fn tell_of(&self, what: &str, of: &Measured, predicted: &[f64]) {
        outln!("{what}: error {:.1} % near the fastest", 100.0 * error(of, predicted));
        let all = regrets(of, predicted, |_| true);
        let few = regrets(of, predicted, |form| self.has(&of.forms[form]));
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

    /// The shapes at which the choice among the images loses most, with what it chose and what was best.
    fn tell_worst(&self) {
        let Choice { measured, unseen, .. } = self;
        let predicted = self.corrected(unseen, measured);
        let mut misses = misses(measured, &predicted, |form| self.has(&measured.forms[form]));
        misses.sort_by(|a, b| b.regret.total_cmp(&a.regret));
        for Miss { regret, chosen, best } in misses.into_iter().take(TOLD) {
            let words = |row: usize| {
                let Row { form, ms, .. } = &measured.rows[row];
                format!("{} {ms:.4} ms, predicted {:.4}", measured.forms[*form], predicted[row])
            };
            let extents = measured.shapes[measured.rows[chosen].shape].extents;
            outln!("  {extents}: {:.1} %: {}; best {}", 100.0 * (regret - 1.0), words(chosen), words(best));
        }
    }

    /// Predicted times of `of`'s rows, each times its image's factor.
    fn corrected(&self, predicted: &[f64], of: &Measured) -> Vec<f64> {
        let factor = |form: &Schedule| self.images.number_of(form).map_or(1.0, |known| self.factors[known]);
        predicted.iter().zip(&of.rows).map(|(ms, row)| ms * factor(&of.forms[row.form])).collect()
    }

    /// Whether the image of a form was chosen.
    fn has(&self, form: &Schedule) -> bool {
        self.images.number_of(form).is_some_and(|known| self.chosen.contains(&self.images.of_image[known]))
    }
}

/// The images of forms, each once, and the compiled files that hold them: one holds an image for each height of its tiles.
struct Images {
    images: Vec<Schedule>,
    numbers: HashMap<Schedule, usize>,
    /// The number of each form's.
    of_form: Vec<usize>,
    /// Each as the schedule that stands for it: that of its tallest tile.
    files: Vec<Schedule>,
    /// The number of each image's.
    of_image: Vec<usize>,
}

impl Images {
    fn of(measured: &Measured) -> Self {
        let mut found = Images {
            images: Vec::new(),
            numbers: HashMap::new(),
            of_form: Vec::new(),
            files: Vec::new(),
            of_image: Vec::new(),
        };
        for (form, file) in measured.forms.iter().zip(&measured.files) {
            let next = found.images.len();
            let number = *found.numbers.entry(form.image()).or_insert(next);
            if number == next {
                found.images.push(form.image());
                let of_image = found.number_of_file(file);
                found.of_image.push(of_image);
            }
            found.of_form.push(number);
        }
        found
    }

    fn number_of_file(&mut self, file: &Schedule) -> usize {
        let known = self.files.iter().position(|known| known == file);
        known.unwrap_or_else(|| {
            self.files.push(*file);
            self.files.len() - 1
        })
    }

    /// The numbers of the images that a file holds.
    fn held_by(&self, file: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.images.len()).filter(move |&image| self.of_image[image] == file)
    }

    /// The files of those of `images` that are known, each once, in their order.
    fn files_of(&self, images: &[Schedule]) -> Vec<usize> {
        let mut files = Vec::new();
        for file in images.iter().filter_map(|image| self.number_of(image)).map(|image| self.of_image[image]) {
            if !files.contains(&file) {
                files.push(file);
            }
        }
        files
    }

    /// The number of the image of a form.
    fn number_of(&self, form: &Schedule) -> Option<usize> {
        self.numbers.get(&form.image()).copied()
    }
}

/// Measured over predicted time of each image: the weighted geometric mean, drawn towards 1 where little was measured.
fn factors(measured: &Measured, images: &Images, constants: Constants) -> Vec<f64> {
    let mut sums = vec![(0.0, SHRINKAGE); images.images.len()];
    for row in &measured.rows {
        let weight = measured.weight(row);
        let (logs, weights) = &mut sums[images.of_form[row.form]];
        *logs += weight * (row.ms / measured.predicted_ms(row, constants)).ln();
        *weights += weight;
    }
    sums.into_iter().map(|(logs, weights): (f64, f64)| (logs / weights).exp()).collect()
}

/// Each file of images at each shape, in the form that a launch would take: its time over the best of any there, predicted, and a
/// little worse, where it was not measured.
fn candidates(
    measured: &Measured,
    images: &Images,
    constants: Constants,
    factors: &[f64],
    in_place: &[Schedule],
) -> Vec<Candidate> {
    let times = measured.times();
    let mut forms = vec![Vec::new(); images.files.len()];
    (0..measured.forms.len()).for_each(|form| forms[images.of_image[images.of_form[form]]].push(form));
    let of = |file: usize| {
        let at = |shape: usize| {
            let factor = |form: usize| factors[images.of_form[form]];
            let predicted = |&form: &usize| (form, factor(form) * measured.predicted_of(form, shape, constants));
            let taken = forms[file].iter().map(predicted).min_by(|(_, a), (_, b)| a.total_cmp(b));
            let (form, predicted) = taken.unwrap_or((0, f64::INFINITY));
            let best_ms = measured.shapes[shape].best_ms;
            let ms = times.get(&(shape, form)).copied().unwrap_or(UNMEASURED * predicted);
            (ms.max(best_ms) / best_ms, predicted)
        };
        let (ratios, predicted) = (0..measured.shapes.len()).map(at).unzip();
        let in_place = images.held_by(file).any(|image| in_place.contains(&images.images[image]));
        Candidate { ratios, predicted, in_place }
    };
    (0..images.files.len()).map(of).collect()
}
