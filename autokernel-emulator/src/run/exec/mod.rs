//! What instructions do.

mod barrier;
pub(super) mod bulk;
mod exit;
mod lane_copies;
mod lanewise;
mod matrix;
mod mbarrier;
mod memory;
mod tensor;
mod warp_ops;
mod wgmma;

use super::cluster::Cluster;
use super::stop::{Exec, refuse, stop};
use super::warp::Wait;
use crate::fault::FaultKind;
use crate::isa::Op;
use crate::isa::instruction::Fence;

/// Where a fragment goes.
pub(super) enum Flow {
    Next,
    /// The `taken` lanes go to `target`, the others to the next instruction.
    Jump {
        target: u32,
        taken: u32,
    },
    Exit {
        lanes: u32,
    },
    /// To the same instruction again, when it can go on.
    Retry(Wait),
    /// To the next instruction, when it is let go.
    Wait(Wait),
}

impl Cluster<'_, '_> {
    /// Executes the instruction at `pc` for the lanes of a fragment.
    pub fn step(&mut self, warp: usize, fragment: u32, pc: u32) -> Exec<Flow> {
        let kernel = self.context.kernel;
        let Some(instruction) = kernel.code.get(pc as usize) else {
            return refuse(fragment.trailing_zeros() as usize, "the kernel runs on past its last instruction");
        };
        let lanes = fragment & instruction.guard.map_or(u32::MAX, |guard| self.guard(warp, guard));
        if lanes == 0 {
            return Ok(Flow::Next);
        }
        let required = self.required_lanes(warp, lanes, &instruction.op)?;
        if lanes & required != required {
            return Ok(Flow::Retry(Wait::Converge { required }));
        }
        self.execute(warp, lanes, pc, &instruction.op)
    }

    fn execute(&mut self, warp: usize, lanes: u32, pc: u32, op: &Op) -> Exec<Flow> {
        match op {
            Op::Branch { target } => return Ok(Flow::Jump { target: *target, taken: lanes }),
            Op::Exit => return Ok(Flow::Exit { lanes }),
            Op::Trap => return stop(lanes.trailing_zeros() as usize, FaultKind::Trap),
            Op::Barrier(op) => return self.barrier(warp, lanes, *op),
            Op::Mbarrier(op) => return self.mbarrier(warp, lanes, pc, op),
            Op::Copy(op) => return self.copy(warp, lanes, pc, op),
            Op::Load(load) => self.load_lanes(warp, lanes, pc, load)?,
            Op::Store(store) => self.store_lanes(warp, lanes, pc, store)?,
            Op::Atomic(atomic) => self.atomic(warp, lanes, pc, atomic)?,
            Op::Prefetch | Op::Sleep | Op::GridDependency { waits: false } => {}
            Op::GridDependency { waits: true } => self.warps[warp].waited |= lanes,
            Op::PrefetchMap { address } => self.prefetch_map(warp, lanes, address)?,
            Op::Warp(op) => self.warp_op(warp, lanes, op)?,
            Op::Fence(Fence::Memory) => {}
            Op::Fence(Fence::ProxyAsync | Fence::MbarrierInit) => self.threads.fence_async(warp, lanes),
            Op::MapToPeer { d, a, rank, generic } => self.map_to_peer(warp, lanes, *d, [*a, *rank], *generic)?,
            Op::RankOfAddress { d, a } => self.rank_of_address(warp, lanes, *d, *a),
            Op::Matrix(op) => self.matrix(warp, lanes, pc, op)?,
            Op::Wgmma(op) => self.wgmma(warp, lanes, pc, op)?,
            Op::WgmmaFence => self.wgmma_fence(warp),
            Op::WgmmaCommit => self.wgmma_commit(warp),
            Op::WgmmaWait { pending } => self.wgmma_wait(warp, lanes, *pending)?,
            Op::MoveRegisters { count, increases } => self.move_registers(warp, lanes, *count, *increases)?,
            _ => self.lanewise(warp, lanes, op)?,
        }
        Ok(Flow::Next)
    }

    fn move_registers(&mut self, warp: usize, lanes: u32, count: u32, increases: bool) -> Exec<()> {
        let before = self.warps[warp].register_limit;
        if before != 0 && (count > before) != increases {
            return refuse(lanes.trailing_zeros() as usize, format!("{count} registers a thread, after {before}"));
        }
        self.warps[warp].register_limit = count;
        Ok(())
    }
}
