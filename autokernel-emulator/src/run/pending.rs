//! Bulk copies that are under way.

use crate::device::TensorMap;
use crate::fault::Access;

/// A copy that is under way.
pub(super) struct PendingCopy {
    pub warp: usize,
    pub lane: usize,
    pub pc: u32,
    pub line: u32,
    pub work: Work,
}

pub(super) enum Work {
    /// Into shared memory, then to the mbarrier.
    Load { from: Source, to: (usize, u32), bytes: u32, barrier: (usize, u32) },
    /// Out of shared memory: first read, then written.
    Store { from: (usize, u32), bytes: u32, to: Target, group: u32, read: Option<Vec<u8>> },
}

pub(super) enum Source {
    Registers(Vec<u8>),
    Global(u64),
    Shared((usize, u32)),
    Tensor(TensorBox),
}

pub(super) enum Target {
    Global(u64),
    Tensor(TensorBox),
}

impl PendingCopy {
    /// Whether a lane that waits for its groups up to `group` waits for this copy.
    pub fn holds_up(&self, warp: usize, lane: usize, group: u32, reads_only: bool) -> bool {
        match &self.work {
            Work::Store { group: own, read, .. } => {
                self.warp == warp && self.lane == lane && *own <= group && !(reads_only && read.is_some())
            }
            Work::Load { .. } => false,
        }
    }

    /// Its line, and what it will still do to the shared memory of a block, if anything.
    pub fn uses(&self, block: usize) -> Option<(u32, Access)> {
        match &self.work {
            Work::Load { to, .. } if to.0 == block => Some((self.line, Access::Write)),
            Work::Load { from: Source::Shared(from), .. } if from.0 == block => Some((self.line, Access::Read)),
            Work::Store { from, read: None, .. } if from.0 == block => Some((self.line, Access::Read)),
            _ => None,
        }
    }
}

/// A box of a tensor at a place.
#[derive(Clone)]
pub(super) struct TensorBox {
    pub map: TensorMap,
    pub at: Vec<i64>,
}
