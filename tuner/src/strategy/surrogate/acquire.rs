//! Which schedules are worth a trial, by what a model expects.

use std::collections::HashMap;

use autokernel_codegen::schedule::Schedule;
use rand::RngExt;
use rand_pcg::Pcg64;
use tuner_forest::Expectation;

use crate::strategy::seeds::Look;

/// Schedules of one image in a batch: their times are so alike that more would tell little.
const SAME_IMAGE: usize = 2;
/// Schedules of one look in a batch: a good tile has stages, clusters and splits enough for a whole one.
const SAME_LOOK: usize = 3;
/// One in so many of a batch is of a look that was not tried, while there are any. By itself a model that knows a few
/// good tiles spends all that is left on their variants, and one step beside them may be a better tile.
const ONE_NEW_LOOK_IN: usize = 3;

/// A schedule that may be chosen.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its index in the space.
    pub index: usize,
    /// What is compiled of it.
    pub image: Schedule,
    /// What sets it apart from all but its variants.
    pub look: Look,
    /// Whether a schedule of that look was tried.
    pub look_was_tried: bool,
    /// What the model expects of it.
    pub expectation: Expectation,
}

/// `n` of `candidates` by lower confidence bounds, `mean − κ · spread`.
///
/// Each draws its own κ from an exponential distribution of mean 1 (Hutter, Hoos, Leyton-Brown 2012), so that a batch
/// holds what is expected to be fast and what is little known, and no two ask the same question.
pub fn batch(candidates: &[Candidate], n: usize, rng: &mut Pcg64) -> Vec<usize> {
    let (mut images, mut looks): (HashMap<Schedule, usize>, HashMap<&Look, usize>) = Default::default();
    let mut open = vec![true; candidates.len()];
    let mut chosen = Vec::with_capacity(n);
    let mut tried_left = n - n / ONE_NEW_LOOK_IN;
    while chosen.len() < n {
        let kappa = -rng.random::<f64>().max(f64::MIN_POSITIVE).ln();
        let bound = |&at: &usize| candidates[at].expectation.mean - kappa * candidates[at].expectation.spread;
        let best_of = |(same_image, same_look, of_tried_looks): (usize, usize, usize)| {
            let free = |&at: &usize| {
                let Candidate { image, look, look_was_tried, .. } = &candidates[at];
                open[at]
                    && images.get(image).is_none_or(|&count| count < same_image)
                    && looks.get(look).is_none_or(|&count| count < same_look)
                    && (of_tried_looks > 0 || !look_was_tried)
            };
            (0..candidates.len()).filter(free).min_by(|a, b| bound(a).total_cmp(&bound(b)))
        };
        const ANY: usize = usize::MAX;
        let limits = [
            (SAME_IMAGE, SAME_LOOK, tried_left),
            (SAME_IMAGE, SAME_LOOK, ANY),
            (SAME_IMAGE, ANY, ANY),
            (ANY, ANY, ANY),
        ];
        let Some(best) = limits.into_iter().find_map(best_of) else { break };
        open[best] = false;
        if candidates[best].look_was_tried {
            tried_left = tried_left.saturating_sub(1);
        }
        *images.entry(candidates[best].image).or_default() += 1;
        *looks.entry(&candidates[best].look).or_default() += 1;
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
            look: (family, schedule.image().codes().to_vec()),
            look_was_tried: index < 120,
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
    fn a_batch_holds_few_of_one_look_while_there_are_others() {
        let looks = |others: usize| -> Vec<Candidate> {
            let of = |(at, candidate): (usize, Candidate)| {
                let look = (candidate.look.0, vec![if at < 300 - others { 0 } else { at as u16 }]);
                Candidate { look, look_was_tried: true, ..candidate }
            };
            candidates(|_| 0.0).into_iter().enumerate().map(of).collect()
        };
        let of_first = |others: usize| {
            let chosen = batch(&looks(others), 12, &mut Pcg64::seed_from_u64(1));
            assert_eq!(chosen.len(), 12);
            chosen.iter().filter(|&&index| index < 300 - others).count()
        };
        // Of the five others, which share an image, two are chosen.
        assert_eq!((of_first(100), of_first(5), of_first(0)), (SAME_LOOK, 12 - SAME_IMAGE, 12));
    }

    #[test]
    fn what_is_little_known_gets_its_share() {
        let unknown = candidates(|index| if index == 299 { 1000.0 } else { 0.0 });
        assert!(batch(&unknown, 12, &mut Pcg64::seed_from_u64(1)).contains(&299));
    }
}
