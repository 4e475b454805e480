//! Which schedules are measured at a drawn shape: a few that should be good, and a random sample that nothing chose.

use std::collections::HashMap;

use autokernel_codegen::matmul::model::Traits;
use autokernel_codegen::matmul::schedule::{Raster, RasterOrder, Schedule as Product};
use autokernel_codegen::schedule::Schedule;
use autokernel_codegen::schedule::space::Space;
use autokernel_core::Extents;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::gpu_facts::GpuFacts;
use crate::strategy::Prior;
use crate::target::Target;

/// What the fastest images of a shape are measured with beside the raster of a launch.
const OTHERS: [Raster; 6] = [
    Raster { order: RasterOrder::AlongM, group: 2 },
    Raster { order: RasterOrder::AlongM, group: 4 },
    Raster { order: RasterOrder::AlongM, group: 8 },
    Raster { order: RasterOrder::AlongN, group: 2 },
    Raster { order: RasterOrder::AlongN, group: 4 },
    Raster { order: RasterOrder::AlongN, group: 8 },
];
/// So many of the fastest.
const OTHERS_FOR_TOP: usize = 3;
/// Images of the pool that are predicted to be slower than the best by more than this factor are left out at a shape.
const HOPELESS: f64 = 2.0;
/// The same of those among which a launch chooses: it would not take them.
const NEVER_TAKEN: f64 = 1.6;

/// How schedules are chosen at each of several shapes.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    /// Decides the random sample.
    pub seed: u64,
    /// Images that arithmetic ranks first at the shape.
    pub first: usize,
    /// Images that are measured at every shape where they are near the best: among them a launch chooses.
    pub always: Vec<Schedule>,
    /// Images that are good somewhere.
    pub pool: Vec<Schedule>,
    /// At most so many of the pool at a shape, by arithmetic.
    pub of_pool: usize,
    /// Images of the random sample at each shape.
    pub random: usize,
    /// The random samples of all shapes have so many images between them, so that few are compiled.
    pub random_of: usize,
}

impl Selection {
    /// The schedules that are measured first at `target`, each with the raster that a launch takes there.
    pub fn at(&self, space: &Space, target: &Target, gpu: &GpuFacts) -> Vec<Schedule> {
        let prior = Prior::new(target, gpu);
        let ranked = |images: &mut dyn Iterator<Item = Schedule>| {
            let mut timed: Vec<(f64, Schedule)> = images.map(|image| (prior.predicted_ms(&image), image)).collect();
            timed.sort_by(|(a, _), (b, _)| a.total_cmp(b));
            timed
        };
        let mut chosen = self.sample(space, target.shape);
        let all = ranked(&mut space.forms());
        let best = all.first().map_or(f64::INFINITY, |(ms, _)| *ms);
        let always = ranked(&mut self.always.iter().copied());
        chosen.extend(always.iter().filter(|(ms, _)| *ms <= NEVER_TAKEN * best).map(|(_, image)| *image));
        chosen.extend(all.iter().take(self.first).map(|(_, image)| *image));
        let pool = ranked(&mut self.pool.iter().copied());
        chosen.extend(pool.iter().filter(|(ms, _)| *ms <= HOPELESS * best).take(self.of_pool).map(|(_, image)| *image));
        let mut unique: Vec<Schedule> = Vec::new();
        for image in chosen.into_iter().map(|image| image.form()) {
            if !unique.contains(&image) {
                unique.push(image);
            }
        }
        let class = target.problem.class();
        let machine = gpu.machine(class.multiplies());
        let launched = |image: Schedule| {
            let traits = Traits::of(&class, &image);
            traits.map_or(image, |traits| traits.with_raster(&image, &target.shape, &machine))
        };
        unique.into_iter().map(launched).collect()
    }

