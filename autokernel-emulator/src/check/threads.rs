//! What each thread of a cluster knows of the others.

use super::history::{Agent, Event, Proxy};
use super::knowledge::Knowledge;
use super::shadow::Ordered;
use crate::isa::lanes::{WARP, lanes_of};

/// A full warp.
const ALL: u32 = u32::MAX;

/// One warp.
#[derive(Clone, Debug)]
struct Warp {
    /// What every lane knows.
    common: Knowledge,
    /// What a lane knows that has learnt alone.
    alone: [Option<Box<Knowledge>>; WARP],
    /// Counts up whenever a lane passes something on, so that what it does later is told apart.
    time: u32,
    /// Up to where each lane's own accesses are fenced for the asynchronous proxy.
    fenced: [u32; WARP],
    /// How many groups of its own `cp.async` each lane has waited for.
    copied: [u32; WARP],
}

/// The threads of one cluster.
///
/// Dimensions of clocks: a warp's lanes, then its lanes' `cp.async`, then its wgmmas, then channels as they are made.
#[derive(Debug)]
pub(crate) struct Threads {
    warps: Vec<Warp>,
    channels: u32,
    cluster: u32,
}

impl Threads {
    pub fn new(warps: usize, cluster: u32) -> Self {
        let warp = Warp {
            common: Knowledge::default(),
            alone: [const { None }; WARP],
            time: 1,
            fenced: [0; WARP],
            copied: [0; WARP],
        };
        Threads { warps: vec![warp; warps], channels: 3 * warps as u32, cluster }
    }

    /// The number of the cluster.
    pub fn cluster(&self) -> u32 {
        self.cluster
    }

    /// A dimension for one more kind of asynchronous operation.
    pub fn new_channel(&mut self) -> u32 {
        self.channels += 1;
        self.channels - 1
    }

    fn copy_dimension(&self, warp: usize) -> u32 {
        (self.warps.len() + warp) as u32
    }

    /// The channel of a warp's wgmmas.
    pub fn wgmma_dimension(&self, warp: usize) -> u32 {
        (2 * self.warps.len() + warp) as u32
    }

    /// An access that a lane makes itself.
    pub fn event(&self, warp: usize, lane: usize, strong: bool, line: u32) -> Event {
        let agent = Agent { dimension: warp as u32, lane: lane as u32 };
        let time = self.warps.get(warp).map_or(0, |warp| warp.time);
        Event { agent, time, proxy: Proxy::Generic, strong, cluster: self.cluster, line }
    }

    /// A write by a lane's `cp.async`, of its group number `group`, counted from 1.
    pub fn copy_event(&self, warp: usize, lane: usize, group: u32, line: u32) -> Event {
        let agent = Agent { dimension: self.copy_dimension(warp), lane: lane as u32 };
        Event { agent, time: group, proxy: Proxy::Generic, strong: false, cluster: self.cluster, line }
    }

    /// An access by the asynchronous proxy, known to who has learnt of `channel` up to `time`.
    pub fn channel_event(&self, channel: u32, time: u32, line: u32) -> Event {
        let agent = Agent { dimension: channel, lane: 0 };
        Event { agent, time, proxy: Proxy::Async, strong: false, cluster: self.cluster, line }
    }

