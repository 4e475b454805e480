//! Reading operands and writing results, a warp at a time.

use super::cluster::Cluster;
use super::context::{along, unflatten};
use super::stop::{Exec, stop};
use crate::fault::FaultKind;
use crate::isa::lanes::{Lanes, WARP};
use crate::isa::operand::PredicateSource;
use crate::isa::{Guard, Predicate, Register, Source, Special, Symbol};

impl Cluster<'_, '_> {
    /// The value of an operand in every lane.
    pub fn value(&self, warp: usize, source: Source) -> Lanes {
        match source {
            Source::Register(register) => self.register(warp, register),
            Source::Constant(value) => [value; WARP],
            Source::Special(special) => self.special(warp, special),
            Source::Symbol(symbol) => [self.symbol(warp, symbol); WARP],
        }
    }

    /// The same without a copy of a register, in `room` what is none: most of what instructions read are registers.
    pub fn value_in<'l>(&'l self, warp: usize, source: Source, room: &'l mut Lanes) -> &'l Lanes {
        if let Source::Register(register) = source
            && let Some(lanes) = self.warps[warp].registers.get(register.index as usize)
        {
            return lanes;
        }
        *room = self.value(warp, source);
        room
    }

    /// The value of an operand that is the same in every lane of `lanes`, or the first lane's.
    pub fn uniform(&self, warp: usize, lanes: u32, source: Source) -> u64 {
        let lane = (lanes.trailing_zeros() as usize).min(WARP - 1);
        match source {
            Source::Constant(value) => value,
            other => self.value_in(warp, other, &mut [0; WARP])[lane],
        }
    }

    pub fn register(&self, warp: usize, register: Register) -> Lanes {
        self.warps[warp].registers.get(register.index as usize).copied().unwrap_or([0; WARP])
    }

    pub fn set_register(&mut self, warp: usize, lanes: u32, register: Register, values: &Lanes) {
        let Some(target) = self.warps[warp].registers.get_mut(register.index as usize) else { return };
        if lanes == u32::MAX {
            *target = *values;
            return;
        }
        for (lane, (target, value)) in target.iter_mut().zip(values).enumerate() {
            if lanes >> lane & 1 == 1 {
                *target = *value;
            }
        }
    }

    pub fn set_lane(&mut self, warp: usize, lane: usize, register: Register, value: u64) {
        let registers = self.warps[warp].registers.get_mut(register.index as usize);
        if let Some(slot) = registers.and_then(|lanes| lanes.get_mut(lane)) {
            *slot = value;
        }
    }

    pub fn guard(&self, warp: usize, guard: Guard) -> u32 {
        let bits = self.warps[warp].predicates.get(guard.predicate.0 as usize).copied().unwrap_or(0);
        if guard.negated { !bits } else { bits }
    }

    pub fn predicate(&self, warp: usize, source: PredicateSource) -> u32 {
        match source {
            PredicateSource::Register(guard) => self.guard(warp, guard),
            PredicateSource::Constant(true) => u32::MAX,
            PredicateSource::Constant(false) => 0,
        }
    }

    pub fn set_predicate(&mut self, warp: usize, lanes: u32, predicate: Predicate, bits: u32) {
        if let Some(target) = self.warps[warp].predicates.get_mut(predicate.0 as usize) {
            *target = *target & !lanes | bits & lanes;
        }
    }

    /// Faults if a wgmma in flight writes a register that is about to be read, or uses one that is to be written.
    pub fn guard_in_flight(&self, warp: usize, lanes: u32, reads: &[Source], writes: &[Register]) -> Exec<()> {
        let wgmma = &self.warps[warp].wgmma;
        if wgmma.is_idle() {
            return Ok(());
        }
        let read = reads.iter().filter_map(|source| match source {
            Source::Register(register) => Some(register.index),
            _ => None,
        });
        let mut written = writes.iter().map(|register| register.index);
        let busy = read.into_iter().find(|index| wgmma.writing.contains(index));
        let busy =
            busy.or_else(|| written.find(|index| wgmma.writing.contains(index) || wgmma.reading.contains(index)));
        match busy {
            Some(register) => stop(lanes.trailing_zeros() as usize, FaultKind::InFlight { register }),
            None => Ok(()),
        }
    }

    fn symbol(&self, warp: usize, symbol: Symbol) -> u64 {
        let rank = self.warps[warp].block as u32;
        let shared = |offset: u32| u64::from(super::address::shared_address(rank, self.context.shared_base + offset));
        match symbol {
            Symbol::Shared(offset) => shared(offset),
            Symbol::DynamicShared => shared(self.context.kernel.shared.dynamic_start()),
            Symbol::Local(offset) | Symbol::Parameter(offset) => offset.into(),
            Symbol::Global(number) => self.context.variables.get(number as usize).copied().unwrap_or(0),
        }
    }

    fn special(&self, warp: usize, special: Special) -> Lanes {
        let this = &self.warps[warp];
        let (launch, block) = (self.context.launch, &self.blocks[this.block]);
        let lane_mask = |f: fn(u64) -> u64| std::array::from_fn(|lane| f(lane as u64));
        let rank = this.block as u32;
        let one = match special {
            Special::Thread(axis) => {
                let first = this.index * WARP as u32;
                return std::array::from_fn(|lane| along(unflatten(first + lane as u32, launch.block), axis).into());
            }
            Special::Lane => return lane_mask(|lane| lane),
            Special::LaneMaskEqual => return lane_mask(|lane| 1 << lane),
            Special::LaneMaskLess => return lane_mask(|lane| (1 << lane) - 1),
            Special::LaneMaskLessEqual => return lane_mask(|lane| (2 << lane) - 1),
            Special::LaneMaskGreater => return lane_mask(|lane| 0xffff_ffff & !((2 << lane) - 1)),
            Special::LaneMaskGreaterEqual => return lane_mask(|lane| 0xffff_ffff & !((1 << lane) - 1)),
            Special::BlockSize(axis) => along(launch.block, axis),
            Special::Block(axis) => along(block.at, axis),
            Special::GridSize(axis) => along(launch.grid, axis),
            Special::Cluster(axis) => along(self.at, axis),
            Special::ClusterCount(axis) => along(self.context.clusters(), axis),
            Special::BlockInCluster(axis) => along(unflatten(rank, self.context.cluster), axis),
            Special::ClusterSize(axis) => along(self.context.cluster, axis),
            Special::ClusterRank => rank,
            Special::ClusterBlocks => self.context.cluster_blocks(),
            Special::Warp => this.index,
            Special::Warps => self.context.block_threads().div_ceil(WARP as u32),
            Special::Multiprocessor => rank,
            Special::Multiprocessors => self.context.arch.multiprocessors(),
            Special::Clock => return [self.tally.executed.iter().sum(); WARP],
            Special::DynamicSharedBytes => launch.dynamic_shared,
            Special::TotalSharedBytes => self.context.shared_bytes,
            Special::GridId => 1,
        };
        [one.into(); WARP]
    }
}
