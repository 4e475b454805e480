//! The shadow of memory: a number for each byte, which stands for the byte's history.
//!
//! Bytes that are touched together have the same history, and so the same number: a tile costs little more to check
//! than one byte of it.

use super::histories::Histories;
use super::history::{Agent, Event, History, MAX_READS, Proxy};
use super::knowledge::{Knowledge, needs_fence};
use crate::fault::{Access, Actor, OtherAccess};

/// An access that is to be checked and remembered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    pub event: Event,
    pub access: Access,
    /// Whether another copy of the same channel leaves the same bytes there: it does not matter which is last.
    pub again: bool,
}

/// What is wrong with an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Violation {
    Uninitialised,
    Race { other: OtherAccess, remedy: &'static str },
}

/// What is ordered before an access.
#[derive(Clone, Copy)]
pub(crate) struct Ordered<'a> {
    /// What the acting thread has learnt.
    pub known: &'a Knowledge,
    /// The acting thread itself, whose own accesses are in order.
    pub own: Agent,
    /// Up to where its own accesses are fenced for the asynchronous proxy.
    pub own_fenced: u32,
    /// Its own asynchronous copies are done up to here.
    pub own_copies: (Agent, u32),
}

impl Ordered<'_> {
    pub fn before(&self, event: &Event, by: &Event) -> bool {
        if event.cluster != by.cluster {
            return self.known.orders_from_elsewhere(event, by.proxy);
        }
        if event.agent == self.own && (!needs_fence(event, by.proxy) || event.time <= self.own_fenced) {
            return true;
        }
        let (copies, done) = self.own_copies;
        if event.agent == copies && event.time <= done {
            return true;
        }
        self.known.orders(event, by.proxy)
    }
}

/// Histories by number, and the checks that lead from one to the next.
#[derive(Debug)]
pub(crate) struct Orders {
    histories: Histories,
    uninitialised: bool,
    races: bool,
    warps: u32,
    /// How many there may be before those that no byte has are forgotten.
    limit: usize,
    /// The latest step from one history to the next: neighbouring bytes mostly take the same.
    latest: Option<Step>,
}

/// A step from one history to the next. Who asks for the access counts: another may know less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    number: u32,
    event: Event,
    access: Access,
    again: bool,
    by: Agent,
    next: u32,
}

/// Numbers below this have a fixed meaning: never written, and written before the launch.
const FIRST_NUMBER: u32 = 2;
/// Histories that may always collect.
const MAX_HISTORIES: usize = 1 << 20;

impl Orders {
    pub fn new(uninitialised: bool, races: bool) -> Self {
        let histories = Histories::new(FIRST_NUMBER);
        Orders { histories, uninitialised, races, warps: 0, limit: MAX_HISTORIES, latest: None }
    }

    /// The warps of the cluster that runs now: dimensions from here on are channels.
    pub fn set_warps(&mut self, warps: u32) {
        self.warps = warps;
    }

    /// Checks an access to the bytes of `shadow` and remembers it; gives the first byte that is wrong.
    pub fn touch(&mut self, shadow: &mut [u32], touch: &Touch, order: Ordered<'_>) -> Result<(), (usize, Violation)> {
        let mut last = None;
        for (at, number) in shadow.iter_mut().enumerate() {
            let next = match last {
                Some((before, next)) if before == *number => next,
                _ => {
                    let next = self.next(*number, touch, order).map_err(|violation| (at, violation))?;
                    last = Some((*number, next));
                    next
                }
            };
            *number = next;
        }
        Ok(())
    }

    fn next(&mut self, number: u32, touch: &Touch, order: Ordered<'_>) -> Result<u32, Violation> {
        let Touch { event, access, again } = *touch;
        let step = |next| Step { number, event, access, again, by: order.own, next };
        if let Some(latest) = self.latest
            && latest == step(latest.next)
        {
            return Ok(latest.next);
        }
        let next = self.checked(number, touch, order)?;
        self.latest = Some(step(next));
        Ok(next)
    }

    fn checked(&mut self, number: u32, touch: &Touch, order: Ordered<'_>) -> Result<u32, Violation> {
        if number == 0 && touch.access == Access::Read {
            return if self.uninitialised { Err(Violation::Uninitialised) } else { Ok(0) };
        }
        if !self.races {
            let written = touch.access == Access::Write || number > 0;
            return Ok(u32::from(written));
        }
        match touch.access {
            Access::Read => self.read(number, touch, order),
            Access::Write => self.write(number, touch, order),
        }
    }

    /// The history after a read.
    fn read(&mut self, number: u32, touch: &Touch, order: Ordered<'_>) -> Result<u32, Violation> {
        let event = &touch.event;
        let Some(History { write, reads }) = self.histories.get(number) else { return Ok(number) };
        if let Some(write) = write {
            self.require(write, event, Access::Write, order)?;
        }
        let same =
            |read: &Event| read.agent == event.agent && read.cluster == event.cluster && read.proxy == event.proxy;
        if reads.iter().any(|read| same(read) && read.time >= event.time) {
            return Ok(number);
        }
        let keep = |read: &Event| !same(read) && !order.before(read, event);
        if reads.len() >= MAX_READS && reads.iter().filter(|read| keep(read)).count() >= MAX_READS {
            return Ok(number);
        }
        Ok(self.histories.read(number, keep, *event))
    }

