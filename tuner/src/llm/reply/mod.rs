//! From a model's text to schedules that may be tried.

mod admit;
mod extract;
mod lenient;
mod rejection;

use autokernel_codegen::schedule::Schedule;

use super::candidates::Candidates;
use super::provider::Usage;

pub use rejection::Rejection;

/// A schedule that may be tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// The schedule: it keeps every rule and is one of the candidates.
    pub schedule: Schedule,
    /// Why the model expects it to be fast; empty if it does not say.
    pub why: String,
}

/// Something in a reply that cannot be tried.
#[derive(Clone, Debug, PartialEq)]
pub struct Rejected {
    /// What the model wrote, shortened.
    pub text: String,
    /// Why it cannot be tried.
    pub reason: Rejection,
}

/// What one round with a model gave.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Proposals {
    /// What may be tried, each schedule once, in the model's order.
    pub valid: Vec<Proposal>,
    /// What may not, from every reply of the round.
    pub rejected: Vec<Rejected>,
    /// Whether the model had to be asked a second time.
    pub repaired: bool,
    /// What the round cost.
    pub usage: Usage,
}

/// Most proposals that are looked at in one reply.
const MAX_PROPOSALS: usize = 256;

/// The proposals in `text`; `None` if nothing in it looks like one, not even an empty list.
pub(super) fn parse(text: &str, candidates: &Candidates, tried: &dyn Fn(&Schedule) -> bool) -> Option<Proposals> {
    let found = extract::proposals(text)?;
    let mut proposals = Proposals::default();
    for raw in found.into_iter().take(MAX_PROPOSALS) {
        let seen = |schedule: &Schedule| proposals.valid.iter().any(|proposal| proposal.schedule == *schedule);
        match admit::admit(&raw.schedule, candidates, &seen, tried) {
            Ok(schedule) => proposals.valid.push(Proposal { schedule, why: raw.why }),
            Err(reason) => proposals.rejected.push(Rejected { text: raw.text(), reason }),
        }
    }
    Some(proposals)
}
