//! What several prompts say.

use std::fmt::Write;

use crate::llm::feedback::Left;

/// The sentence every prompt ends with.
pub fn ask(left: &Left) -> String {
    let Left { evaluations, rounds, proposals_per_round } = left;
    let mut text = format!("{evaluations} evaluations are left in all");
    let _ = match rounds {
        0 | 1 => write!(text, ", and this is your last round"),
        rounds => write!(text, ", and {rounds} rounds with you, this one included"),
    };
    let wanted = proposals_per_round.min(evaluations);
    let _ = write!(text, ". Propose {wanted} distinct schedules now, the most promising first.");
    text
}

pub fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
