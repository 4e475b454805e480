//! One study across machines: the trials of a journal as rows of one Postgres database.
//!
//! Whoever searches asks for trials ([`Study`], [`Remote`]); `Worker`s take them, a lease at a time, and write what came
//! of them. Nobody coordinates: the state is the database's alone, and each process may die at any time. A lease is
//! known by its attempt, so that a result which comes after another worker took over is kept aside and never counted.
//! `CompileWorker`s need no GPU: they compile what is open into a cache that all share, by leases of their own.

mod claim;
mod compiler;
mod demand;
mod error;
mod heartbeat;
mod kind;
mod link;
mod policy;
mod queue;
mod remote;
mod request;
mod scope;
mod searcher;
mod status;
mod store;
mod uncompiled;
mod url;
mod worker;

pub(crate) use compiler::{CompileWorker, Workshop};
pub(crate) use demand::Wanted;
pub use error::StudyError;
pub(crate) use kind::Kind;
pub use link::Link;
pub use policy::Policy;
pub use queue::Queue;
pub use remote::Remote;
pub(crate) use request::Task;
pub use scope::Scope;
pub(crate) use searcher::Searcher;
pub use status::Status;
pub use store::Study;
pub use url::StudyUrl;
pub(crate) use worker::{Bench, Habits, WorkError, Worker};
