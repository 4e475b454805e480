//! A problem at a shape that somebody wants to be fast.

use autokernel_codegen::arch::Arch;
use autokernel_codegen::problem::Problem;
use autokernel_core::Extents;

/// A problem at a shape that somebody wants to be fast.
#[derive(Clone, Debug, PartialEq)]
pub struct Demand {
    /// The function that computes it.
    pub kernel: String,
    /// What is computed.
    pub problem: Problem,
    /// At which shape.
    pub shape: Extents,
    /// The archs of the GPUs on which it was launched; none where that was a CPU, or is not known.
    pub archs: Vec<Arch>,
    /// How often it was launched; 1 where that is not known.
    pub count: u64,
}

impl Demand {
    /// The operations of all its launches: each launch's work times their count.
    pub fn weight(&self) -> f64 {
        self.count as f64 * self.problem.work(&self.shape).operations
    }
}

/// Everything that is wanted, and what to tell people about the rest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Demands {
    /// What is wanted; with a launch log by weight, the heaviest first.
    pub wanted: Vec<Demand>,
    /// What cannot be tuned or was left out, each with its remedy.
    pub notes: Vec<String>,
}

impl Demands {
    /// Adds `demand`, or its launches to those of the same class and shape: one tuned entry serves both.
    pub fn add(&mut self, demand: Demand) {
        let class = demand.problem.class();
        let same = |other: &&mut Demand| other.problem.class() == class && other.shape == demand.shape;
        match self.wanted.iter_mut().find(same) {
            Some(other) => {
                other.count = other.count.saturating_add(demand.count);
                let new = demand.archs.into_iter().filter(|arch| !other.archs.contains(arch)).collect::<Vec<_>>();
                other.archs.extend(new);
            }
            None => self.wanted.push(demand),
        }
    }
}
