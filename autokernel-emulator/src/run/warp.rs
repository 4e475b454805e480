//! A warp: registers, and where its lanes are.

use std::collections::VecDeque;

use crate::isa::lanes::{Lanes, WARP};

pub(super) struct Warp {
    /// Its block's number in the cluster.
    pub block: usize,
    /// Its number in the block.
    pub index: u32,
    pub registers: Vec<Lanes>,
    pub predicates: Vec<u32>,
    /// Local memory of all lanes, one after another, and which bytes were written.
    pub local: Vec<u8>,
    pub local_written: Vec<bool>,
    /// Lanes that have not exited.
    pub live: u32,
    pub fragments: Vec<Fragment>,
    pub copies: LaneCopies,
    pub wgmma: WgmmaQueue,
    /// Groups of bulk copies: of each lane that issues some.
    pub bulk: Vec<BulkGroups>,
    /// Lanes that have arrived at the cluster's barrier and not yet waited, and in which phase.
    pub cluster_arrived: u32,
    pub cluster_phase: [u64; WARP],
    /// Lanes that have waited for the grids before this one.
    pub waited: u32,
    /// Registers a thread that `setmaxnreg` has left it; 0 before the first.
    pub register_limit: u32,
}

/// Lanes that are at the same place.
#[derive(Clone, Debug)]
pub(super) struct Fragment {
    pub lanes: u32,
    pub pc: u32,
    pub wait: Option<Wait>,
}

/// What a fragment waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// The other lanes that must execute the instruction together with these.
    Converge {
        required: u32,
    },
    /// A barrier of the block, at which it has arrived.
    Barrier {
        id: usize,
    },
    ClusterBarrier,
    /// The end of the phase of that parity.
    Mbarrier {
        block: usize,
        offset: u32,
        parity: bool,
    },
    /// That a lane's bulk copies are done up to a group.
    Bulk {
        lane: usize,
        group: u32,
        reads_only: bool,
    },
}

/// `cp.async` of the lanes.
#[derive(Default)]
pub(super) struct LaneCopies {
    pub waiting: VecDeque<LaneCopy>,
    /// Groups that each lane has committed.
    pub committed: [u32; WARP],
}

/// One lane's copy: it becomes visible when its group is waited for, at the latest.
pub(super) struct LaneCopy {
    pub lane: usize,
    /// Counted from 1.
    pub group: u32,
    /// Where it goes in the block's shared memory.
    pub to: u32,
    pub from: u64,
    /// Bytes that are read; the others are zeros.
    pub read: u32,
    pub bytes: u32,
}

/// The warp's share of its warpgroup's wgmmas.
#[derive(Default)]
pub(super) struct WgmmaQueue {
    pub open: Vec<PendingWgmma>,
    pub committed: VecDeque<Vec<PendingWgmma>>,
    /// Groups that were committed ever.
    pub groups: u32,
    /// Wgmmas that were issued ever, and a digest of them: the warps of a warpgroup must issue the same.
    pub issued: u64,
    pub digest: u64,
    /// Registers that wgmmas in flight write, and that they read.
    pub writing: Vec<u32>,
    pub reading: Vec<u32>,
    /// When each register was last used by anything else, and when the last fence was; empty in kernels without wgmma.
    pub used: Vec<u64>,
    pub fenced: u64,
    pub now: u64,
}

pub(super) struct PendingWgmma {
    /// Number of the instruction.
    pub pc: u32,
    pub descriptors: [u64; 2],
    /// A's fragment, if it came from registers.
    pub a: Option<Box<[Lanes; 4]>>,
    pub accumulate: bool,
    /// Whether the result is there already: it may be touched only after the wait all the same.
    pub computed: bool,
}

impl WgmmaQueue {
    pub fn is_idle(&self) -> bool {
        self.open.is_empty() && self.committed.is_empty()
    }
}

/// The groups of bulk copies of one lane.
pub(super) struct BulkGroups {
    pub lane: usize,
    /// Channels of the order of accesses: for reads of the source, and for whole copies.
    pub read_channel: u32,
    pub write_channel: u32,
    /// The number of the group that is open, counted from 1.
    pub open: u32,
}

impl Warp {
    pub fn new(
        block: usize,
        index: u32,
        live: u32,
        registers: Vec<Lanes>,
        predicates: u32,
        local_bytes: u32,
        uses_wgmma: bool,
    ) -> Self {
        let local = local_bytes as usize * WARP;
        let used = if uses_wgmma { vec![0; registers.len()] } else { Vec::new() };
        Warp {
            block,
            index,
            registers,
            predicates: vec![0; predicates as usize],
            local: vec![0xa5; local],
            local_written: vec![false; local],
            live,
            fragments: vec![Fragment { lanes: live, pc: 0, wait: None }],
            copies: LaneCopies::default(),
            wgmma: WgmmaQueue { used, ..WgmmaQueue::default() },
            bulk: Vec::new(),
            cluster_arrived: 0,
            cluster_phase: [0; WARP],
            waited: 0,
            register_limit: 0,
        }
    }

    /// Joins fragments that have come to the same place, and gives the number of the one to run: of those that can,
    /// the one that is furthest back, so that lanes meet again where their paths join.
    pub fn next_fragment(&mut self, ready: impl Fn(&Fragment) -> bool) -> Option<usize> {
        if let [only] = self.fragments.as_slice() {
            return ready(only).then_some(0);
        }
        self.merge();
        let runnable = self.fragments.iter().enumerate().filter(|(_, fragment)| ready(fragment));
        runnable.min_by_key(|(_, fragment)| fragment.pc).map(|(at, _)| at)
    }

    fn merge(&mut self) {
        let mut at = 0;
        while at < self.fragments.len() {
            let mut other = at + 1;
            while other < self.fragments.len() {
                if let Some(lanes) = self.joins(at, other) {
                    self.fragments.swap_remove(other);
                    if let Some(fragment) = self.fragments.get_mut(at) {
                        (fragment.lanes, fragment.wait) = (fragment.lanes | lanes, None);
                    }
                    // It may now join one that was passed over.
                    other = at + 1;
                } else {
                    other += 1;
                }
            }
            at += 1;
        }
    }

    /// The lanes that `other` would bring to `at`, if both are at one place and free to go on together.
    fn joins(&self, at: usize, other: usize) -> Option<u32> {
        let (left, right) = (self.fragments.get(at)?, self.fragments.get(other)?);
        let free = |fragment: &Fragment| matches!(fragment.wait, None | Some(Wait::Converge { .. }));
        (left.pc == right.pc && free(left) && free(right)).then_some(right.lanes)
    }

    /// The lanes are gone for good. What waits for them to converge looks again.
    pub fn exit(&mut self, lanes: u32) {
        self.live &= !lanes;
        for fragment in &mut self.fragments {
            fragment.lanes &= !lanes;
            if matches!(fragment.wait, Some(Wait::Converge { .. })) {
                fragment.wait = None;
            }
        }
        self.fragments.retain(|fragment| fragment.lanes != 0);
    }
}
