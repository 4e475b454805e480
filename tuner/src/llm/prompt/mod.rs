//! What the model is told: the task, then the news of each round, and how an unusable reply is mended.

mod first;
mod knobs;
mod outcome;
mod refine;
mod repair;
mod rules;
mod schema;

pub(super) use first::{first, system};
pub(super) use refine::refine;
pub(super) use repair::{is_repair, repair};
pub(super) use schema::wanted;

use std::fmt::Write;

use super::feedback::Budget;

/// The sentence every prompt ends with.
fn ask(budget: &Budget) -> String {
    let Budget { evaluations, rounds, proposals_per_round, time } = budget;
    let mut text = format!("{evaluations} evaluations are left in all");
    if let Some(time) = time {
        let _ = write!(text, ", {:.0} s of time", time.as_secs_f64());
    }
    let _ = match rounds {
        0 | 1 => write!(text, ", and this is your last round"),
        rounds => write!(text, ", and {rounds} rounds with you, this one included"),
    };
    let wanted = proposals_per_round.min(evaluations);
    let _ = write!(text, ". Propose {wanted} distinct schedules now, the most promising first.");
    text
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
