//! What recordings measured, as rows that a fit and a choice read.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use autokernel_codegen::matmul;
use autokernel_codegen::matmul::model::{Constants, Machine, Model, Traits, splits_of};
use autokernel_codegen::problem::ProblemClass;
use autokernel_codegen::schedule::Schedule;
use autokernel_core::Extents;

use crate::replay::Recording;

/// The best time of a form of an image at a shape, over the rasters that were tried: a launch takes one that is about as good.
#[derive(Clone, Debug)]
pub struct Row {
    /// The shape's number.
    pub shape: usize,
    /// The form's number.
    pub form: usize,
    /// How long it took.
    pub ms: f64,
}

/// A shape of one recording.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// M, N and K.
    pub extents: Extents,
    /// The fastest time there.
    pub best_ms: f64,
    /// On which GPU.
    pub machine: Machine,
}

/// The rows of recordings of one class, one GPU or several.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Every shape of every recording.
    pub shapes: Vec<Shape>,
    /// Every form of an image that was tried, as the schedule that stands for it, and those that a launch might take instead.
    pub forms: Vec<Schedule>,
    /// The same, as the model sees them.
    pub traits: Vec<Traits>,
    /// One for each form at each shape where it was measured.
    pub rows: Vec<Row>,
    /// The GPUs that they are of.
    pub gpus: BTreeSet<String>,
    /// Hashes of the CUDA files that their kernels were made of.
    pub sources: BTreeSet<String>,
    pub(super) numbers: HashMap<Schedule, usize>,
}

impl Measured {
    /// Adds what a recording measured.
    pub fn add(&mut self, recording: &Recording, class: &ProblemClass) {
        self.gpus.insert(recording.gpu.name.clone());
        self.sources.insert(recording.environment.kernels.clone());
        for recorded in &recording.shapes {
            let Some((_, best)) = recorded.optimum() else { continue };
            let shape = self.shapes.len();
            let machine = recording.gpu.machine();
            self.shapes.push(Shape { extents: recorded.shape, best_ms: best.median_ms, machine });
            let mut best: BTreeMap<usize, f64> = BTreeMap::new();
            for (schedule, outcome) in &recorded.rows {
                let Some(ms) = outcome.median_ms() else { continue };
                let Some(form) = self.number(&schedule.form(), class) else { continue };
                let least = best.entry(form).or_insert(ms);
                *least = least.min(ms);
            }
            self.rows.extend(best.into_iter().map(|(form, ms)| Row { shape, form, ms }));
        }
    }

    /// The number of a form that was tried.
    pub fn number_of(&self, form: &Schedule) -> Option<usize> {
        self.numbers.get(form).copied()
    }

    /// The number of a form, which is added if it is new with those that its image may be launched in; none of one that the model
    /// does not know.
    fn number(&mut self, form: &Schedule, class: &ProblemClass) -> Option<usize> {
        if self.number_of(form).is_none() {
            for form in std::iter::once(*form).chain(launched_in(class, form)) {
                self.push(form, class)?;
            }
        }
        self.number_of(form)
    }

    fn push(&mut self, form: Schedule, class: &ProblemClass) -> Option<()> {
        if self.number_of(&form).is_none() {
            self.traits.push(Traits::of(class, &form)?);
            self.forms.push(form);
            self.numbers.insert(form, self.forms.len() - 1);
        }
        Some(())
    }

    /// The time that the model predicts of a row.
    pub fn predicted_ms(&self, row: &Row, constants: Constants) -> f64 {
        self.predicted_of(row.form, row.shape, constants)
    }

    /// The time that the model predicts of a form at a shape.
    pub fn predicted_of(&self, form: usize, shape: usize, constants: Constants) -> f64 {
        let Shape { extents, machine, .. } = self.shapes[shape];
        Model { machine, constants }.predicted_ms(&self.traits[form], &extents)
    }

    /// Every time, by shape and form.
    pub fn times(&self) -> HashMap<(usize, usize), f64> {
        self.rows.iter().map(|row| ((row.shape, row.form), row.ms)).collect()
    }

    /// How much a row says of what is chosen: little far from the fastest at its shape.
    pub fn weight(&self, row: &Row) -> f64 {
        const FAR: f64 = 3.0;
        const LEAST: f64 = 0.03;
        (-FAR * (row.ms / self.shapes[row.shape].best_ms - 1.0)).exp() + LEAST
    }
}

/// The forms among which a launch of the image of `form` chooses.
fn launched_in(class: &ProblemClass, form: &Schedule) -> Vec<Schedule> {
    let (ProblemClass::Matmul(class), Ok(form)) = (class, matmul::Schedule::try_from(form)) else { return Vec::new() };
    splits_of(class, form).map(|form| Schedule::from(form).form()).collect()
}
