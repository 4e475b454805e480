//! `cp.async`: each lane's own copies, and the groups they are in (PTX ISA, "Non-bulk copy").

use std::collections::VecDeque;

use rand::RngExt;

use super::Flow;
use crate::fault::{Access, MbarrierFault};
use crate::isa::Address;
use crate::isa::instruction::{CopyOp, Order};
use crate::isa::lanes::{WARP, lanes_of};
use crate::isa::types::Space;
use crate::run::access::{Lane, aligned};
use crate::run::cluster::Cluster;
use crate::run::place::Place;
use crate::run::stop::Exec;
use crate::run::tally::Path;
use crate::run::warp::LaneCopy;

/// With a seed: one commit in so many finds the oldest group done.
const EARLY: u32 = 4;

impl Cluster<'_, '_> {
    pub fn copy(&mut self, warp: usize, lanes: u32, pc: u32, op: &CopyOp) -> Exec<Flow> {
        match op {
            CopyOp::Async { .. } => self.issue_lane_copies(warp, lanes, pc, op)?,
            CopyOp::AsyncCommit => self.commit_lane_copies(warp, lanes),
            CopyOp::AsyncWait { pending } => self.finish_lane_copies(warp, lanes, *pending),
            CopyOp::AsyncWaitAll => {
                self.commit_lane_copies(warp, lanes);
                self.finish_lane_copies(warp, lanes, 0);
            }
            CopyOp::AsyncArrive { barrier, space, counted } => {
                self.arrive_behind_copies(warp, lanes, pc, barrier, *space, *counted)?;
            }
            bulk => return self.bulk(warp, lanes, pc, bulk),
        }
        Ok(Flow::Next)
    }

    fn issue_lane_copies(&mut self, warp: usize, lanes: u32, pc: u32, op: &CopyOp) -> Exec<()> {
        let CopyOp::Async { to, from, bytes, source_bytes, ignore } = op else { return Ok(()) };
        let (targets, sources) = (self.addresses(warp, to), self.addresses(warp, from));
        let sizes = source_bytes.map_or([u64::from(*bytes); WARP], |size| self.value(warp, size));
        let ignored = self.predicate(warp, *ignore);
        // A copy of nothing writes zeros, and asks memory for none.
        let reads = |lane: &usize| ignored >> lane & 1 == 0 && sizes[*lane] > 0;
        let reading = lanes_of(lanes).filter(reads).fold(0, |mask, lane| mask | 1 << lane);
        let read_from: Vec<u64> = lanes_of(reading).map(|lane| sources[lane]).collect();
        self.tally.request(pc, Path::LaneCopy, Access::Read, &read_from, *bytes);
        for lane in lanes_of(lanes) {
            let by = Lane::weak(warp, lane, pc);
            let read = if ignored >> lane & 1 == 1 { 0 } else { sizes[lane].min((*bytes).into()) as u32 };
            let group = self.warps[warp].copies.committed[lane] + 1;
            let event = self.threads.copy_event(warp, lane, group, self.line(pc));

            aligned(lane, "shared", targets[lane], (*bytes).into())?;
            aligned(lane, "global", sources[lane], (*bytes).into())?;
            let (block, index) = self.shared_place_of(by, Space::Shared, targets[lane], *bytes, Access::Write)?;
            self.reach(by, Place::Shared { block, index }, event, Access::Write, *bytes)?;
            if read > 0 {
                self.reach(by, Place::Global(sources[lane]), event, Access::Read, read)?;
            }
            let copy = LaneCopy { lane, group, to: index, from: sources[lane], read, bytes: *bytes };
            self.warps[warp].copies.waiting.push_back(copy);
        }
        Ok(())
    }

    fn commit_lane_copies(&mut self, warp: usize, lanes: u32) {
        for lane in lanes_of(lanes) {
            self.warps[warp].copies.committed[lane] += 1;
        }
        if self.context.options.seed != 0 && self.rng.random_range(0..EARLY) == 0 {
            let oldest = self.warps[warp].copies.waiting.front().map(|copy| copy.group);
            if let Some(oldest) = oldest {
                self.land(warp, |copy| copy.group <= oldest);
            }
        }
    }

    /// The lanes wait for all their groups but the newest `pending`: those land, and the lanes know.
    fn finish_lane_copies(&mut self, warp: usize, lanes: u32, pending: u32) {
        let done = self.warps[warp].copies.committed.map(|committed| committed.saturating_sub(pending));
        self.land(warp, |copy| lanes >> copy.lane & 1 == 1 && copy.group <= done[copy.lane]);
        for lane in lanes_of(lanes) {
            self.threads.copies_done(warp, lane, done[lane]);
        }
    }

    /// Moves the bytes of the copies that `which` picks. They were checked when they were issued.
    fn land(&mut self, warp: usize, which: impl Fn(&LaneCopy) -> bool) {
        let this = &mut self.warps[warp];
        let block = this.block;
        if !this.copies.waiting.iter().any(&which) {
            return;
        }
        let (landing, waiting): (VecDeque<_>, _) =
            std::mem::take(&mut this.copies.waiting).into_iter().partition(which);
        this.copies.waiting = waiting;
        for LaneCopy { to, from, read, bytes, .. } in landing {
            let target = self.blocks[block].shared.get_mut(to as usize..(to + bytes) as usize).unwrap_or_default();
            target.fill(0);
            if let Some((allocation, offset)) = self.memory.find(from, read.into()) {
                let source = allocation.bytes.get(offset..offset + read as usize).unwrap_or_default();
                target.iter_mut().zip(source).for_each(|(to, from)| *to = *from);
            }
        }
    }

    /// Arrives when the lane's copies so far are done; they are done at once here.
    fn arrive_behind_copies(
        &mut self,
        warp: usize,
        lanes: u32,
        pc: u32,
        barrier: &Address,
        space: Space,
        counted: bool,
    ) -> Exec<()> {
        self.commit_lane_copies(warp, lanes);
        let addresses = self.addresses(warp, barrier);
        for lane in lanes_of(lanes) {
            let by = Lane::ordered(warp, lane, pc, Order::Relaxed);
            let at = self.mbarrier_place(by, space, addresses[lane])?;
            self.finish_lane_copies(warp, 1 << lane, 0);
            match self.blocks[at.0].mbarriers.get_mut(&at.1) {
                Some(mbarrier) => self.threads.publish(warp, 1 << lane, &mut mbarrier.arriving),
                None => return self.mbarrier_fault(lane, at, MbarrierFault::NotInitialised),
            }
            self.with_mbarrier(lane, at, |mbarrier| {
                if !counted {
                    mbarrier.raise()?;
                }
                mbarrier.arrive(1, false)
            })?;
        }
        Ok(())
    }
}
