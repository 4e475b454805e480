//! How a budget is divided into generations.

use crate::trial::Trial;

/// What a search may spend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Schedules that may be tried, those that the journal answers included.
    pub evaluations: usize,
    /// Generations these are divided into.
    pub generations: usize,
}

/// The generations of one search.
#[derive(Debug)]
pub struct Generations {
    budget: Budget,
    /// Schedules of a generation: no fewer, so that a search with a larger budget begins as the smaller one did.
    batch: usize,
    begun: u32,
    last: u32,
}

impl Generations {
    /// Those behind the trials of an earlier run. One that was cut short leaves a generation for what it did not try.
    pub fn new(budget: Budget, trials: &[Trial]) -> Self {
        let batch = budget.evaluations.div_ceil(budget.generations.max(1));
        let mut generations = Generations { budget, batch, begun: 0, last: budget.generations as u32 };
        generations.begin_behind(trials);
        generations.last = generations.last.max(generations.begun + 1);
        generations
    }

    /// The number of the next generation, while there are some and the trials so far leave budget.
    pub fn next(&mut self, trials: &[Trial]) -> Option<u32> {
        if self.begun >= self.last || trials.len() >= self.budget.evaluations {
            return None;
        }
        self.begun += 1;
        Some(self.begun)
    }

    /// Schedules to ask for in the generation that was begun, where so many are left.
    pub fn size(&self, left: usize) -> usize {
        let generations = (self.last - self.begun + 1).max(1) as usize;
        left.div_ceil(generations).max(self.batch).min(left)
    }

    /// Goes on behind trials that were made otherwise divided, with as many generations as the rest of the budget takes.
    pub fn go_on_behind(&mut self, trials: &[Trial]) {
        self.begin_behind(trials);
        let left = self.budget.evaluations.saturating_sub(trials.len());
        self.last = self.last.max(self.begun + left.div_ceil(self.batch.max(1)) as u32);
    }

    fn begin_behind(&mut self, trials: &[Trial]) {
        self.begun = trials.iter().map(|trial| trial.generation).max().unwrap_or(0).max(self.begun);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many trials of each generation, from the first on.
    fn trials(counts: &[usize]) -> Vec<Trial> {
        let line = r#"{"at":"","generation":1,"number":1,"proposed_by":"hybrid, surrogate","seconds":0.0,
            "target":{"problem":{"operation":"matmul","input":"bf16","output":"bf16","layout":"nn","epilogue":"relu"},
                "arch":"sm_80","shape":{"m":64,"n":64,"k":64}},
            "schedule":{"family":"sm80","tile_m":64,"tile_n":64,"tile_k":32,"warps_m":2,"warps_n":2,"stages":4,
                "raster_order":"along_m","raster_group":8},
            "environment":{"gpu":"","driver":"","nvcc":"","kernels":""},
            "outcome":{"status":"measured","median_ms":1.0,"spread_pct":0.0,"samples":1}}"#;
        let trial: Trial = serde_json::from_str(line).unwrap();
        let of = |(generation, &count): (u32, &usize)| vec![Trial { generation, ..trial.clone() }; count];
        (1..).zip(counts).flat_map(of).collect()
    }

    /// What is asked for in each generation, where each gives as much.
    fn sizes(budget: Budget, mut made: Vec<Trial>) -> Vec<(u32, usize)> {
        let mut generations = Generations::new(budget, &made);
        let mut sizes = Vec::new();
        while let Some(generation) = generations.next(&made) {
            let size = generations.size(budget.evaluations - made.len());
            made.extend(vec![Trial { generation, ..trials(&[1])[0].clone() }; size]);
            sizes.push((generation, size));
        }
        sizes
    }

    #[test]
    fn a_larger_budget_is_divided_alike_as_far_as_the_smaller_one_goes() {
        let of = |evaluations, generations| sizes(Budget { evaluations, generations }, Vec::new());
        assert_eq!(of(60, 5), [(1, 12), (2, 12), (3, 12), (4, 12), (5, 12)]);
        assert_eq!(of(100, 9)[..5], of(60, 5));
        assert_eq!(of(100, 9).iter().map(|(_, size)| size).sum::<usize>(), 100);
        assert_eq!(of(3, 5), [(1, 1), (2, 1), (3, 1)]);
    }

    #[test]
    fn a_run_that_was_killed_in_its_last_generation_still_spends_its_budget() {
        let budget = Budget { evaluations: 60, generations: 5 };
        assert_eq!(sizes(budget, trials(&[12, 12, 12, 12])), [(5, 12)]);
        assert_eq!(sizes(budget, trials(&[12, 12, 12, 12, 7])), [(6, 5)]);
        assert_eq!(sizes(budget, trials(&[12, 3, 12, 12])), [(5, 21)]);
        assert_eq!(sizes(budget, trials(&[12, 12, 12, 12, 12])), []);
    }

    #[test]
    fn trials_that_were_divided_otherwise_leave_generations_for_the_rest() {
        let mut generations = Generations::new(Budget { evaluations: 40, generations: 5 }, &[]);
        let made = trials(&[8, 4, 4, 4, 4]);
        assert_eq!(generations.next(&[]), Some(1));
        generations.go_on_behind(&made);
        assert_eq!(generations.next(&made), Some(6));
        assert_eq!(generations.size(16), 8);
    }
}
