//! A thread block: its shared memory and its barriers.

use std::collections::BTreeMap;

use super::mbarrier::Mbarrier;
use crate::check::{Agent, Knowledge};

/// Named barriers of a block.
pub(super) const BARRIERS: usize = 16;

pub(super) struct Block {
    /// Its place in the grid.
    pub at: [u32; 3],
    pub shared: Vec<u8>,
    pub shadow: Vec<u32>,
    pub barriers: [Barrier; BARRIERS],
    /// By offset in shared memory.
    pub mbarriers: BTreeMap<u32, Mbarrier>,
    pub live_threads: u32,
    /// What its threads knew when they exited.
    pub last: Knowledge,
    /// Accesses of its peers to its shared memory: who, up to when, and at which rank and line.
    pub visits: BTreeMap<Agent, Visit>,
}

/// A peer's latest access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visit {
    pub time: u32,
    pub pc: u32,
}

/// A barrier of the block (PTX ISA, "bar, barrier").
#[derive(Default)]
pub(super) struct Barrier {
    /// Threads that have arrived in this phase, of how many.
    pub arrived: u32,
    pub expected: Option<u32>,
    /// Whether it expects all threads of the block that have not exited.
    pub of_all: bool,
    pub knowledge: Knowledge,
}

impl Block {
    pub fn new(at: [u32; 3], shared_bytes: u32, threads: u32) -> Self {
        Block {
            at,
            shared: vec![0xa5; shared_bytes as usize],
            shadow: vec![0; shared_bytes as usize],
            barriers: Default::default(),
            mbarriers: BTreeMap::new(),
            live_threads: threads,
            last: Knowledge::default(),
            visits: BTreeMap::new(),
        }
    }

    pub fn has_ended(&self) -> bool {
        self.live_threads == 0
    }
}
