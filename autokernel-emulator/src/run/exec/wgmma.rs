//! wgmma: issued here, computed when it is waited for (PTX ISA, "Asynchronous Warpgroup Level Matrix Instructions").
//!
//! Each warp of the warpgroup computes its own 16 rows; that all four issue the same is checked when they end.

use std::hash::Hasher;

use rand::RngExt;
use rustc_hash::FxHasher;

use super::matrix::{add_float, add_whole, rows_of_a};
use crate::fault::{Access, FaultKind};
use crate::isa::instruction::{Wgmma, WgmmaA};
use crate::isa::lanes::Lanes;
use crate::isa::matrix_layout::Descriptor;
use crate::isa::semantics::half::widen;
use crate::isa::types::{Space, Type};
use crate::isa::{Op, Register};
use crate::run::access::Lane;
use crate::run::address::shared_address;
use crate::run::cluster::Cluster;
use crate::run::place::Place;
use crate::run::stop::{Exec, stop};
use crate::run::warp::PendingWgmma;

/// Bytes of K of one wgmma, and rows of a warp.
const DEPTH_BYTES: usize = 32;
const WARP_ROWS: usize = 16;
/// Bytes that lie together in every layout.
const UNIT: u32 = 16;
/// In the orders that 16-bit elements alone have: elements of those bytes, and of K.
const UNIT_HALVES: usize = 8;
const DEPTH_HALVES: usize = 16;
/// With a seed: one commit in so many finds the oldest group done.
const EARLY: u32 = 4;

impl Cluster<'_, '_> {
    pub fn wgmma(&mut self, warp: usize, lanes: u32, pc: u32, op: &Wgmma) -> Exec<()> {
        let lane = lanes.trailing_zeros() as usize;
        let descriptors = match op.a {
            WgmmaA::Descriptor(a) => [self.uniform(warp, lanes, a), self.uniform(warp, lanes, op.b)],
            WgmmaA::Fragment(_) => [0, self.uniform(warp, lanes, op.b)],
        };
        self.require_fence(warp, lane, op)?;
        let by = Lane::weak(warp, lane, pc).of_warp();
        let first_row = (self.warps[warp].index % 4) as usize * WARP_ROWS;
        if let WgmmaA::Descriptor(_) = op.a {
            let a = self.descriptor(lane, descriptors[0])?;
            self.read_operand(by, &a, op.a_is_m_major, first_row, WARP_ROWS)?;
        }
        let b = self.descriptor(lane, descriptors[1])?;
        self.read_operand(by, &b, op.b_is_n_major, 0, op.n as usize)?;

        let a = match &op.a {
            WgmmaA::Descriptor(_) => None,
            WgmmaA::Fragment(sources) => {
                let fragment: Vec<Lanes> = sources.iter().map(|source| self.value(warp, *source)).collect();
                fragment.try_into().ok().map(Box::new)
            }
        };
        let accumulate = self.predicate(warp, op.accumulate) & lanes != 0;
        self.tally.counters.matrix_multiply_adds += (WARP_ROWS * depth(op.types[0])) as u64 * u64::from(op.n);
        let queue = &mut self.warps[warp].wgmma;
        let mut digest = FxHasher::default();
        digest.write_u64(queue.digest);
        digest.write_u32(pc);
        descriptors.iter().for_each(|descriptor| digest.write_u64(*descriptor));
        (queue.digest, queue.issued) = (digest.finish(), queue.issued + 1);
        queue.open.push(PendingWgmma { pc, descriptors, a, accumulate, computed: false });
        self.mark_registers(warp);
        Ok(())
    }

    /// A fence must stand between the registers' last ordinary use and the wgmma, and before a kernel's first.
    fn require_fence(&self, warp: usize, lane: usize, op: &Wgmma) -> Exec<()> {
        let queue = &self.warps[warp].wgmma;
        let unfenced = |register: &Register| {
            let used = queue.used.get(register.index as usize).copied().unwrap_or(0);
            queue.fenced == 0 || used > queue.fenced
        };
        let fragment: Vec<Register> = fragment_registers(op).collect();
        match op.d.iter().chain(&fragment).find(|register| unfenced(register)) {
            Some(register) => stop(lane, FaultKind::NotFenced { register: register.index }),
            None => Ok(()),
        }
    }

