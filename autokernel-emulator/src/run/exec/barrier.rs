//! Barriers of the block and of the cluster.

use super::Flow;
use crate::fault::FaultKind;
use crate::isa::Source;
use crate::isa::instruction::BarrierOp;
use crate::isa::lanes::{WARP, lanes_of};
use crate::run::block::BARRIERS;
use crate::run::cluster::Cluster;
use crate::run::stop::{Exec, stop};
use crate::run::warp::Wait;

impl Cluster<'_, '_> {
    pub fn barrier(&mut self, warp: usize, lanes: u32, op: BarrierOp) -> Exec<Flow> {
        match op {
            BarrierOp::Sync { id, threads } => {
                let id = self.arrive_at(warp, lanes, id, threads)?;
                let waits = Flow::Wait(Wait::Barrier { id });
                let complete = self.release_if_complete(warp, id);
                if !complete {
                    return Ok(waits);
                }
                self.pass(warp, lanes, id);
                Ok(Flow::Next)
            }
            BarrierOp::Arrive { id, threads } => {
                let id = self.arrive_at(warp, lanes, id, Some(threads))?;
                self.release_if_complete(warp, id);
                Ok(Flow::Next)
            }
            BarrierOp::ClusterArrive { release } => self.cluster_arrive(warp, lanes, release),
            BarrierOp::ClusterWait { acquire } => self.cluster_wait(warp, lanes, acquire),
        }
    }

    /// Registers the arrival of a warp: barriers count threads in whole warps.
    fn arrive_at(&mut self, warp: usize, lanes: u32, id: Source, threads: Option<Source>) -> Exec<usize> {
        let lane = lanes.trailing_zeros() as usize;
        let id = self.uniform(warp, lanes, id);
        let wrong = |reason| stop(lane, FaultKind::Barrier { id, reason });
        if id >= BARRIERS as u64 {
            return wrong("a block has barriers 0 to 15");
        }
        let given = threads.map(|threads| self.uniform(warp, lanes, threads));
        let block = self.warps[warp].block;
        let live = self.blocks[block].live_threads.next_multiple_of(WARP as u32);
        let expected = match given {
            None => live,
            Some(count) if count > 0 && count % WARP as u64 == 0 => count as u32,
            Some(_) => return wrong("the number of threads is no multiple of 32"),
        };
        let barrier = &mut self.blocks[block].barriers[id as usize];
        if barrier.expected.is_some_and(|before| before != expected) {
            return wrong("threads that arrive in one phase name different numbers of threads");
        }
        (barrier.expected, barrier.of_all) = (Some(expected), threads.is_none());
        barrier.arrived += WARP as u32;
        if barrier.arrived > expected {
            return wrong("more threads arrive than the barrier expects");
        }
        self.threads.publish(warp, lanes, &mut barrier.knowledge);
        Ok(id as usize)
    }

    /// Lets go who waits at a barrier at which all have arrived.
    fn release_if_complete(&mut self, warp: usize, id: usize) -> bool {
        let block = self.warps[warp].block;
        let barrier = &mut self.blocks[block].barriers[id];
        if barrier.expected != Some(barrier.arrived) {
            return false;
        }
        (barrier.arrived, barrier.expected) = (0, None);
        for number in 0..self.warps.len() {
            if self.warps[number].block != block {
                continue;
            }
            let mut passing = 0;
            for fragment in &mut self.warps[number].fragments {
                if fragment.wait == Some(Wait::Barrier { id }) {
                    fragment.wait = None;
                    passing |= fragment.lanes;
                }
            }
            if passing != 0 {
                self.pass(number, passing, id);
            }
        }
        true
    }

    /// Fewer threads are left that a barrier of all of them waits for.
    pub fn release_after_exit(&mut self, warp: usize) {
        let block = &mut self.blocks[self.warps[warp].block];
        let live = block.live_threads.next_multiple_of(WARP as u32);
        for barrier in block.barriers.iter_mut().filter(|barrier| barrier.of_all && barrier.expected.is_some()) {
            barrier.expected = Some(live);
        }
        for id in 0..BARRIERS {
            self.release_if_complete(warp, id);
        }
    }

    /// The lanes learn what those knew who arrived.
    fn pass(&mut self, warp: usize, lanes: u32, id: usize) {
        let block = self.warps[warp].block;
        self.threads.replace(warp, lanes, &self.blocks[block].barriers[id].knowledge);
    }

    fn cluster_arrive(&mut self, warp: usize, lanes: u32, release: bool) -> Exec<Flow> {
        let this = &mut self.warps[warp];
        if this.cluster_arrived & lanes != 0 {
            let lane = (this.cluster_arrived & lanes).trailing_zeros() as usize;
            let reason = "a thread arrives at the cluster's barrier twice without waiting in between";
            return stop(lane, FaultKind::Barrier { id: 0, reason });
        }
        this.cluster_arrived |= lanes;
        for lane in lanes_of(lanes) {
            this.cluster_phase[lane] = self.barrier.phase;
        }
        if release {
            self.threads.publish(warp, lanes, &mut self.barrier.arriving);
        }
        self.barrier.arrived += lanes.count_ones();
        self.complete_cluster_barrier();
        Ok(Flow::Next)
    }

    /// Ends the phase if every thread that has not exited has arrived.
    pub fn complete_cluster_barrier(&mut self) {
        let live: u32 = self.warps.iter().map(|warp| warp.live.count_ones()).sum();
        if live > 0 && self.barrier.arrived >= live {
            self.barrier.arrived = 0;
            self.barrier.phase += 1;
            self.barrier.completed.join(&self.barrier.arriving);
        }
    }

    fn cluster_wait(&mut self, warp: usize, lanes: u32, acquire: bool) -> Exec<Flow> {
        let this = &mut self.warps[warp];
        let early = lanes & !this.cluster_arrived;
        if early != 0 {
            let reason = "a thread waits at the cluster's barrier without having arrived";
            return stop(early.trailing_zeros() as usize, FaultKind::Barrier { id: 0, reason });
        }
        if lanes_of(lanes).any(|lane| this.cluster_phase[lane] >= self.barrier.phase) {
            return Ok(Flow::Retry(Wait::ClusterBarrier));
        }
        this.cluster_arrived &= !lanes;
        if acquire {
            self.threads.acquire(warp, lanes, &self.barrier.completed);
        }
        Ok(Flow::Next)
    }
}
