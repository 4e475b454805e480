//! Addresses: the windows of state spaces in generic addressing, and blocks in shared addressing.

use super::cluster::Cluster;
use super::place::Place;
use super::stop::{Exec, stop};
use crate::fault::{Access, FaultKind};
use crate::isa::types::Space;

/// Where the windows of other spaces lie among generic addresses. Global memory is everywhere else.
const PARAMETER_WINDOW: u64 = 0x7d_0000_0000;
const LOCAL_WINDOW: u64 = 0x7e_0000_0000;
const SHARED_WINDOW: u64 = 0x7f_0000_0000;
const WINDOW_BYTES: u64 = 1 << 32;
/// Bits of a shared address that are the offset in a block's window; those above are the block's rank.
const OFFSET_BITS: u32 = 24;

/// The shared address of an offset in the window of block `rank`.
pub(super) fn shared_address(rank: u32, offset: u32) -> u32 {
    rank << OFFSET_BITS | offset & ((1 << OFFSET_BITS) - 1)
}

/// Rank and offset of a shared address.
pub(super) fn split_shared(address: u64) -> (u32, u32) {
    ((address as u32) >> OFFSET_BITS, address as u32 & ((1 << OFFSET_BITS) - 1))
}

/// The generic address of an address of a space.
pub(super) fn to_generic(space: Space, address: u64) -> u64 {
    match space {
        Space::Shared | Space::SharedCluster => SHARED_WINDOW | address & 0xffff_ffff,
        Space::Local => LOCAL_WINDOW | address & 0xffff_ffff,
        Space::Parameter => PARAMETER_WINDOW | address & 0xffff_ffff,
        Space::Global | Space::Constant | Space::Generic => address,
    }
}

/// The address in a space of a generic address.
pub(super) fn from_generic(space: Space, address: u64) -> u64 {
    match space {
        Space::Shared | Space::SharedCluster | Space::Local | Space::Parameter => address & 0xffff_ffff,
        Space::Global | Space::Constant | Space::Generic => address,
    }
}

/// An access before its place is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub warp: usize,
    pub lane: usize,
    pub pc: u32,
    pub access: Access,
    pub bytes: u32,
}

impl Cluster<'_, '_> {
    /// The place of an address, checked against the bounds of all spaces but global memory.
    pub fn place(&self, request: Request, space: Space, address: u64) -> Exec<Place> {
        match space {
            Space::Generic => match address & !(WINDOW_BYTES - 1) {
                SHARED_WINDOW => self.place(request, Space::SharedCluster, address & 0xffff_ffff),
                LOCAL_WINDOW => self.place(request, Space::Local, address & 0xffff_ffff),
                PARAMETER_WINDOW => self.place(request, Space::Parameter, address & 0xffff_ffff),
                _ => Ok(Place::Global(address)),
            },
            Space::Global | Space::Constant => Ok(Place::Global(address)),
            Space::Parameter => {
                let end = self.context.kernel.parameter_bytes.into();
                self.bounded(request, "parameter", address, 0, end).map(Place::Parameter)
            }
            Space::Local => {
                let end = self.context.kernel.local_bytes.into();
                self.bounded(request, "local", address, 0, end).map(Place::Local)
            }
            Space::Shared | Space::SharedCluster => self.shared_place(request, space, address),
        }
    }

    fn shared_place(&self, request: Request, space: Space, address: u64) -> Exec<Place> {
        let own = self.warps[request.warp].block;
        let (rank, offset) = split_shared(address);
        let block = rank as usize;
        if block >= self.blocks.len() || space == Space::Shared && block != own || address > u64::from(u32::MAX) {
            let note = format!("it is in the window of block {rank}; this is block {own} of {}", self.blocks.len());
            return out_of_bounds(request, "shared", address, note);
        }
        let (base, bytes) = (self.context.shared_base, self.context.shared_bytes);
        let index = self.bounded(request, "shared", offset.into(), base.into(), u64::from(base) + u64::from(bytes))?;
        if self.blocks[block].has_ended() {
            return stop(request.lane, FaultKind::PeerEnded { rank, line: self.line(request.pc) });
        }
        Ok(Place::Shared { block, index: index - base })
    }

    fn bounded(&self, request: Request, space: &'static str, address: u64, start: u64, end: u64) -> Exec<u32> {
        let last = address.saturating_add(request.bytes.into());
        if address < start || last > end {
            let note = format!("the thread may use {start:#x} to {end:#x}");
            return out_of_bounds(request, space, address, note);
        }
        Ok(address as u32)
    }
}

pub(super) fn out_of_bounds<T>(request: Request, space: &'static str, address: u64, note: String) -> Exec<T> {
    let Request { lane, access, bytes, .. } = request;
    stop(lane, FaultKind::OutOfBounds { space, access, address, bytes: bytes.into(), note })
}
