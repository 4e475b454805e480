//! Reads and writes of bytes, each checked: bounds, alignment, what was written, who else was there.

use super::address::{Request, out_of_bounds, shared_address};
use super::block::Visit;
use super::cluster::Cluster;
use super::place::Place;
use super::stop::{Exec, Stop, stop};
use crate::check::{Event, Ordered, Threads, Touch, Violation};
use crate::fault::{Access, FaultKind};
use crate::isa::instruction::Order;
use crate::isa::types::Space;

/// The widest access of one lane, in bytes.
pub(super) const MAX_ACCESS: usize = 32;

/// How a lane accesses memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lane {
    pub warp: usize,
    pub lane: usize,
    pub pc: u32,
    pub order: Order,
    /// Whether the lane stands for its whole warp: only what every lane knows is ordered before.
    whole_warp: bool,
}

impl Lane {
    /// An ordinary access.
    pub fn weak(warp: usize, lane: usize, pc: u32) -> Self {
        Lane::ordered(warp, lane, pc, Order::Weak)
    }

    pub fn ordered(warp: usize, lane: usize, pc: u32, order: Order) -> Self {
        Lane { warp, lane, pc, order, whole_warp: false }
    }

    /// The same, on behalf of all lanes.
    pub fn of_warp(self) -> Self {
        Lane { whole_warp: true, ..self }
    }

    /// What is ordered before the access.
    fn ordered_behind(self, threads: &Threads) -> Ordered<'_> {
        if self.whole_warp { threads.order_of_warp(self.warp) } else { threads.order(self.warp, self.lane) }
    }

    pub fn request(self, access: Access, bytes: u32) -> Request {
        Request { warp: self.warp, lane: self.lane, pc: self.pc, access, bytes }
    }
}

impl Cluster<'_, '_> {
    /// Loads `bytes` bytes at an address of a space.
    pub fn load(&mut self, by: Lane, space: Space, address: u64, bytes: u32) -> Exec<[u8; MAX_ACCESS]> {
        aligned(by.lane, space_name(space), address, bytes.into())?;
        let place = self.place(by.request(Access::Read, bytes), space, address)?;
        let event = self.threads.event(by.warp, by.lane, by.order != Order::Weak, self.line(by.pc));
        let mut data = [0; MAX_ACCESS];
        let source = match place {
            Place::Parameter(offset) => self.parameters(offset, bytes),
            place => self.reach(by, place, event, Access::Read, bytes)?,
        };
        for (target, byte) in data.iter_mut().zip(source.iter()) {
            *target = *byte;
        }
        self.acquire_at(by, place);
        Ok(data)
    }

    pub fn store(&mut self, by: Lane, space: Space, address: u64, data: &[u8]) -> Exec<()> {
        let bytes = data.len() as u32;
        aligned(by.lane, space_name(space), address, bytes.into())?;
        let place = self.place(by.request(Access::Write, bytes), space, address)?;
        let event = self.threads.event(by.warp, by.lane, by.order != Order::Weak, self.line(by.pc));
        self.release_at(by, place);
        self.reach(by, place, event, Access::Write, bytes)?.copy_from_slice(data);
        Ok(())
    }

    /// A strong write passes on what the lane knows to who reads it by a strong read. That one of them is relaxed, and
    /// beside a fence, is not told apart from one that orders by itself.
    /// To clusters that run later only a release passes on, and only to an acquire.
    fn release_at(&mut self, by: Lane, place: Place) {
        if by.order == Order::Weak {
            return;
        }
        let flag = self.flags.entry(place).or_default();
        self.threads.publish(by.warp, 1 << by.lane, flag);
        if let (Place::Global(address), true) = (place, by.order.releases()) {
            let passed = flag.clone().passed_on_by(self.threads.cluster());
            self.released.entry(address).or_default().join(&passed);
        }
    }

    fn acquire_at(&mut self, by: Lane, place: Place) {
        if by.order == Order::Weak {
            return;
        }
        if let Some(knowledge) = self.flags.get(&place) {
            self.threads.acquire(by.warp, 1 << by.lane, knowledge);
        }
        if let (Place::Global(address), true) = (place, by.order.acquires())
            && let Some(knowledge) = self.released.get(&address)
        {
            self.threads.acquire(by.warp, 1 << by.lane, knowledge);
        }
    }

    /// Bytes of the launch's parameters.
    pub fn parameters(&self, offset: u32, bytes: u32) -> &[u8] {
        let (start, end) = (offset as usize, offset.saturating_add(bytes) as usize);
        self.context.launch.parameters.get(start..end).unwrap_or_default()
    }

