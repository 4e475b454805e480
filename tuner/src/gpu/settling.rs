//! When a GPU under load is as slow as it is going to be.

/// What a warm-up has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warmth {
    /// It must go on.
    Rising,
    /// The last rounds agree, after at least as long as was asked for.
    Settled,
    /// They do not agree after as long as may be spent.
    Unsettled,
}

/// Watches the rounds of a warm-up: each launches the same, so that they take alike once the clock has settled.
#[derive(Clone, Debug)]
pub struct Settling {
    at_least_ms: f64,
    at_most_ms: f64,
    elapsed_ms: f64,
    rounds: Vec<f64>,
}

impl Settling {
    /// Rounds that must agree.
    const ROUNDS: usize = 3;
    /// Within this share of the longest: at its limit a chip wanders by so much for ever.
    const WITHIN: f64 = 0.015;
    /// The most rounds, however short they are.
    pub const MAX_ROUNDS: usize = 50;

    /// A warm-up of at least and, as long as its rounds do not agree, at most so long. Just after a rest the power controller has
    /// not seen the load yet, and rounds agree at a clock that will not stay: that is what the least is for.
    pub fn new(at_least_ms: f64, at_most_ms: f64) -> Self {
        Settling { at_least_ms, at_most_ms, elapsed_ms: 0.0, rounds: Vec::new() }
    }

    /// What it has come to after one more round, which took `round_ms` on the GPU.
    pub fn after(&mut self, round_ms: f64) -> Warmth {
        self.rounds.push(round_ms);
        // What is no time counts for none; the number of rounds still ends it.
        self.elapsed_ms += if round_ms.is_finite() { round_ms.max(0.0) } else { 0.0 };
        let is_long_enough = self.elapsed_ms >= self.at_least_ms;
        if is_long_enough && self.agree() {
            Warmth::Settled
        } else if self.rounds.len() >= Self::MAX_ROUNDS || (is_long_enough && self.elapsed_ms >= self.at_most_ms) {
            Warmth::Unsettled
        } else {
            Warmth::Rising
        }
    }

    fn agree(&self) -> bool {
        let Some(last) = self.rounds.len().checked_sub(Self::ROUNDS).map(|from| &self.rounds[from..]) else {
            return false;
        };
        let (shortest, longest) = last.iter().fold((f64::INFINITY, 0.0_f64), |(a, b), &ms| (a.min(ms), b.max(ms)));
        last.iter().all(|ms| ms.is_finite()) && longest - shortest <= Self::WITHIN * longest
    }
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64;

    use super::*;

    fn ends(settling: &mut Settling, mut round: impl FnMut(usize) -> f64) -> (usize, Warmth) {
        for rounds in 1..=Settling::MAX_ROUNDS {
            match settling.after(round(rounds)) {
                Warmth::Rising => {}
                warmth => return (rounds, warmth),
            }
        }
        panic!("no end after {} rounds", Settling::MAX_ROUNDS);
    }

    #[test]
    fn whatever_rounds_take_it_ends_and_is_settled_only_if_the_last_agree() {
        let mut random = Pcg64::seed_from_u64(1);
        for case in 0..2000 {
            let (least, most) = (random.random_range(0.0..800.0), random.random_range(0.0..3000.0));
            let noise = [0.0, 0.002, 0.02, 0.5][case % 4];
            let start: f64 = 10.0_f64.powf(random.random_range(-2.0..3.0));
            let mut taken = Vec::new();
            let (_, warmth) = ends(&mut Settling::new(least, most), |round| {
                let strange = [f64::NAN, f64::INFINITY, 0.0, -1.0];
                let ms = start * (2.0 - (-(round as f64) / 4.0).exp()) * (1.0 + noise * random.random_range(-1.0..1.0));
                taken.push(if random.random_bool(0.02) { strange[case % 4] } else { ms });
                *taken.last().unwrap()
            });
            let last = &taken[taken.len().saturating_sub(3)..];
            let longest = last.iter().copied().fold(0.0, f64::max);
            let agree = last.len() == 3 && last.iter().all(|ms| ms.is_finite() && longest - ms <= 0.015 * longest);
            let counted = |ms: &f64| if ms.is_finite() { ms.max(0.0) } else { 0.0 };
            let elapsed: f64 = taken.iter().map(counted).sum();
            assert_eq!(warmth == Warmth::Settled, agree && elapsed >= least, "case {case}: {taken:?}");
            let before: f64 = elapsed - taken.last().map_or(0.0, counted);
            assert!(before < least.max(most), "case {case}: it went on after {before} of {least} to {most} ms");
        }
    }

    #[test]
    fn rounds_that_agree_at_once_go_on_for_the_least_and_a_clock_that_falls_for_ever_ends_unsettled() {
        assert_eq!(ends(&mut Settling::new(300.0, 1500.0), |_| 50.0), (6, Warmth::Settled));
        assert_eq!(
            ends(&mut Settling::new(300.0, 1500.0), |round| 50.0 * 1.05_f64.powi(round as i32)).1,
            Warmth::Unsettled
        );
        assert_eq!(ends(&mut Settling::new(300.0, 1500.0), |_| 0.0).0, Settling::MAX_ROUNDS);
    }

    #[test]
    fn a_warm_up_of_a_fixed_length_ends_there_whether_or_not_it_settled() {
        assert_eq!(ends(&mut Settling::new(0.0, 0.0), |_| 5.0), (1, Warmth::Unsettled));
        assert_eq!(ends(&mut Settling::new(100.0, 0.0), |round| 30.0 + 10.0 * round as f64).0, 3);
    }
}
