//! Who runs next, and when asynchronous operations finish.
//!
//! A warp runs until it waits or its slice ends. Copies finish when nothing else can go on, which is as late as they
//! may; with a seed other than 0, some finish earlier, in any order.

use rand::RngExt;

use super::cluster::Cluster;
use super::exec::Flow;
use super::stop::Stop;
use super::warp::{Fragment, Wait, Warp};
use crate::fault::{Fault, FaultKind};
use crate::isa::lanes::lanes_of;

/// Instructions after which another warp has its turn.
const SLICE: u32 = 512;
/// With a seed: one chance in so many, after each slice, that a copy finishes early.
const EARLY: u32 = 8;
/// Slices for each warp after which a copy finishes although a warp could go on: it may be polling for the copy.
const PATIENCE: usize = 4;

impl Cluster<'_, '_> {
    /// Runs every warp to its end.
    pub fn run(&mut self) -> Result<(), Box<Fault>> {
        let random = self.context.options.seed != 0;
        let (mut turn, mut slices) = (0, 0);
        loop {
            let count = self.warps.len();
            if self.warps.iter().all(|warp| warp.fragments.is_empty()) {
                return self.end();
            }
            turn = if random { self.rng.random_range(0..count) } else { turn };
            let ready = (0..count).map(|step| (turn + step) % count).find(|&warp| self.ready_fragment(warp).is_some());
            match ready {
                Some(warp) => {
                    let slice = if random { self.rng.random_range(1..SLICE) } else { SLICE };
                    self.run_slice(warp, slice)?;
                    self.forget_histories();
                    turn = (warp + 1) % count;
                    slices += 1;
                    let early = random && self.rng.random_range(0..EARLY) == 0;
                    if !self.copies.is_empty() && (early || slices > PATIENCE * count) {
                        self.finish_a_copy()?;
                        slices = 0;
                    }
                }
                None if self.copies.is_empty() => return Err(self.deadlock()),
                None => {
                    self.finish_a_copy()?;
                    slices = 0;
                }
            }
        }
    }

    fn forget_histories(&mut self) {
        if self.orders.are_many() {
            let global = self.memory.allocations_mut().map(|allocation| allocation.shadow.as_mut_slice());
            let shared = self.blocks.iter_mut().map(|block| block.shadow.as_mut_slice());
            self.orders.collect(global.chain(shared));
        }
    }

    /// Finishes the copies that nothing waits for, as the end of a kernel does.
    fn end(&mut self) -> Result<(), Box<Fault>> {
        while !self.copies.is_empty() {
            self.finish_a_copy()?;
        }
        Ok(())
    }

    fn finish_a_copy(&mut self) -> Result<(), Box<Fault>> {
        let at = self.rng.random_range(0..self.copies.len());
        let copy = self.copies.swap_remove(at);
        let (warp, pc) = (copy.warp, copy.pc);
        self.finish(copy).map_err(|stop| self.locate(warp, pc, stop))
    }

    fn ready_fragment(&mut self, warp: usize) -> Option<usize> {
        let Cluster { warps, blocks, copies, barrier, .. } = self;
        let this = warps.get_mut(warp)?;
        let (arrived, phases) = (this.cluster_arrived, this.cluster_phase);
        let ready = |fragment: &Fragment| match fragment.wait {
            None => true,
            Some(Wait::Converge { .. } | Wait::Barrier { .. }) => false,
            Some(Wait::ClusterBarrier) => lanes_of(fragment.lanes & arrived).all(|lane| phases[lane] < barrier.phase),
            Some(Wait::Mbarrier { block, offset, parity }) => blocks
                .get(block)
                .and_then(|block| block.mbarriers.get(&offset))
                .is_none_or(|mbarrier| mbarrier.has_passed(parity)),
            Some(Wait::Bulk { lane, group, reads_only }) => {
                copies.iter().all(|copy| !copy.holds_up(warp, lane, group, reads_only))
            }
        };
        this.next_fragment(ready)
    }

    fn run_slice(&mut self, warp: usize, slice: u32) -> Result<(), Box<Fault>> {
        for _ in 0..slice {
            let Some(at) = self.ready_fragment(warp) else { return Ok(()) };
            let Some(pc) = self.warps.get(warp).and_then(|warp| warp.fragments.get(at)).map(|f| f.pc) else {
                return Ok(());
            };
            if !self.tally.count(pc as usize) {
                let budget = self.tally.budget;
                return Err(self.locate(warp, pc, Stop { lane: 0, kind: Box::new(FaultKind::Budget(budget)) }));
            }
            let lanes = self.warps[warp].fragments[at].lanes;
            let flow = self.step(warp, lanes, pc).map_err(|stop| self.locate(warp, pc, stop))?;
            self.follow(warp, at, flow).map_err(|stop| self.locate(warp, pc, stop))?;
        }
        Ok(())
    }