    fn write(&mut self, number: u32, touch: &Touch, order: Ordered<'_>) -> Result<u32, Violation> {
        let event = &touch.event;
        let Some(History { write, reads }) = self.histories.get(number) else { return Ok(number) };
        let is_of_channel = |write: &Event| write.agent == event.agent && write.cluster == event.cluster;
        if let Some(write) = write.filter(|write| !touch.again || !is_of_channel(write)) {
            self.require(write, event, Access::Write, order)?;
        }
        for read in reads {
            // A read needs no fence before an asynchronous write: it is complete when the thread goes on.
            let read_here = Event { proxy: Proxy::Async, ..*read };
            self.require(&read_here, event, Access::Read, order)?;
        }
        Ok(self.histories.written(*event))
    }

    fn require(&self, before: &Event, now: &Event, access: Access, order: Ordered<'_>) -> Result<(), Violation> {
        if before.strong && now.strong || order.before(before, now) {
            return Ok(());
        }
        let agent = before.agent;
        let by = if before.cluster != now.cluster {
            Actor::OtherCluster
        } else if agent.dimension < self.warps {
            Actor::Thread { warp: agent.dimension, lane: agent.lane }
        } else {
            Actor::Asynchronous
        };
        let other = OtherAccess { access, line: before.line, by };
        let seen = Event { proxy: Proxy::Async, ..*before };
        let remedy = if needs_fence(before, now.proxy) && order.before(&seen, now) {
            "a `fence.proxy.async` is missing between them"
        } else {
            "nothing orders one before the other"
        };
        Err(Violation::Race { other, remedy })
    }

    /// Whether so many histories have collected that it is worth the time to find those that still count.
    pub fn are_many(&self) -> bool {
        self.histories.len() > self.limit
    }