    fn descriptor(&self, lane: usize, bits: u64) -> Exec<Descriptor> {
        Descriptor::decode(bits)
            .or_else(|reason| stop(lane, FaultKind::Descriptor { descriptor: bits, reason: reason.to_owned() }))
    }

    /// Checks the bytes of an operand: `count` rows or columns from `first` on, all of K.
    fn read_operand(&mut self, by: Lane, of: &Descriptor, mn_major: bool, first: usize, count: usize) -> Exec<()> {
        let block = self.warps[by.warp].block;
        let channel = self.threads.wgmma_dimension(by.warp);
        let group = self.warps[by.warp].wgmma.groups + 1;
        let event = self.threads.channel_event(channel, group, self.line(by.pc));
        for (outer, unit) in units(mn_major, first, count) {
            let address = shared_address(block as u32, of.address(mn_major, outer, unit));
            let (block, index) = self.shared_place_of(by, Space::Shared, address.into(), UNIT, Access::Read)?;
            self.reach(by, Place::Shared { block, index }, event, Access::Read, UNIT)?;
        }
        Ok(())
    }

    pub fn wgmma_fence(&mut self, warp: usize) {
        let queue = &mut self.warps[warp].wgmma;
        queue.now += 1;
        queue.fenced = queue.now;
    }

    pub fn wgmma_commit(&mut self, warp: usize) {
        let random = self.context.options.seed != 0;
        let early = random && self.rng.random_range(0..EARLY) == 0;
        let queue = &mut self.warps[warp].wgmma;
        queue.groups += 1;
        let group = std::mem::take(&mut queue.open);
        queue.committed.push_back(group);
        if early {
            self.compute_oldest(warp);
        }
    }

    pub fn wgmma_wait(&mut self, warp: usize, lanes: u32, pending: u32) -> Exec<()> {
        while self.warps[warp].wgmma.committed.len() > pending as usize {
            self.compute_oldest(warp);
            self.warps[warp].wgmma.committed.pop_front();
        }
        self.mark_registers(warp);
        let queue = &self.warps[warp].wgmma;
        let done = queue.groups - queue.committed.len() as u32;
        let channel = self.threads.wgmma_dimension(warp);
        self.threads.learn_channel(warp, lanes, channel, done);
        Ok(())
    }

    /// Finds the registers of all wgmmas that are in flight.
    fn mark_registers(&mut self, warp: usize) {
        let code = &self.context.kernel.code;
        let queue = &mut self.warps[warp].wgmma;
        (queue.writing, queue.reading) = (Vec::new(), Vec::new());
        for pending in queue.committed.iter().flatten().chain(&queue.open) {
            if let Some(Op::Wgmma(op)) = code.get(pending.pc as usize).map(|instruction| &instruction.op) {
                queue.writing.extend(op.d.iter().map(|register| register.index));
                queue.reading.extend(fragment_registers(op).map(|register| register.index));
            }
        }
    }

    /// Computes the oldest group, which stays in flight until it is waited for.
    fn compute_oldest(&mut self, warp: usize) {
        let Some(mut group) = self.warps[warp].wgmma.committed.pop_front() else { return };
        let kernel = self.context.kernel;
        for pending in group.iter_mut().filter(|pending| !pending.computed) {
            if let Some(Op::Wgmma(op)) = kernel.code.get(pending.pc as usize).map(|instruction| &instruction.op) {
                self.compute(warp, op, pending);
            }
            pending.computed = true;
        }
        self.warps[warp].wgmma.committed.push_front(group);
    }