    /// The bytes at a place, after every check of the access `event` to them. `by` asks for the access, and is who
    /// must be ordered behind others'.
    pub fn reach(&mut self, by: Lane, place: Place, event: Event, access: Access, bytes: u32) -> Exec<&mut [u8]> {
        match place {
            Place::Global(address) => self.reach_global(by, address, Touch { event, access, again: false }, bytes),
            Place::Shared { block, index } => self.reach_shared(by, block, index, event, access, bytes),
            Place::Local(offset) => self.reach_local(by, offset, access, bytes),
            Place::Parameter(offset) => {
                let note = "parameters can only be loaded".to_owned();
                out_of_bounds(by.request(access, bytes), "parameter", offset.into(), note)
            }
        }
    }

    /// Whether the grid before may still run.
    pub fn is_early(&self, by: Lane) -> bool {
        self.context.launch.overlaps_previous && self.warps[by.warp].waited >> by.lane & 1 == 0
    }

    pub(super) fn reach_global(&mut self, by: Lane, address: u64, touch: Touch, bytes: u32) -> Exec<&mut [u8]> {
        let access = touch.access;
        if self.is_early(by) && (access, by.order) != (Access::Read, Order::Relaxed) {
            return stop(by.lane, FaultKind::BeforeGridDependency);
        }
        let Cluster { memory, orders, threads, .. } = self;
        if memory.find(address, bytes.into()).is_none() {
            let note = memory.describe(address);
            return out_of_bounds(by.request(access, bytes), "global", address, note);
        }
        let Some((allocation, offset)) = memory.find(address, bytes.into()) else { return Ok(&mut []) };
        let range = offset..offset + bytes as usize;
        let shadow = allocation.shadow.get_mut(range.clone()).unwrap_or_default();
        orders
            .touch(shadow, &touch, by.ordered_behind(threads))
            .map_err(|(at, violation)| violated(by.lane, "global", address + at as u64, access, violation))?;
        Ok(allocation.bytes.get_mut(range).unwrap_or_default())
    }

    fn reach_shared(
        &mut self,
        by: Lane,
        block: usize,
        index: u32,
        event: Event,
        access: Access,
        bytes: u32,
    ) -> Exec<&mut [u8]> {
        self.visit(by, block, &event);
        self.leave_mbarriers_alone(by, block, index, bytes, access)?;
        let base = self.context.shared_base;
        let Cluster { blocks, orders, threads, .. } = self;
        let range = index as usize..(index + bytes) as usize;
        let shared = &mut blocks[block];
        let touch = Touch { event, access, again: false };
        let shadow = shared.shadow.get_mut(range.clone()).unwrap_or_default();
        orders.touch(shadow, &touch, by.ordered_behind(threads)).map_err(|(at, violation)| {
            let address = shared_address(block as u32, base + index + at as u32).into();
            violated(by.lane, "shared", address, access, violation)
        })?;
        Ok(shared.shared.get_mut(range).unwrap_or_default())
    }

    /// Remembers that a thread of another block was here: this block may not end before.
    pub fn visit(&mut self, by: Lane, block: usize, event: &Event) {
        if self.warps[by.warp].block != block {
            let visit = Visit { time: event.time, pc: by.pc };
            self.blocks[block].visits.insert(event.agent, visit);
        }
    }

    fn reach_local(&mut self, by: Lane, offset: u32, access: Access, bytes: u32) -> Exec<&mut [u8]> {
        let checks = self.context.options.checks.uninitialised;
        let start = self.context.kernel.local_bytes as usize * by.lane + offset as usize;
        let range = start..start + bytes as usize;
        let this = &mut self.warps[by.warp];
        let written = this.local_written.get_mut(range.clone()).unwrap_or_default();
        match access {
            Access::Write => written.fill(true),
            Access::Read => {
                if let Some(at) = written.iter().position(|written| !written).filter(|_| checks) {
                    let address = u64::from(offset) + at as u64;
                    return stop(by.lane, FaultKind::Uninitialised { space: "local", address });
                }
            }
        }
        Ok(this.local.get_mut(range).unwrap_or_default())
    }
}

/// Faults unless the address is a multiple of `alignment`.
pub(super) fn aligned(lane: usize, space: &'static str, address: u64, alignment: u64) -> Exec<()> {
    if alignment > 1 && !address.is_multiple_of(alignment) {
        return stop(lane, FaultKind::Misaligned { space, address, alignment });
    }
    Ok(())
}

pub(super) fn space_name(space: Space) -> &'static str {
    match space {
        Space::Generic => "generic",
        Space::Global => "global",
        Space::Constant => "constant",
        Space::Parameter => "parameter",
        Space::Local => "local",
        Space::Shared | Space::SharedCluster => "shared",
    }
}

fn violated(lane: usize, space: &'static str, address: u64, access: Access, violation: Violation) -> Stop {
    let kind = match violation {
        Violation::Uninitialised => FaultKind::Uninitialised { space, address },
        Violation::Race { other, remedy } => FaultKind::Race { space, address, access, other, remedy },
    };
    Stop { lane, kind: Box::new(kind) }
}
