//! What recordings measured, as rows that a fit and a choice read.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use autokernel_codegen::matmul::model::{Constants, Machine, Model, Traits, splits_of};
use autokernel_codegen::matmul::schedule::Sm90Schedule;
use autokernel_codegen::matmul::{self, heights};
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
    /// Whether that is the time of the same machine code in an image of its own: nothing is fitted to it again.
    pub borrowed: bool,
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

/// Recordings of before the last store box of a tile could overlap: boxes that divide tiles of 136, 152, 184 and 208 rows have 8 or 16 of
/// them, and each took 0.15 µs.
const WITHOUT_OVERLAPPING_BOXES: [&str; 3] = ["48d0b0c7e7f8", "96bfa67cb881", "b915044e83c8"];

/// The rows of recordings of one class, one GPU or several.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Every shape of every recording.
    pub shapes: Vec<Shape>,
    /// Every form of an image that was tried, as the schedule that stands for it, and those that a launch might take instead.
    pub forms: Vec<Schedule>,
    /// The same, as the model sees them.
    pub traits: Vec<Traits>,
    /// For each the schedule that stands for all that are compiled into one file with it: that of the tallest tile.
    pub files: Vec<Schedule>,
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
        let kernels = &recording.environment.kernels;
        self.sources.insert(kernels.clone());
        let is_before = WITHOUT_OVERLAPPING_BOXES.contains(&kernels.as_str());
        for recorded in &recording.shapes {
            let Some((_, best)) = recorded.optimum() else { continue };
            let shape = self.shapes.len();
            let machine = recording.gpu.machine(class.multiplies());
            self.shapes.push(Shape { extents: recorded.shape, best_ms: best.median_ms, machine });
            let mut best: BTreeMap<usize, f64> = BTreeMap::new();
            for (schedule, outcome) in &recorded.rows {
                let Some(ms) = outcome.median_ms() else { continue };
                if is_before && has_overlapping_boxes(class, schedule) {
                    continue;
                }
                let Some(form) = self.number(&schedule.form(), class) else { continue };
                let least = best.entry(form).or_insert(ms);
                *least = least.min(ms);
            }
            self.rows.extend(best.into_iter().map(|(form, ms)| Row { shape, form, ms, borrowed: false }));
        }
    }

    /// Has images be chosen from, though they were perhaps not measured themselves. Where a tile of an image that has several was not, it
    /// has the time that it takes alone: it is the same machine code, and tiles up to 64 rows took 1 % less alone in the median of 188 and 189
    /// pairs on an H200.
    pub fn take_up<'s>(&mut self, images: impl IntoIterator<Item = &'s Schedule>, class: &ProblemClass) {
        for image in images {
            self.number(&image.form(), class);
        }
        let times = self.times();
        for form in 0..self.forms.len() {
            let Some(alone) = self.number_of(&alone(&self.forms[form])).filter(|&alone| alone != form) else {
                continue;
            };
            let shapes = (0..self.shapes.len()).filter(|&shape| !times.contains_key(&(shape, form)));
            let lent = shapes.filter_map(|shape| Some((shape, *times.get(&(shape, alone))?)));
            self.rows.extend(lent.map(|(shape, ms)| Row { shape, form, ms, borrowed: true }));
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
            self.files.push(file_of(class, &form));
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

/// Whether a tile's last store box stores some of it again, so that its kernel is another than it was.
fn has_overlapping_boxes(class: &ProblemClass, schedule: &Schedule) -> bool {
    let (ProblemClass::Matmul(class), Ok(matmul::Schedule::Sm90(tile))) = (class, matmul::Schedule::try_from(schedule))
    else {
        return false;
    };
    let store = tile.store_box(class);
    let (stored, all) =
        if tile.swap_ab { (store.rows, tile.tile_m) } else { (store.columns, class.columns_of_c(tile.tile_n)) };
    !all.is_multiple_of(stored)
}

/// The tiles of the image of `form` where it has several, lowest first.
fn tiles(class: &ProblemClass, form: &Schedule) -> Vec<Sm90Schedule> {
    match (class, matmul::Schedule::try_from(form)) {
        (ProblemClass::Matmul(class), Ok(matmul::Schedule::Sm90(tile))) => heights(class, &tile).collect(),
        _ => Vec::new(),
    }
}

/// The same tile in an image that has no other.
fn alone(form: &Schedule) -> Schedule {
    match matmul::Schedule::try_from(form) {
        Ok(matmul::Schedule::Sm90(tile)) => tile.alone().into(),
        _ => *form,
    }
}

fn file_of(class: &ProblemClass, form: &Schedule) -> Schedule {
    tiles(class, form).last().map_or(*form, |tallest| Schedule::from(*tallest)).image()
}

/// The forms among which a launch of the image of `form` chooses: heights of its tiles, and splits of K.
fn launched_in(class: &ProblemClass, form: &Schedule) -> Vec<Schedule> {
    let tiles = tiles(class, form).into_iter().map(matmul::Schedule::from);
    let (ProblemClass::Matmul(class), Ok(form)) = (class, matmul::Schedule::try_from(form)) else { return Vec::new() };
    let forms = std::iter::once(form).chain(tiles).flat_map(|tile| std::iter::once(tile).chain(splits_of(class, tile)));
    forms.map(|form| Schedule::from(form).form()).collect()
}

#[cfg(test)]
mod tests {
    use autokernel_codegen::arch::Arch;
    use autokernel_codegen::dtype::Dtype;
    use autokernel_codegen::matmul::extents;
    use autokernel_codegen::matmul::space::images_of_heights;
    use autokernel_codegen::problem::{Layout, Problem};
    use autokernel_core::ComputeCapability;

    use super::*;

    const MACHINE: Machine = Machine {
        capability: ComputeCapability::new(9, 0),
        sm_count: 132,
        matrix_tflops: 989.0,
        memory_gb_per_s: 4800.0,
    };

    #[test]
    fn a_tile_among_others_in_an_image_has_the_time_that_it_takes_alone_and_nothing_is_fitted_to_it_again() {
        let class = Problem::matmul(Dtype::Bf16, Layout::Nt, "identity".parse().unwrap()).class();
        let ProblemClass::Matmul(product) = &class else { unreachable!("a product") };
        let tiles = images_of_heights(product, Arch::SM_90A);
        let tile = tiles.iter().find(|tile| tile.value("splits") == Some(0)).unwrap();
        let mut measured = Measured {
            shapes: vec![Shape { extents: extents(64, 4096, 4096), best_ms: 1.0, machine: MACHINE }],
            ..Measured::default()
        };
        let form = measured.number(&alone(tile), &class).unwrap();
        measured.rows.push(Row { shape: 0, form, ms: 2.0, borrowed: false });

        measured.take_up(&tiles, &class);
        measured.take_up(&tiles, &class);
        let among_others = measured.number_of(&tile.form()).unwrap();
        assert_eq!(measured.times().get(&(0, among_others)), Some(&2.0));
        let borrowed = measured.rows.iter().filter(|row| row.borrowed);
        let same_tile = tiles.iter().filter(|other| alone(other) == alone(tile));
        assert_eq!(borrowed.count(), same_tile.count());

        let files: BTreeSet<Schedule> =
            tiles.iter().map(|tile| measured.files[measured.number_of(&tile.form()).unwrap()]).collect();
        assert_eq!(files.len(), 16, "as many as there are images to choose from, each of several tiles");
    }

    #[test]
    fn tiles_that_no_store_box_divides_have_other_kernels_than_before() {
        let class = Problem::matmul(Dtype::Bf16, Layout::Nt, "identity".parse().unwrap()).class();
        let is_other = |tile: Sm90Schedule| has_overlapping_boxes(&class, &tile.into());
        let swapped = |tile_m| Sm90Schedule { tile_m, swap_ab: true, ..Sm90Schedule::PLAIN };
        assert_eq!([64, 136, 144, 152, 208].map(|rows| is_other(swapped(rows))), [false, true, false, true, true]);
        let wide = |tile_n| Sm90Schedule { tile_n, ..Sm90Schedule::PLAIN };
        assert_eq!([128, 168, 192, 208].map(|columns| is_other(wide(columns))), [false, true, false, true]);
    }
}
