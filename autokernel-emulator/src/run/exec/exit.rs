//! The end of threads and of blocks.

use crate::fault::FaultKind;
use crate::isa::lanes::lanes_of;
use crate::run::cluster::Cluster;
use crate::run::stop::{Exec, refuse, stop};
use crate::run::warp::Warp;

/// Warps of a warpgroup.
const WARPGROUP: usize = 4;

impl Cluster<'_, '_> {
    /// The lanes end.
    pub fn exit(&mut self, warp: usize, lanes: u32) -> Exec<()> {
        let block = self.warps[warp].block;
        let arrived = self.warps[warp].cluster_arrived & lanes;
        let current = lanes_of(arrived).filter(|&lane| self.warps[warp].cluster_phase[lane] == self.barrier.phase);
        self.barrier.arrived -= current.count() as u32;
        self.warps[warp].exit(lanes);
        let mut last = std::mem::take(&mut self.blocks[block].last);
        self.threads.publish(warp, lanes, &mut last);
        self.blocks[block].last = last;
        self.blocks[block].live_threads -= lanes.count_ones();
        if self.blocks[block].has_ended() {
            self.end_block(block, lanes.trailing_zeros() as usize)?;
        }
        self.complete_cluster_barrier();
        self.release_after_exit(warp);
        Ok(())
    }

    /// The block's shared memory is gone: whoever used it must be known to be done.
    fn end_block(&mut self, block: usize, lane: usize) -> Exec<()> {
        if let Some((line, access)) = self.copies.iter().find_map(|copy| copy.uses(block)) {
            return stop(lane, FaultKind::EndsInFlight { line, access });
        }
        self.compare_warpgroups(block, lane)?;
        if !self.context.options.checks.races {
            return Ok(());
        }
        let visits = std::mem::take(&mut self.blocks[block].visits);
        let late = visits.iter().find(|(agent, visit)| !self.blocks[block].last.has_seen(**agent, visit.time));
        match late {
            Some((_, visit)) => stop(lane, FaultKind::PeerEnded { rank: block as u32, line: self.line(visit.pc) }),
            None => Ok(()),
        }
    }

    /// wgmma is one instruction of four warps: each must have issued the same.
    fn compare_warpgroups(&self, block: usize, lane: usize) -> Exec<()> {
        let warps: Vec<&Warp> = self.warps.iter().filter(|warp| warp.block == block).collect();
        for warpgroup in warps.chunks(WARPGROUP) {
            let issued = |warp: &&Warp| (warp.wgmma.issued, warp.wgmma.digest);
            let first = warpgroup.first().map_or((0, 0), issued);
            if warpgroup.iter().any(|warp| issued(warp) != first) || first.0 > 0 && warpgroup.len() < WARPGROUP {
                return refuse(lane, "the four warps of a warpgroup did not issue the same wgmmas");
            }
        }
        Ok(())
    }
}
