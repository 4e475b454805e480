//! Language models that propose schedules.
//!
//! A [`Provider`] turns messages into a reply: [`OpenAi`] and [`Anthropic`] over HTTP, [`FileProvider`] through a folder
//! that a person or a program answers, [`Replayed`] from a transcript that a [`Recorder`] wrote; a [`Guard`] keeps any of
//! them within its caps. A [`Conversation`] keeps what the model must know — the [`Task`], then the
//! [`Feedback`] of each round — and returns [`Proposals`]: schedules that passed every rule, and those that did not
//! with the reason, so that the next round can say so.
//!
//! Nothing here measures, and no fault of a model or of a network ends a run: every failure is an [`LlmError`] whose
//! message ends with its remedy.

mod anthropic;
mod candidates;
mod cli;
mod conversation;
mod error;
mod extras;
mod feedback;
mod file;
mod guard;
mod health;
mod http;
mod key;
mod openai;
mod prompt;
mod provider;
mod reply;
mod retry;
mod roofline;
mod stream;
mod task;
mod transcript;

pub use anthropic::Anthropic;
pub use candidates::Candidates;
pub use cli::{LlmArgs, Named, Unanswered};
pub use conversation::Conversation;
pub use error::LlmError;
pub use extras::Extras;
pub use feedback::{Became, Feedback, Figures, Left, Resources, Tried};
pub use file::FileProvider;
pub use guard::{Caps, Guard, Spent};
pub use http::Limits;
pub use key::Key;
pub use openai::OpenAi;
pub use provider::{JsonSchema, Message, Provider, Reply, Role, Usage};
pub use reply::{Proposal, Proposals, Rejected, Rejection};
pub use retry::Retry;
pub use roofline::RooflineFacts;
pub use task::Task;
pub use transcript::{Exchange, Fault, Recorder, Replayed, Resumed, prompt_hash};
