//! One target of a run.

use crate::evaluate::Evaluator;
use crate::target::Target;

/// A target with the evaluator that measures it.
pub struct Job {
    /// What is tuned.
    pub target: Target,
    /// Who measures.
    pub evaluator: Box<dyn Evaluator>,
}