    /// What is ordered before an access that `lane` makes or asks for.
    pub fn order(&self, warp: usize, lane: usize) -> Ordered<'_> {
        let this = &self.warps[warp];
        Ordered {
            known: this.alone[lane].as_deref().unwrap_or(&this.common),
            own: Agent { dimension: warp as u32, lane: lane as u32 },
            own_fenced: this.fenced[lane],
            own_copies: (Agent { dimension: self.copy_dimension(warp), lane: lane as u32 }, this.copied[lane]),
        }
    }

    /// What is ordered before an access that a warp makes as one: what all its lanes know.
    pub fn order_of_warp(&self, warp: usize) -> Ordered<'_> {
        // No lane has this number, so that no lane's own accesses are in order by themselves.
        let nobody = Agent { dimension: warp as u32, lane: WARP as u32 };
        let known = &self.warps[warp].common;
        Ordered { known, own: nobody, own_fenced: 0, own_copies: (nobody, 0) }
    }

    /// Whether a lane knows of an event, or the asynchronous copies that it asks for do.
    pub fn knows(&self, warp: usize, lane: usize, event: &Event, by: Proxy) -> bool {
        let now = Event { proxy: by, ..self.event(warp, lane, false, 0) };
        self.order(warp, lane).before(event, &now)
    }

    /// Adds what the lanes know, and did themselves, to `to`. What they do from now on is not part of it.
    pub fn publish(&mut self, warp: usize, lanes: u32, to: &mut Knowledge) {
        let copies = self.copy_dimension(warp);
        let this = &mut self.warps[warp];
        if lanes_of(lanes).any(|lane| this.alone[lane].is_none()) {
            to.join(&this.common);
        }
        for lane in lanes_of(lanes) {
            if let Some(alone) = &this.alone[lane] {
                to.join(alone);
            }
        }
        if lanes == ALL {
            let least = |values: &[u32; WARP]| values.iter().copied().min().unwrap_or(0);
            to.seen.learn_dimension(warp as u32, this.time);
            to.fenced.learn_dimension(warp as u32, least(&this.fenced));
            to.seen.learn_dimension(copies, least(&this.copied));
        }
        for lane in lanes_of(lanes) {
            let agent = |dimension| Agent { dimension, lane: lane as u32 };
            to.learn_lane(agent(warp as u32), this.time, this.fenced[lane]);
            to.learn_lane(agent(copies), this.copied[lane], 0);
        }
        this.time += 1;
    }

    /// The lanes learn what others published.
    pub fn acquire(&mut self, warp: usize, lanes: u32, from: &Knowledge) {
        self.teach(warp, lanes, |known| known.join(from));
    }

    /// The lanes learn that the operations of a channel are done up to `time`.
    pub fn learn_channel(&mut self, warp: usize, lanes: u32, channel: u32, time: u32) {
        self.teach(warp, lanes, |known| known.learn_channel(channel, time));
    }

    fn teach(&mut self, warp: usize, lanes: u32, lesson: impl Fn(&mut Knowledge)) {
        let this = &mut self.warps[warp];
        if lanes == ALL {
            lesson(&mut this.common);
            this.alone.iter_mut().flatten().for_each(|alone| lesson(alone));
            return;
        }
        for lane in lanes_of(lanes) {
            let common = &this.common;
            lesson(this.alone[lane].get_or_insert_with(|| Box::new(common.clone())));
        }
    }

    /// The lanes know all that any of them knows: `bar.warp.sync`.
    pub fn synchronise(&mut self, warp: usize, lanes: u32) {
        let mut all = Knowledge::default();
        self.publish(warp, lanes, &mut all);
        self.replace(warp, lanes, &all);
    }

    /// The lanes know exactly what `all` says, which holds what each of them knew.
    pub fn replace(&mut self, warp: usize, lanes: u32, all: &Knowledge) {
        let this = &mut self.warps[warp];
        if lanes == ALL {
            this.common = all.clone();
            this.alone = [const { None }; WARP];
        } else {
            for lane in lanes_of(lanes) {
                this.alone[lane] = Some(Box::new(all.clone()));
            }
        }
    }

    /// What the lanes know and did so far, the asynchronous proxy sees too: `fence.proxy.async`.
    pub fn fence_async(&mut self, warp: usize, lanes: u32) {
        self.teach(warp, lanes, Knowledge::fence);
        let copies = self.copy_dimension(warp);
        let copied = self.warps[warp].copied;
        for lane in lanes_of(lanes) {
            let this = &mut self.warps[warp];
            this.fenced[lane] = this.time;
            if copied[lane] > 0 {
                let agent = Agent { dimension: copies, lane: lane as u32 };
                self.teach(warp, 1 << lane, |known| known.learn_lane(agent, copied[lane], copied[lane]));
            }
        }
        self.warps[warp].time += 1;
    }

    /// A lane has waited for its own `cp.async` up to group `group`.
    pub fn copies_done(&mut self, warp: usize, lane: usize, group: u32) {
        let copied = &mut self.warps[warp].copied[lane];
        *copied = (*copied).max(group);
    }
}
