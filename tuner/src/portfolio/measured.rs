//! What recordings measured, as rows that a fit and a choice read.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use autokernel_codegen::matmul::model::{Constants, Machine, Model, Traits};
use autokernel_codegen::problem::ProblemClass;
use autokernel_codegen::schedule::Schedule;
use autokernel_core::Extents;

use crate::replay::Recording;

/// The best time of an image at a shape, over the rasters that were tried: a launch takes one that is about as good.
#[derive(Clone, Debug)]
pub struct Row {
    /// The shape's number.
    pub shape: usize,
    /// The image's number.
    pub image: usize,
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
    /// Every image that was tried, as the schedule that stands for it.
    pub images: Vec<Schedule>,
    /// The same, as the model sees them.
    pub traits: Vec<Traits>,
    /// One for each image at each shape where it was measured.
    pub rows: Vec<Row>,
    /// The GPUs that they are of.
    pub gpus: BTreeSet<String>,
    pub(super) numbers: HashMap<Schedule, usize>,
}

impl Measured {
    /// Adds what a recording measured.
    pub fn add(&mut self, recording: &Recording, class: &ProblemClass) {
        self.gpus.insert(recording.gpu.name.clone());
        for recorded in &recording.shapes {
            let Some((_, best)) = recorded.optimum() else { continue };
            let shape = self.shapes.len();
            let machine = recording.gpu.machine();
            self.shapes.push(Shape { extents: recorded.shape, best_ms: best.median_ms, machine });
            let mut best: BTreeMap<usize, f64> = BTreeMap::new();
            for (schedule, outcome) in &recorded.rows {
                let Some(ms) = outcome.median_ms() else { continue };
                let Some(image) = self.number(&schedule.image(), class) else { continue };
                let least = best.entry(image).or_insert(ms);
                *least = least.min(ms);
            }
            self.rows.extend(best.into_iter().map(|(image, ms)| Row { shape, image, ms }));
        }
    }

    /// The number of an image that was tried.
    pub fn number_of(&self, image: &Schedule) -> Option<usize> {
        self.numbers.get(image).copied()
    }

    /// The number of an image, which is added if it is new; none of one that the model does not know.
    fn number(&mut self, image: &Schedule, class: &ProblemClass) -> Option<usize> {
        if let Some(known) = self.number_of(image) {
            return Some(known);
        }
        self.traits.push(Traits::of(class, image)?);
        self.images.push(*image);
        self.numbers.insert(*image, self.images.len() - 1);
        Some(self.images.len() - 1)
    }

    /// The time that the model predicts of a row.
    pub fn predicted_ms(&self, row: &Row, constants: Constants) -> f64 {
        self.predicted_of(row.image, row.shape, constants)
    }

    /// The time that the model predicts of an image at a shape.
    pub fn predicted_of(&self, image: usize, shape: usize, constants: Constants) -> f64 {
        let Shape { extents, machine, .. } = self.shapes[shape];
        Model { machine, constants }.predicted_ms(&self.traits[image], &extents)
    }

    /// Every time, by shape and image.
    pub fn times(&self) -> HashMap<(usize, usize), f64> {
        self.rows.iter().map(|row| ((row.shape, row.image), row.ms)).collect()
    }

    /// How much a row says of what is chosen: little far from the fastest at its shape.
    pub fn weight(&self, row: &Row) -> f64 {
        const FAR: f64 = 3.0;
        const LEAST: f64 = 0.03;
        (-FAR * (row.ms / self.shapes[row.shape].best_ms - 1.0)).exp() + LEAST
    }
}
