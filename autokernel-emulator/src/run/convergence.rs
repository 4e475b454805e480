//! Which lanes must execute an instruction together.

use super::cluster::Cluster;
use super::stop::{Exec, refuse};
use crate::isa::instruction::{BarrierOp, WarpOp};
use crate::isa::{Op, Source};

impl Cluster<'_, '_> {
    /// The lanes that must be there for `op` to run, besides those that have exited; 0 for none in particular.
    pub fn required_lanes(&self, warp: usize, lanes: u32, op: &Op) -> Exec<u32> {
        let live = self.warps[warp].live;
        let members = match op {
            Op::Warp(op) => match &**op {
                WarpOp::Shuffle { members, .. }
                | WarpOp::Vote { members, .. }
                | WarpOp::Reduce { members, .. }
                | WarpOp::Elect { members, .. }
                | WarpOp::Synchronise { members } => return self.members(warp, lanes, members),
                WarpOp::ActiveMask { .. } => 0,
            },
            Op::Barrier(BarrierOp::Sync { .. } | BarrierOp::Arrive { .. }) => live,
            Op::Matrix(_) | Op::Wgmma(_) | Op::WgmmaFence | Op::WgmmaCommit | Op::WgmmaWait { .. } => live,
            Op::MoveRegisters { .. } => live,
            _ => 0,
        };
        Ok(members)
    }

    /// A member mask: each lane names itself, and lanes that have exited are not waited for.
    fn members(&self, warp: usize, lanes: u32, members: &Source) -> Exec<u32> {
        let masks = self.value(warp, *members);
        let lane = lanes.trailing_zeros() as usize;
        let mask = masks.get(lane).copied().unwrap_or(0) as u32;
        if mask & lanes != lanes {
            return refuse(lane, format!("lanes {lanes:#010x} execute it, and the member mask is {mask:#010x}"));
        }
        Ok(mask & self.warps[warp].live)
    }
}
