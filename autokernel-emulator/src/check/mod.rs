//! Who touched which byte, and what orders whom: uninitialised reads, races, and fences that are missing.
//!
//! The happens-before relation is tracked with vector clocks, as FastTrack does, with two additions for GPUs. The
//! threads of a warp share a clock for what all of them know, and have one of their own only where they diverge. And
//! each clock comes twice: for what happened before, and for that part of it which the asynchronous proxy sees too,
//! because a `fence.proxy.async` stands in between (PTX ISA, "Proxies").

mod clock;
mod histories;
mod history;
mod knowledge;
mod shadow;
mod threads;

pub(crate) use history::{Agent, Event, Proxy};
pub(crate) use knowledge::Knowledge;
pub(crate) use shadow::{Ordered, Orders, Touch, Violation};
pub(crate) use threads::Threads;
