//! mbarriers.

use rand::RngExt;

use super::Flow;
use crate::check::Proxy;
use crate::fault::{Access, FaultKind, MbarrierFault};
use crate::isa::instruction::{Arrive, MbarrierOp, Order, Phase};
use crate::isa::lanes::{Lanes, WARP, lanes_of};
use crate::isa::types::Space;
use crate::isa::{Address, Predicate};
use crate::run::access::{Lane, aligned, space_name};
use crate::run::address::shared_address;
use crate::run::cluster::Cluster;
use crate::run::mbarrier::{MBARRIER_BYTES, Mbarrier};
use crate::run::place::Place;
use crate::run::stop::{Exec, Stop, refuse, stop};
use crate::run::warp::Wait;

/// An mbarrier's place: the block, and the offset in its shared memory.
type At = (usize, u32);

/// With a seed: one try in so many gives up early, as the hardware may.
const GIVES_UP: u32 = 4;

impl Cluster<'_, '_> {
    pub fn mbarrier(&mut self, warp: usize, lanes: u32, pc: u32, op: &MbarrierOp) -> Exec<Flow> {
        match op {
            MbarrierOp::Init { address, space, count } => {
                let counts = self.value(warp, *count);
                for (lane, at) in self.mbarriers_at(warp, lanes, pc, *space, address)? {
                    self.make_mbarrier(Lane::weak(warp, lane, pc), at, counts[lane])?;
                }
            }
            MbarrierOp::Invalidate { address, space } => {
                for (lane, at) in self.mbarriers_at(warp, lanes, pc, *space, address)? {
                    self.with_mbarrier(lane, at, |_| Ok(()))?;
                    self.blocks[at.0].mbarriers.remove(&at.1);
                }
            }
            MbarrierOp::Arrive(arrive) => self.arrive(warp, lanes, pc, arrive)?,
            MbarrierOp::ExpectBytes { address, space, bytes } => {
                let bytes = self.value(warp, *bytes);
                for (lane, at) in self.mbarriers_at(warp, lanes, pc, *space, address)? {
                    self.require_visible(warp, lane, at, Proxy::Generic)?;
                    self.with_mbarrier(lane, at, |mbarrier| mbarrier.expect(bytes[lane]))?;
                }
            }
            MbarrierOp::Wait { done, address, space, phase, may_block, acquire } => {
                let at = self.mbarriers_at(warp, lanes, pc, *space, address)?;
                return self.wait_for_phase(warp, lanes, &at, *done, *phase, *may_block, *acquire);
            }
        }
        Ok(Flow::Next)
    }

    fn mbarriers_at(
        &self,
        warp: usize,
        lanes: u32,
        pc: u32,
        space: Space,
        address: &Address,
    ) -> Exec<Vec<(usize, At)>> {
        let addresses = self.addresses(warp, address);
        let place = |lane: usize| {
            let by = Lane::weak(warp, lane, pc);
            Ok((lane, self.mbarrier_place(by, space, addresses[lane])?))
        };
        lanes_of(lanes).map(place).collect()
    }

    /// The place of an mbarrier, aligned.
    pub fn mbarrier_place(&self, by: Lane, space: Space, address: u64) -> Exec<At> {
        aligned(by.lane, space_name(space), address, MBARRIER_BYTES.into())?;
        self.shared_place_of(by, space, address, MBARRIER_BYTES, Access::Write)
    }

    fn make_mbarrier(&mut self, by: Lane, at: At, count: u64) -> Exec<()> {
        let (block, offset) = at;
        if self.blocks[block].mbarriers.contains_key(&offset) {
            return self.mbarrier_fault(by.lane, at, MbarrierFault::InitialisedTwice);
        }
        let event = self.threads.event(by.warp, by.lane, false, self.line(by.pc));
        let place = Place::Shared { block, index: offset };
        self.reach(by, place, event, Access::Write, MBARRIER_BYTES)?;
        let channel = self.threads.new_channel();
        match Mbarrier::new(count, channel, event) {
            Ok(mbarrier) => drop(self.blocks[block].mbarriers.insert(offset, mbarrier)),
            Err(fault) => return self.mbarrier_fault(by.lane, at, fault),
        }
        Ok(())
    }

    pub fn mbarrier_fault<T>(&self, lane: usize, at: At, reason: MbarrierFault) -> Exec<T> {
        let address = shared_address(at.0 as u32, self.context.shared_base + at.1).into();
        stop(lane, FaultKind::Mbarrier { address, reason })
    }

    /// Works on an mbarrier that is there.
    pub fn with_mbarrier(
        &mut self,
        lane: usize,
        at: At,
        work: impl FnOnce(&mut Mbarrier) -> Result<(), MbarrierFault>,
    ) -> Exec<()> {
        let found = self.blocks[at.0].mbarriers.get_mut(&at.1);
        match found.ok_or(MbarrierFault::NotInitialised).and_then(work) {
            Ok(()) => Ok(()),
            Err(reason) => self.mbarrier_fault(lane, at, reason),
        }
    }

    /// The initialisation must be known to who uses the barrier, or to the copies that it asks for.
    pub fn require_visible(&self, warp: usize, lane: usize, at: At, by: Proxy) -> Exec<()> {
        let Some(mbarrier) = self.blocks[at.0].mbarriers.get(&at.1) else {
            return self.mbarrier_fault(lane, at, MbarrierFault::NotInitialised);
        };
        if self.context.options.checks.races && !self.threads.knows(warp, lane, &mbarrier.made, by) {
            return self.mbarrier_fault(lane, at, MbarrierFault::NotVisible);
        }
        Ok(())
    }

