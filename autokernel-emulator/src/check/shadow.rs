//! The shadow of memory: a number for each byte, which stands for the byte's history.
//!
//! Bytes that are touched together have the same history, and so the same number: a tile costs little more to check
//! than one byte of it.

use rustc_hash::FxHashMap;

use super::history::{Agent, Event, History, MAX_READS, Proxy};
use super::knowledge::{Knowledge, needs_fence};
use crate::fault::{Access, Actor, OtherAccess};

/// An access that is to be checked and remembered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Touch {
    pub event: Event,
    pub access: Access,
}

/// What is wrong with an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Violation {
    Uninitialised,
    Race { other: OtherAccess, remedy: &'static str },
}

/// What is ordered before an access.
#[derive(Clone, Copy)]
pub(crate) struct Order<'a> {
    /// What the acting thread has learnt.
    pub known: &'a Knowledge,
    /// The acting thread itself, whose own accesses are in order.
    pub own: Agent,
    /// Up to where its own accesses are fenced for the asynchronous proxy.
    pub own_fenced: u32,
    /// Its own asynchronous copies are done up to here.
    pub own_copies: (Agent, u32),
}

impl Order<'_> {
    pub fn before(&self, event: &Event, by: &Event) -> bool {
        if event.cluster != by.cluster {
            return false;
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
    histories: Vec<History>,
    numbers: FxHashMap<History, u32>,
    uninitialised: bool,
    races: bool,
    warps: u32,
    /// The latest step from one history to the next: neighbouring bytes mostly take the same.
    latest: Option<(u32, Event, Access, u32)>,
}

/// Numbers below this have a fixed meaning: never written, and written before the launch.
const FIRST_NUMBER: u32 = 2;
/// Histories that may collect before those of finished clusters are merged.
const MAX_HISTORIES: usize = 1 << 20;

impl Orders {
    pub fn new(uninitialised: bool, races: bool) -> Self {
        let histories = vec![History::default(); FIRST_NUMBER as usize];
        Orders { histories, numbers: FxHashMap::default(), uninitialised, races, warps: 0, latest: None }
    }

    /// The warps of the cluster that runs now: dimensions from here on are channels.
    pub fn set_warps(&mut self, warps: u32) {
        self.warps = warps;
    }

    /// Checks an access to the bytes of `shadow` and remembers it; gives the first byte that is wrong.
    pub fn touch(&mut self, shadow: &mut [u32], touch: &Touch, order: Order<'_>) -> Result<(), (usize, Violation)> {
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

    fn next(&mut self, number: u32, touch: &Touch, order: Order<'_>) -> Result<u32, Violation> {
        if let Some((before, event, access, next)) = self.latest
            && (before, event, access) == (number, touch.event, touch.access)
        {
            return Ok(next);
        }
        let next = self.checked(number, touch, order)?;
        self.latest = Some((number, touch.event, touch.access, next));
        Ok(next)
    }

    fn checked(&mut self, number: u32, touch: &Touch, order: Order<'_>) -> Result<u32, Violation> {
        if number == 0 && touch.access == Access::Read {
            return if self.uninitialised { Err(Violation::Uninitialised) } else { Ok(0) };
        }
        if !self.races {
            let written = touch.access == Access::Write || number > 0;
            return Ok(u32::from(written));
        }
        let Some(history) = self.histories.get(number as usize) else { return Ok(number) };
        let next = match touch.access {
            Access::Read => self.read(history, touch, order)?,
            Access::Write => self.write(history, touch, order)?,
        };
        Ok(next.map_or(number, |next| self.number(next)))
    }

    /// The history after a read; none if it does not change.
    fn read(&self, history: &History, touch: &Touch, order: Order<'_>) -> Result<Option<History>, Violation> {
        let event = &touch.event;
        if let Some(write) = &history.write {
            self.require(write, event, Access::Write, order)?;
        }
        let same =
            |read: &Event| read.agent == event.agent && read.cluster == event.cluster && read.proxy == event.proxy;
        if history.reads.iter().any(|read| same(read) && read.time >= event.time) {
            return Ok(None);
        }
        let mut reads: Vec<Event> =
            history.reads.iter().filter(|read| !same(read) && !order.before(read, event)).copied().collect();
        if reads.len() >= MAX_READS {
            return Ok(None);
        }
        reads.push(*event);
        Ok(Some(History { write: history.write, reads }))
    }

    fn write(&self, history: &History, touch: &Touch, order: Order<'_>) -> Result<Option<History>, Violation> {
        let event = &touch.event;
        if let Some(write) = &history.write {
            self.require(write, event, Access::Write, order)?;
        }
        for read in &history.reads {
            // A read needs no fence before an asynchronous write: it is complete when the thread goes on.
            let read_here = Event { proxy: Proxy::Async, ..*read };
            self.require(&read_here, event, Access::Read, order)?;
        }
        Ok(Some(History { write: Some(*event), reads: Vec::new() }))
    }

    fn require(&self, before: &Event, now: &Event, access: Access, order: Order<'_>) -> Result<(), Violation> {
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

    fn number(&mut self, history: History) -> u32 {
        let next = self.histories.len() as u32;
        let number = *self.numbers.entry(history.clone()).or_insert(next);
        if number == next {
            self.histories.push(history);
        }
        number
    }

    /// Whether so many histories have collected that [`Orders::merge`] is worth its time.
    pub fn are_many(&self) -> bool {
        self.histories.len() > MAX_HISTORIES
    }

    /// Between clusters: of those that have ended, only which cluster wrote or read a byte still matters.
    pub fn merge<'a>(&mut self, shadows: impl Iterator<Item = &'a mut [u32]>) {
        let old = std::mem::take(&mut self.histories);
        self.numbers.clear();
        self.latest = None;
        self.histories = vec![History::default(); FIRST_NUMBER as usize];
        let coarse =
            |event: &Event| Event { agent: Agent { dimension: 0, lane: 0 }, time: 1, line: event.line, ..*event };
        let mut merged = vec![None; old.len()];
        for number in shadows.flatten() {
            if *number < FIRST_NUMBER {
                continue;
            }
            let at = *number as usize;
            let known = merged.get(at).copied().flatten();
            let next = known.unwrap_or_else(|| {
                let Some(history) = old.get(at) else { return 1 };
                let reads = history.reads.last().map(coarse).into_iter().collect();
                self.number(History { write: history.write.as_ref().map(coarse), reads })
            });
            if let Some(slot) = merged.get_mut(at) {
                *slot = Some(next);
            }
            *number = next;
        }
    }
}
