//! What is known to threads, and what passes from one to another.

use super::clock::Clock;
use super::history::{Agent, Event, Proxy};

/// What happened before, and what of it the asynchronous proxy sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Knowledge {
    pub(super) seen: Clock,
    pub(super) fenced: Clock,
}

impl Knowledge {
    /// Everything that `other` knows.
    pub fn join(&mut self, other: &Knowledge) {
        self.seen.join(&other.seen);
        self.fenced.join(&other.fenced);
    }

    /// The operations of a channel are done up to `time`: what they wrote is visible to both proxies.
    pub fn learn_channel(&mut self, dimension: u32, time: u32) {
        self.seen.learn_dimension(dimension, time);
        self.fenced.learn_dimension(dimension, time);
    }

    /// Whether `event` happened before an access by `proxy`.
    pub(super) fn orders(&self, event: &Event, proxy: Proxy) -> bool {
        let clock = if needs_fence(event, proxy) { &self.fenced } else { &self.seen };
        clock.reaches(event.agent, event.time)
    }

    /// Whether the agent is known up to `time`.
    pub fn has_seen(&self, agent: Agent, time: u32) -> bool {
        self.seen.reaches(agent, time)
    }

    pub(super) fn learn_lane(&mut self, agent: Agent, seen: u32, fenced: u32) {
        self.seen.learn(agent, seen);
        self.fenced.learn(agent, fenced);
    }
}

/// Whether what the generic proxy did must be fenced for the asynchronous one to see it.
pub(super) fn needs_fence(event: &Event, proxy: Proxy) -> bool {
    event.proxy == Proxy::Generic && proxy == Proxy::Async
}