    fn arrive(&mut self, warp: usize, lanes: u32, pc: u32, arrive: &Arrive) -> Exec<()> {
        let Arrive { address, space, count, expect_bytes, state, drops, release } = arrive;
        let at = self.mbarriers_at(warp, lanes, pc, *space, address)?;
        let counts = self.value(warp, *count);
        let bytes = expect_bytes.map(|bytes| self.value(warp, bytes));
        let mut states: Lanes = [0; WARP];
        for &(lane, place) in &at {
            self.require_visible(warp, lane, place, Proxy::Generic)?;
            let event = self.threads.event(warp, lane, true, self.line(pc));
            self.visit(Lane::ordered(warp, lane, pc, Order::Relaxed), place.0, &event);
        }
        if *release {
            self.publish_to(warp, &at);
        }
        for &(lane, place) in &at {
            let mut phase = 0;
            self.with_mbarrier(lane, place, |mbarrier| {
                phase = mbarrier.phase;
                if let Some(bytes) = bytes {
                    mbarrier.expect(bytes[lane])?;
                }
                mbarrier.arrive(counts[lane], *drops)
            })?;
            states[lane] = phase.into();
        }
        if let Some(state) = state {
            self.set_register(warp, lanes, *state, &states);
        }
        Ok(())
    }

    /// Adds what the lanes know to what their barriers pass on, each barrier's lanes together.
    fn publish_to(&mut self, warp: usize, at: &[(usize, At)]) {
        let mut left: Vec<(usize, At)> = at.to_vec();
        while let Some(&(_, place)) = left.first() {
            let same = left.iter().filter(|(_, other)| *other == place);
            let lanes = same.fold(0, |lanes, (lane, _)| lanes | 1 << lane);
            if let Some(mbarrier) = self.blocks[place.0].mbarriers.get_mut(&place.1) {
                self.threads.publish(warp, lanes, &mut mbarrier.arriving);
            }
            left.retain(|(_, other)| *other != place);
        }
    }

    #[allow(clippy::too_many_arguments)] // what the instruction says
    fn wait_for_phase(
        &mut self,
        warp: usize,
        lanes: u32,
        at: &[(usize, At)],
        done: Predicate,
        phase: Phase,
        may_block: bool,
        acquire: bool,
    ) -> Exec<Flow> {
        let wanted = match phase {
            Phase::Parity(source) | Phase::State(source) => self.value(warp, source),
        };
        let mut passed = 0;
        let mut first_missing = None;
        for &(lane, place) in at {
            self.require_visible(warp, lane, place, Proxy::Generic)?;
            let Some(mbarrier) = self.blocks[place.0].mbarriers.get(&place.1) else { continue };
            let parity = match phase {
                Phase::Parity(_) if wanted[lane] > 1 => return refuse(lane, "a parity is 0 or 1"),
                Phase::Parity(_) => wanted[lane] == 1,
                Phase::State(_) => wanted[lane] % 2 == 1,
            };
            if mbarrier.has_passed(parity) {
                passed |= 1 << lane;
            } else {
                first_missing.get_or_insert(Wait::Mbarrier { block: place.0, offset: place.1, parity });
            }
        }
        if let Some(wait) = first_missing {
            let gives_up = self.context.options.seed != 0 && self.rng.random_range(0..GIVES_UP) == 0;
            if may_block && !gives_up {
                return Ok(Flow::Retry(wait));
            }
        }
        self.set_predicate(warp, lanes, done, passed);
        if acquire {
            self.acquire_from(warp, passed, at);
        }
        Ok(Flow::Next)
    }

    fn acquire_from(&mut self, warp: usize, passed: u32, at: &[(usize, At)]) {
        let mut left = passed;
        while left != 0 {
            let Some(&(_, place)) = at.iter().find(|(lane, _)| left >> lane & 1 == 1) else { return };
            let lanes = at.iter().filter(|(lane, other)| *other == place && left >> lane & 1 == 1);
            let lanes = lanes.fold(0, |lanes, (lane, _)| lanes | 1 << lane);
            if let Some(mbarrier) = self.blocks[place.0].mbarriers.get(&place.1) {
                self.threads.acquire(warp, lanes, &mbarrier.completed);
            }
            left &= !lanes;
        }
    }

    /// Ordinary accesses must not touch an mbarrier: its bytes are opaque.
    pub fn leave_mbarriers_alone(&self, by: Lane, block: usize, index: u32, bytes: u32, access: Access) -> Exec<()> {
        let from = index.saturating_sub(MBARRIER_BYTES - 1);
        let touched = self.blocks[block].mbarriers.range(from..index + bytes).next();
        match touched {
            Some((offset, _)) => Err(Stop {
                lane: by.lane,
                kind: Box::new(FaultKind::Refused {
                    reason: format!(
                        "{access} of an mbarrier, at offset {offset} of block {block}, as ordinary memory; \
                         `mbarrier.inval` it first"
                    ),
                }),
            }),
            None => Ok(()),
        }
    }

    /// The operand of an instruction that must be an mbarrier.
    pub fn mbarrier_of(&self, by: Lane, address: &Address) -> Exec<At> {
        let addresses = self.addresses(by.warp, address);
        self.mbarrier_place(by, Space::SharedCluster, addresses[by.lane])
    }
}
