//! What is known to threads, and what passes from one to another.

use std::collections::BTreeMap;

use super::clock::Clock;
use super::history::{Agent, Event, Proxy};

/// What happened before, and what of it the asynchronous proxy sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Knowledge {
    pub(super) seen: Clock,
    pub(super) fenced: Clock,
    /// The same of other clusters, by their numbers.
    elsewhere: BTreeMap<u32, Past>,
}

/// What happened before in a cluster that has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Past {
    seen: Clock,
    fenced: Clock,
}

impl Knowledge {
    /// Everything that `other` knows.
    pub fn join(&mut self, other: &Knowledge) {
        self.seen.join(&other.seen);
        self.fenced.join(&other.fenced);
        for (cluster, theirs) in &other.elsewhere {
            let past = self.elsewhere.entry(*cluster).or_default();
            past.seen.join(&theirs.seen);
            past.fenced.join(&theirs.fenced);
        }
    }

    /// The same as a thread of another cluster knows it.
    pub fn passed_on_by(mut self, cluster: u32) -> Knowledge {
        let (seen, fenced) = (std::mem::take(&mut self.seen), std::mem::take(&mut self.fenced));
        self.elsewhere.insert(cluster, Past { seen, fenced });
        self
    }

    /// What is known, the asynchronous proxy sees too.
    pub(super) fn fence(&mut self) {
        self.fenced.join(&self.seen);
        self.elsewhere.values_mut().for_each(|past| past.fenced.join(&past.seen));
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

    /// The same of an event in another cluster.
    pub(super) fn orders_from_elsewhere(&self, event: &Event, proxy: Proxy) -> bool {
        self.elsewhere.get(&event.cluster).is_some_and(|past| {
            let clock = if needs_fence(event, proxy) { &past.fenced } else { &past.seen };
            clock.reaches(event.agent, event.time)
        })
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
