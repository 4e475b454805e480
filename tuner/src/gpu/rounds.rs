//! How contenders meet: each once in a round, in an order of its own, behind rounds that warm the GPU up.
//!
//! Finals and times under load are taken so; who runs a batch is the caller's business.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

use super::settling::{Settling, Warmth};

/// How long contenders meet.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Rounds that count.
    pub rounds: u32,
    /// How long rounds are run before, in milliseconds.
    pub warm_up_ms: f64,
    /// How long they may be run before until they take alike, in milliseconds.
    pub settle_ms: f64,
    /// What decides the order within each.
    pub seed: u64,
}

/// A batch of one contender's launches.
#[derive(Clone, Copy, Debug)]
pub struct Ran {
    /// The median time of a launch, in milliseconds.
    pub median_ms: f64,
    /// All of it, in milliseconds.
    pub elapsed_ms: f64,
    /// The SM clock meanwhile, in MHz, where it was read.
    pub sm_clock_mhz: Option<f64>,
}

/// What came of rounds.
#[derive(Clone, Debug)]
pub struct Held {
    /// Of each contender, one batch for each round that counted.
    pub batches: Vec<Vec<Ran>>,
    /// Whether rounds took alike before the first that counted.
    pub settled: bool,
}

/// Holds the rounds of `contenders` by `plan`, with `batch` to run one of them.
///
/// # Errors
/// Those of `batch`.
pub fn hold<E>(contenders: usize, plan: &Plan, batch: &mut dyn FnMut(usize) -> Result<Ran, E>) -> Result<Held, E> {
    let mut random = Pcg64::seed_from_u64(plan.seed);
    let mut settling = Settling::new(plan.warm_up_ms, plan.settle_ms);
    let settled = loop {
        let round = one(&mut random, contenders, batch)?;
        match settling.after(round.iter().map(|(_, ran)| ran.elapsed_ms).sum()) {
            Warmth::Rising => {}
            warmth => break warmth == Warmth::Settled,
        }
    };
    let mut batches = vec![Vec::new(); contenders];
    for _ in 0..plan.rounds {
        for (contender, ran) in one(&mut random, contenders, batch)? {
            batches[contender].push(ran);
        }
    }
    Ok(Held { batches, settled })
}

/// One batch of each contender, with its number.
///
/// At the power limit a batch runs at the clock that what ran before it left. In a fixed order each contender always follows
/// the same other, and a round says as much of the neighbour as of the contender.
fn one<E>(
    random: &mut Pcg64,
    contenders: usize,
    batch: &mut dyn FnMut(usize) -> Result<Ran, E>,
) -> Result<Vec<(usize, Ran)>, E> {
    order(random, contenders).into_iter().map(|contender| Ok((contender, batch(contender)?))).collect()
}

fn order(random: &mut Pcg64, count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.shuffle(random);
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_has_each_contender_once_and_everyone_follows_everyone_else_about_as_often() {
        const COUNT: usize = 5;
        const ROUNDS: usize = 2000;
        let mut random = Pcg64::seed_from_u64(1);
        let mut followed = [[0usize; COUNT]; COUNT];
        for _ in 0..ROUNDS {
            let round = order(&mut random, COUNT);
            let mut sorted = round.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4]);
            for pair in round.windows(2) {
                followed[pair[0]][pair[1]] += 1;
            }
        }
        // Each ordered pair is adjacent in a fifth of the rounds.
        let pairs = (0..COUNT).flat_map(|a| (0..COUNT).map(move |b| (a, b))).filter(|(a, b)| a != b);
        for (a, b) in pairs {
            let share = followed[a][b] as f64 / ROUNDS as f64;
            assert!((0.15..0.25).contains(&share), "{b} follows {a} in {share} of the rounds");
        }
    }

    #[test]
    fn a_contender_that_fails_in_a_round_ends_it_with_its_error() {
        let plan = Plan { rounds: 3, warm_up_ms: 0.0, settle_ms: 0.0, seed: 1 };
        let ran = Ran { median_ms: 1.0, elapsed_ms: 3.0, sm_clock_mhz: None };
        let mut runs = 0;
        let mut batch = |_| {
            runs += 1;
            if runs == 7 { Err("lost") } else { Ok(ran) }
        };
        assert_eq!(hold(3, &plan, &mut batch).unwrap_err(), "lost");
        assert_eq!(runs, 7);
        let held = hold::<()>(2, &plan, &mut |_| Ok(ran)).unwrap();
        assert_eq!(held.batches.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3]);
    }
}
