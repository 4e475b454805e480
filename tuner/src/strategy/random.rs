//! The yardstick: schedules at random, each once.

use std::collections::HashSet;

use autokernel_codegen::schedule::Schedule;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

use super::ask_tell::{Proposal, Strategy};
use super::brief::Brief;
use crate::proposer::Proposer;
use crate::strategy_name::{Builtin, StrategyName};
use crate::trial::Trial;

/// Every schedule of the space in random order.
pub struct Random {
    left: Vec<Schedule>,
    told: HashSet<Schedule>,
}

impl Random {
    /// A new order for `brief`.
    pub fn new(brief: &Brief) -> Self {
        let mut left = brief.space.to_vec();
        left.shuffle(&mut Pcg64::seed_from_u64(brief.seed));
        Random { left, told: HashSet::new() }
    }
}

impl Strategy for Random {
    fn name(&self) -> StrategyName {
        StrategyName::Builtin(Builtin::Random)
    }

    fn ask(&mut self, n: usize) -> Vec<Proposal> {
        let mut proposals = Vec::with_capacity(n);
        while proposals.len() < n {
            match self.left.pop() {
                Some(schedule) if self.told.contains(&schedule) => {}
                Some(schedule) => proposals.push(Proposal::new(schedule, Proposer::Builtin(Builtin::Random))),
                None => break,
            }
        }
        proposals
    }

    fn tell(&mut self, trials: &[Trial]) {
        self.told.extend(trials.iter().map(|trial| trial.schedule));
    }
}
