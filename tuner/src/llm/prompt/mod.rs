//! What the model is told: the task, then the news of each round, and how an unusable reply is mended.

mod first;
mod knobs;
mod outcome;
mod refine;
mod repair;
mod rules;
mod schema;
mod text;

pub(super) use first::{first, system};
pub(super) use refine::refine;
pub(super) use repair::{is_repair, repair};
pub(super) use schema::wanted;
