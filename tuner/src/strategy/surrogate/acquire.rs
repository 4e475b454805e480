//! Which schedules are worth a trial, by what a model expects.

use std::collections::HashMap;

use autokernel_codegen::schedule::Schedule;
use rand::RngExt;
use rand_pcg::Pcg64;
use tuner_forest::Expectation;

/// Schedules of one image in a batch: their times are so alike that more would tell little.
const SAME_IMAGE: usize = 2;
/// One in so many of a batch is of an image that was not tried, while there are any. By itself a model that knows a few
/// good images spends all that is left on their launch-time knobs, and one step beside them may be a better image.
const ONE_NEW_IMAGE_IN: usize = 3;

/// A schedule that may be chosen.
#[derive(Clone, Copy, Debug)]
pub struct Candidate {
    /// Its index in the space.
    pub index: usize,
    /// What is compiled of it.
    pub image: Schedule,
    /// Whether a schedule of that image was tried.
    pub image_was_tried: bool,
    /// What the model expects of it.
    pub expectation: Expectation,
}

/// `n` of `candidates` by lower confidence bounds, `mean − κ · spread`.
///
/// Each draws its own κ from an exponential distribution of mean 1 (Hutter, Hoos, Leyton-Brown 2012), so that a batch
/// holds what is expected to be fast and what is little known, and no two ask the same question.
pub fn batch(candidates: &[Candidate], n: usize, rng: &mut Pcg64) -> Vec<usize> {
    let mut images: HashMap<Schedule, usize> = HashMap::new();
    let mut open = vec![true; candidates.len()];
    let mut chosen = Vec::with_capacity(n);
    let mut tried_left = n - n / ONE_NEW_IMAGE_IN;
    while chosen.len() < n {
        let kappa = -rng.random::<f64>().max(f64::MIN_POSITIVE).ln();
        let bound = |&at: &usize| candidates[at].expectation.mean - kappa * candidates[at].expectation.spread;
        let best_of = |(same_image, of_tried_images): (usize, usize)| {
            let free = |&at: &usize| {
                open[at]
                    && images.get(&candidates[at].image).is_none_or(|&count| count < same_image)
                    && (of_tried_images > 0 || !candidates[at].image_was_tried)
            };
            (0..candidates.len()).filter(free).min_by(|a, b| bound(a).total_cmp(&bound(b)))
        };
        let limits = [(SAME_IMAGE, tried_left), (SAME_IMAGE, usize::MAX), (usize::MAX, usize::MAX)];
        let Some(best) = limits.into_iter().find_map(best_of) else { break };
        open[best] = false;
        if candidates[best].image_was_tried {
            tried_left = tried_left.saturating_sub(1);
        }
        *images.entry(candidates[best].image).or_default() += 1;
        chosen.push(candidates[best].index);
    }
    chosen
}

#[cfg(test)]
mod tests {
    use autokernel_codegen::arch::Arch;
    use autokernel_codegen::dtype::Dtype;
    use autokernel_codegen::problem::{Layout, Problem};
    use rand::SeedableRng;

    use super::*;

    fn candidates(spread: impl Fn(usize) -> f64) -> Vec<Candidate> {
        let problem = Problem::matmul(Dtype::Bf16, Layout::Nt, "identity".parse().unwrap());
        let family = autokernel_codegen::schedule::Family::Sm90;
        let space = autokernel_codegen::schedule::space::Space::new(family, &problem.class(), Arch::SM_90A);
        let candidate = |(index, schedule): (usize, &Schedule)| Candidate {
            index,
            image: schedule.image(),
            image_was_tried: index < 120,
            expectation: Expectation { mean: index as f64, spread: spread(index) },
        };
        space.schedules().iter().take(300).enumerate().map(candidate).collect()
    }

    #[test]
    fn a_batch_holds_no_schedule_twice_and_few_of_one_image() {
        let candidates = candidates(|_| 0.0);
        let chosen = batch(&candidates, 20, &mut Pcg64::seed_from_u64(1));
        let mut images: HashMap<Schedule, usize> = HashMap::new();
        chosen.iter().for_each(|&index| *images.entry(candidates[index].image).or_default() += 1);
        assert_eq!(chosen.len(), 20);
        assert!(images.values().all(|&count| count <= SAME_IMAGE), "{images:?}");
        assert_eq!(chosen[0], 0, "the best expectation comes first when nothing is uncertain");
    }

    #[test]
    fn a_batch_takes_all_there_is_and_no_more() {
        let all: Vec<Candidate> = candidates(|_| 0.0).into_iter().take(30).collect();
        let mut chosen = batch(&all, 100, &mut Pcg64::seed_from_u64(1));
        chosen.sort_unstable();
        assert_eq!(chosen, (0..30).collect::<Vec<_>>());
    }

    #[test]
    fn a_third_of_a_batch_are_images_that_were_not_tried() {
        let candidates = candidates(|_| 0.0);
        let chosen = batch(&candidates, 12, &mut Pcg64::seed_from_u64(1));
        assert_eq!(chosen.iter().filter(|&&index| index >= 120).count(), 4, "{chosen:?}");
        let tried = &candidates[..120];
        assert_eq!(batch(tried, 12, &mut Pcg64::seed_from_u64(1)).len(), 12, "unless there are none");
    }

    #[test]
    fn what_is_little_known_gets_its_share() {
        let unknown = candidates(|index| if index == 299 { 1000.0 } else { 0.0 });
        assert!(batch(&unknown, 12, &mut Pcg64::seed_from_u64(1)).contains(&299));
    }
}