    /// Where a fragment goes after an instruction.
    fn follow(&mut self, warp: usize, at: usize, flow: Flow) -> Result<(), Stop> {
        let Some(fragment) = self.warps[warp].fragments.get_mut(at) else { return Ok(()) };
        fragment.wait = None;
        match flow {
            Flow::Next => fragment.pc += 1,
            Flow::Jump { target, taken } => {
                let left = fragment.lanes & !taken;
                if left == 0 {
                    fragment.pc = target;
                } else {
                    let (lanes, pc) = (left, fragment.pc + 1);
                    (fragment.lanes, fragment.pc) = (taken, target);
                    self.warps[warp].fragments.push(Fragment { lanes, pc, wait: None });
                }
            }
            Flow::Exit { lanes } => {
                fragment.pc += 1;
                self.exit(warp, lanes)?;
            }
            Flow::Retry(wait) => fragment.wait = Some(wait),
            Flow::Wait(wait) => {
                fragment.pc += 1;
                fragment.wait = Some(wait);
            }
        }
        Ok(())
    }

    fn deadlock(&self) -> Box<Fault> {
        let mut waits = Vec::new();
        let mut first = None;
        for (number, warp) in self.warps.iter().enumerate() {
            for fragment in &warp.fragments {
                first = first.or(Some((number, fragment.clone())));
                if let Some(Wait::Converge { required }) = fragment.wait {
                    return self.divergence(number, fragment, required);
                }
                waits.push(self.describe_wait(warp, fragment));
            }
        }
        let (warp, fragment) = first.unwrap_or((0, Fragment { lanes: 1, pc: 0, wait: None }));
        const SHOWN: usize = 24;
        if waits.len() > SHOWN {
            let more = waits.len() - SHOWN;
            waits.truncate(SHOWN);
            waits.push(format!("and {more} more"));
        }
        let pc = waiting_at(&fragment);
        let lane = fragment.lanes.trailing_zeros() as usize;
        self.locate(warp, pc, Stop { lane, kind: Box::new(FaultKind::Deadlock { waits }) })
    }

    fn divergence(&self, warp: usize, fragment: &Fragment, required: u32) -> Box<Fault> {
        let missing = required & !fragment.lanes;
        let others = self.warps.get(warp).map_or(&[][..], |warp| &warp.fragments);
        let other = others.iter().find(|other| other.lanes & missing != 0);
        let elsewhere = other.map_or(0, |other| self.line(waiting_at(other)));
        let kind = FaultKind::Divergent { arrived: fragment.lanes, required, elsewhere };
        let lane = fragment.lanes.trailing_zeros() as usize;
        self.locate(warp, fragment.pc, Stop { lane, kind: Box::new(kind) })
    }

    fn describe_wait(&self, warp: &Warp, fragment: &Fragment) -> String {
        let Warp { block, index, .. } = warp;
        let line = self.line(waiting_at(fragment));
        let what = match fragment.wait {
            Some(Wait::Barrier { id }) => {
                let barrier = self.blocks.get(*block).and_then(|block| block.barriers.get(id));
                let (arrived, expected) =
                    barrier.map_or((0, 0), |barrier| (barrier.arrived, barrier.expected.unwrap_or(0)));
                format!("barrier {id}, at which {arrived} of {expected} threads have arrived")
            }
            Some(Wait::ClusterBarrier) => {
                format!("the cluster's barrier, at which {} threads have arrived", self.barrier.arrived)
            }
            Some(Wait::Mbarrier { block, offset, parity }) => {
                let mbarrier = self.blocks.get(block).and_then(|block| block.mbarriers.get(&offset));
                let state = mbarrier.map_or_else(String::new, |mbarrier| {
                    format!(
                        ": phase {}, {} arrivals and {} bytes pending",
                        mbarrier.phase, mbarrier.pending, mbarrier.transactions
                    )
                });
                format!("parity {} of the mbarrier at offset {offset} of block {block}{state}", u32::from(parity))
            }
            Some(Wait::Bulk { .. }) => "its bulk copies".to_owned(),
            Some(Wait::Converge { .. }) | None => "the other lanes".to_owned(),
        };
        format!("block {block} warp {index} lanes {:#x} at PTX line {line} wait for {what}", fragment.lanes)
    }
}

/// The instruction at which a fragment waits: a barrier has been passed in the program already.
fn waiting_at(fragment: &Fragment) -> u32 {
    match fragment.wait {
        Some(Wait::Barrier { .. }) => fragment.pc.saturating_sub(1),
        _ => fragment.pc,
    }
}