    /// Between clusters: of those that have ended, only which cluster wrote or read a byte still matters.
    pub fn merge<'a>(&mut self, shadows: impl Iterator<Item = &'a mut [u32]>) {
        let coarse = |event: &Event| Event { agent: Agent { dimension: 0, lane: 0 }, time: 1, ..*event };
        self.rebuild(shadows, |to, history| {
            to.copy(history.write.map(coarse), history.reads.last().map(coarse).into_iter())
        });
    }

    /// While a cluster runs: forgets the histories that no byte has any more.
    pub fn collect<'a>(&mut self, shadows: impl Iterator<Item = &'a mut [u32]>) {
        self.rebuild(shadows, |to, history| to.copy(history.write.copied(), history.reads.iter().copied()));
    }

    /// Numbers anew what the shadows, all there are, still name.
    fn rebuild<'a>(
        &mut self,
        shadows: impl Iterator<Item = &'a mut [u32]>,
        keep: impl Fn(&mut Histories, History<'_>) -> u32,
    ) {
        let old = std::mem::replace(&mut self.histories, Histories::new(FIRST_NUMBER));
        self.latest = None;
        let mut renumbered = vec![None; old.len()];
        for number in shadows.flatten().filter(|number| **number >= FIRST_NUMBER) {
            let at = *number as usize;
            let (Some(history), Some(next)) = (old.get(*number), renumbered.get_mut(at)) else { continue };
            *number = *next.get_or_insert_with(|| keep(&mut self.histories, history));
        }
        self.limit = MAX_HISTORIES.max(2 * self.histories.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::threads::Threads;

    const WRITTEN_BEFORE: u32 = 1;

    /// Two warps and four bytes that were written before the launch.
    struct World {
        orders: Orders,
        threads: Threads,
        bytes: [u32; 4],
    }

    impl World {
        fn new() -> World {
            let mut orders = Orders::new(true, true);
            orders.set_warps(2);
            World { orders, threads: Threads::new(2, 0), bytes: [WRITTEN_BEFORE; 4] }
        }

        fn touch(&mut self, warp: usize, lane: usize, access: Access) -> Result<(), (usize, Violation)> {
            let event = self.threads.event(warp, lane, false, 7);
            self.orders.touch(&mut self.bytes, &Touch { event, access, again: false }, self.threads.order(warp, lane))
        }

        fn pass(&mut self, from: (usize, u32), to: (usize, u32)) {
            let mut knowledge = Knowledge::default();
            self.threads.publish(from.0, from.1, &mut knowledge);
            self.threads.acquire(to.0, to.1, &knowledge);
        }
    }

    #[test]
    fn a_thread_does_not_race_with_itself() {
        let mut world = World::new();
        for access in [Access::Write, Access::Read, Access::Write] {
            world.touch(0, 3, access).unwrap();
        }
    }

    #[test]
    fn what_passes_from_a_lane_orders_that_lane_alone() {
        let mut world = World::new();
        world.touch(0, 3, Access::Write).unwrap();
        world.pass((0, 1 << 4), (1, u32::MAX));
        assert!(world.touch(1, 0, Access::Read).is_err());
        let mut world = World::new();
        world.touch(0, 3, Access::Write).unwrap();
        world.pass((0, 1 << 3), (1, 1 << 9));
        world.touch(1, 9, Access::Read).unwrap();
        assert!(world.touch(1, 8, Access::Read).is_err(), "lane 8 has learnt nothing");
    }

    #[test]
    fn what_happens_after_a_release_is_not_part_of_it() {
        let mut world = World::new();
        world.pass((0, u32::MAX), (1, u32::MAX));
        world.touch(0, 0, Access::Write).unwrap();
        assert!(world.touch(1, 0, Access::Read).is_err());
    }

    #[test]
    fn every_reader_must_be_known_to_a_later_writer() {
        let mut world = World::new();
        world.touch(0, 0, Access::Read).unwrap();
        world.touch(0, 1, Access::Read).unwrap();
        world.pass((0, 1), (1, 1));
        assert!(world.touch(1, 0, Access::Write).is_err(), "lane 1 has read too");
        world.pass((0, 2), (1, 1));
        world.touch(1, 0, Access::Write).unwrap();
    }

    #[test]
    fn the_asynchronous_proxy_sees_what_was_fenced() {
        let mut world = World::new();
        let read = |world: &mut World| {
            let event = world.threads.channel_event(50, 1, 9);
            let touch = Touch { event, access: Access::Read, again: false };
            world.orders.touch(&mut world.bytes, &touch, world.threads.order(0, 3))
        };
        world.touch(0, 3, Access::Write).unwrap();
        let Err((_, Violation::Race { remedy, .. })) = read(&mut world) else { panic!("no race") };
        assert!(remedy.contains("fence.proxy.async"), "{remedy}");
        world.threads.fence_async(0, 1 << 3);
        read(&mut world).unwrap();
    }

    #[test]
    fn what_a_cluster_passed_on_orders_what_a_later_one_does() {
        let mut world = World::new();
        world.touch(0, 3, Access::Write).unwrap();
        let mut passed = Knowledge::default();
        world.threads.publish(0, 1 << 3, &mut passed);
        let passed = passed.passed_on_by(0);
        world.touch(0, 3, Access::Read).unwrap();
        world.threads = Threads::new(2, 1);
        assert!(world.touch(1, 9, Access::Read).is_err(), "nobody has learnt of it");
        world.threads.acquire(1, 1 << 9, &passed);
        world.touch(1, 9, Access::Read).unwrap();
        assert!(world.touch(1, 8, Access::Read).is_err(), "lane 8 has learnt nothing");
        assert!(world.touch(1, 9, Access::Write).is_err(), "the read was after the release");
    }

    #[test]
    fn the_asynchronous_proxy_sees_of_another_cluster_what_is_fenced_here() {
        let mut world = World::new();
        world.touch(0, 3, Access::Write).unwrap();
        let mut passed = Knowledge::default();
        world.threads.publish(0, 1 << 3, &mut passed);
        world.threads = Threads::new(2, 1);
        world.threads.acquire(0, u32::MAX, &passed.passed_on_by(0));
        let read = |world: &mut World| {
            let event = world.threads.channel_event(50, 1, 9);
            let touch = Touch { event, access: Access::Read, again: false };
            world.orders.touch(&mut world.bytes, &touch, world.threads.order(0, 3))
        };
        assert!(read(&mut world).is_err());
        world.threads.fence_async(0, u32::MAX);
        read(&mut world).unwrap();
    }

    #[test]
    fn copies_of_one_channel_race_unless_they_leave_the_same_bytes() {
        let mut world = World::new();
        let mut write = |channel, time, again| {
            let touch = Touch { event: world.threads.channel_event(channel, time, 9), access: Access::Write, again };
            world.orders.touch(&mut world.bytes, &touch, world.threads.order(0, 3))
        };
        write(50, 1, false).unwrap();
        write(50, 2, true).unwrap();
        assert!(write(50, 3, false).is_err(), "other bytes");
        assert!(write(51, 1, true).is_err(), "another lane's");
    }

    #[test]
    fn merging_keeps_what_other_clusters_did() {
        let mut world = World::new();
        world.touch(0, 0, Access::Write).unwrap();
        world.orders.merge(std::iter::once(&mut world.bytes[..]));
        world.threads = Threads::new(2, 1);
        let Err((0, Violation::Race { other, .. })) = world.touch(0, 0, Access::Write) else { panic!("no race") };
        assert_eq!(other.by, Actor::OtherCluster);
    }

    #[test]
    fn collecting_changes_no_verdict_and_forgets_what_no_byte_has() {
        let mut world = World::new();
        for time in 0..100 {
            world.touch(0, 0, Access::Write).unwrap();
            world.pass((0, 1), (1, 1));
            assert!(world.orders.histories.len() > time);
        }
        world.touch(0, 0, Access::Write).unwrap();
        world.orders.collect(std::iter::once(&mut world.bytes[..]));
        assert_eq!(world.orders.histories.len(), 1 + FIRST_NUMBER as usize);
        assert!(world.touch(1, 0, Access::Read).is_err());
        world.pass((0, 1), (1, 1));
        world.touch(1, 0, Access::Read).unwrap();
    }
}