    fn compute(&mut self, warp: usize, op: &Wgmma, pending: &PendingWgmma) {
        let first_row = (self.warps[warp].index % 4) as usize * WARP_ROWS;
        let add = if op.types[0] == Type::S8 { add_whole } else { add_float };
        let a = match &pending.a {
            Some(fragment) => rows_of_a(op.types[0], &fragment[..]).map(|row| row[..depth(op.types[0])].to_vec()),
            None => {
                let operand =
                    self.operand(warp, op.types[0], pending.descriptors[0], op.a_is_m_major, first_row, WARP_ROWS);
                std::array::from_fn(|row| operand.chunks_exact(WARP_ROWS).map(|of_k| of_k[row]).collect())
            }
        };
        let n = op.n as usize;
        let b = self.operand(warp, op.types[1], pending.descriptors[1], op.b_is_n_major, 0, n);
        let sign = if op.negate_a != op.negate_b { -1.0 } else { 1.0 };
        let mut sums = vec![0f64; WARP_ROWS * n];
        for (row, sums) in a.iter().zip(sums.chunks_exact_mut(n)) {
            for (a, b) in row.iter().zip(b.chunks_exact(n)) {
                let a = sign * f64::from(*a);
                sums.iter_mut().zip(b).for_each(|(sum, b)| *sum += a * f64::from(*b));
            }
        }
        for (number, register) in op.d.iter().enumerate() {
            let before = self.register(warp, *register);
            let after = std::array::from_fn(|lane| {
                let (row, column) = (lane / 4 + number / 2 % 2 * 8, number / 4 * 8 + lane % 4 * 2 + number % 2);
                let start = if pending.accumulate { before[lane] as u32 } else { 0 };
                u64::from(add(start, sums[row * n + column]))
            });
            self.set_register(warp, u32::MAX, *register, &after);
        }
    }

    /// An operand as rows of K: element (k, i) at `k * count + i`.
    fn operand(&self, warp: usize, ty: Type, descriptor: u64, mn_major: bool, first: usize, count: usize) -> Vec<f32> {
        let shared = &self.blocks[self.warps[warp].block].shared;
        let element_bytes = ty.bytes() as usize;
        let mut values = vec![0f32; depth(ty) * count];
        let Ok(descriptor) = Descriptor::decode(descriptor) else { return values };
        for (outer, unit) in units(mn_major, first, count) {
            let index = descriptor.address(mn_major, outer, unit).wrapping_sub(self.context.shared_base) as usize;
            let bytes = shared.get(index..index + UNIT as usize).unwrap_or_default();
            for (element, bytes) in bytes.chunks_exact(element_bytes).enumerate() {
                let inner = unit * (UNIT as usize / element_bytes) + element;
                let (k, i) = if mn_major { (outer, inner) } else { (inner, outer) };
                if let Some(slot) =
                    i.checked_sub(first).filter(|i| *i < count).and_then(|i| values.get_mut(k * count + i))
                {
                    *slot = widen(ty.kind, bytes.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte)));
                }
            }
        }
        values
    }
}

/// Elements of K of one wgmma.
fn depth(ty: Type) -> usize {
    DEPTH_BYTES / ty.bytes() as usize
}

/// The 16-byte units of an operand: (row or column, unit along K), or (k, unit along M or N).
fn units(mn_major: bool, first: usize, count: usize) -> impl Iterator<Item = (usize, usize)> {
    let outer = if mn_major { 0..DEPTH_HALVES } else { first..first + count };
    let inner =
        if mn_major { first / UNIT_HALVES..(first + count) / UNIT_HALVES } else { 0..DEPTH_BYTES / UNIT as usize };
    outer.flat_map(move |outer| inner.clone().map(move |unit| (outer, unit)))
}

fn fragment_registers(op: &Wgmma) -> impl Iterator<Item = Register> + '_ {
    let sources = match &op.a {
        WgmmaA::Fragment(sources) => &**sources,
        WgmmaA::Descriptor(_) => &[],
    };
    sources.iter().filter_map(|source| match source {
        crate::isa::Source::Register(register) => Some(*register),
        _ => None,
    })
}