    /// The random sample at `shape`: whatever is fast or slow, all images are as likely to be in it.
    pub fn sample(&self, space: &Space, shape: Extents) -> Vec<Schedule> {
        let mut images: Vec<Schedule> = space.forms().collect();
        images.shuffle(&mut Pcg64::seed_from_u64(self.seed));
        images.truncate(self.random_of);
        // Another draw of these at each shape.
        let of_shape =
            shape.sizes().fold(self.seed, |seed, size| seed.wrapping_mul(0x0100_0000_01b3) ^ u64::from(size));
        let mut random = Pcg64::seed_from_u64(of_shape);
        let take = self.random.min(images.len());
        let mut sample = Vec::new();
        for _ in 0..take {
            sample.push(images.swap_remove(random.random_range(0..images.len())));
        }
        sample
    }

    /// Other rasters of the fastest images at a shape.
    pub fn rasters(&self, chosen: &[Schedule], median_ms: impl Fn(&Schedule) -> Option<f64>) -> Vec<Schedule> {
        let mut timed: Vec<(f64, Schedule)> =
            chosen.iter().filter_map(|schedule| Some((median_ms(schedule)?, *schedule))).collect();
        timed.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let fastest = timed.into_iter().take(OTHERS_FOR_TOP);
        fastest.flat_map(|(_, schedule)| OTHERS.map(|raster| with_raster(schedule, raster))).collect()
    }
}

fn with_raster(schedule: Schedule, raster: Raster) -> Schedule {
    Product::try_from(&schedule).map_or(schedule, |product| product.with_raster(raster).into())
}

/// The images that arithmetic ranks among the first `first` at no fewer than `often` of `targets`.
pub fn popular(space: &Space, targets: &[Target], gpu: &GpuFacts, first: usize, often: usize) -> Vec<Schedule> {
    let mut count: HashMap<Schedule, usize> = HashMap::new();
    for target in targets {
        let prior = Prior::new(target, gpu);
        let mut timed: Vec<(f64, Schedule)> = space.forms().map(|image| (prior.predicted_ms(&image), image)).collect();
        timed.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        for (_, image) in timed.into_iter().take(first) {
            *count.entry(image).or_default() += 1;
        }
    }
    space.forms().filter(|image| count.get(image).is_some_and(|count| *count >= often)).collect()
}

#[cfg(test)]
mod tests {
    use autokernel_codegen::arch::Arch;
    use autokernel_codegen::dtype::Dtype;
    use autokernel_codegen::matmul::extents;
    use autokernel_codegen::problem::{Layout, Problem};
    use autokernel_codegen::schedule::Family;

    use super::*;

    fn selection() -> Selection {
        Selection { seed: 5, first: 15, always: Vec::new(), pool: Vec::new(), of_pool: 40, random: 12, random_of: 64 }
    }

    fn space() -> Space {
        let problem = Problem::matmul(Dtype::Bf16, Layout::Nt, "identity".parse().unwrap());
        Space::new(Family::Sm90, &problem.class(), Arch::SM_90A)
    }

    #[test]
    fn a_random_sample_is_the_same_each_time_another_at_each_shape_and_all_of_few_images() {
        let (space, selection) = (space(), selection());
        let of = |m| selection.sample(&space, extents(m, 4096, 4096));
        assert_eq!(of(16), of(16));
        assert_ne!(of(16), of(17));
        let mut all: Vec<Schedule> = (1..200).flat_map(of).collect();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 64);
    }

    #[test]
    fn the_fastest_alone_are_measured_with_other_rasters() {
        let space = space();
        let chosen: Vec<Schedule> = space.forms().take(9).collect();
        let ms = |schedule: &Schedule| chosen.iter().position(|of| of == schedule).map(|at| (9 - at) as f64);
        let others = selection().rasters(&chosen, ms);
        assert_eq!(others.len(), OTHERS_FOR_TOP * OTHERS.len());
        assert!(others.iter().all(|other| chosen[6..].contains(&other.form())));
    }
}
