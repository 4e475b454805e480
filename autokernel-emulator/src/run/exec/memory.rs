//! Loads, stores and atomics.

use half::{bf16, f16};
use rand::Rng;

use crate::fault::Access;
use crate::isa::instruction::{Atomic, AtomicOp, Load, Store};
use crate::isa::lanes::{Lanes, lanes_of};
use crate::isa::types::{Kind, Space, Type};
use crate::isa::{Address, Register, Source};
use crate::run::access::{Lane, MAX_ACCESS};
use crate::run::address::split_shared;
use crate::run::cluster::Cluster;
use crate::run::place::Place;
use crate::run::stop::{Exec, refuse};
use crate::run::tally::Path;

impl Cluster<'_, '_> {
    /// The address that each lane means.
    pub fn addresses(&self, warp: usize, address: &Address) -> Lanes {
        let offset = address.offset as u64;
        let narrow = matches!(address.base, Source::Register(Register { bits: 32, .. }));
        self.value(warp, address.base).map(|base| {
            let sum = base.wrapping_add(offset);
            if narrow { sum & 0xffff_ffff } else { sum }
        })
    }

    pub fn load_lanes(&mut self, warp: usize, lanes: u32, pc: u32, load: &Load) -> Exec<()> {
        let Load { space, ty, d, address, order } = load;
        let written: Vec<Register> = d.iter().flatten().copied().collect();
        self.use_registers(warp, lanes, &[address.base], &written)?;
        let addresses = self.addresses(warp, address);
        let (bytes, order) = (ty.bytes() as usize, *order);
        let total = (bytes * d.len()) as u32;
        self.count_request(pc, lanes, *space, &addresses, total, Access::Read);
        for lane in lanes_of(lanes) {
            let by = Lane::ordered(warp, lane, pc, order);
            let mut data = self.load(by, *space, addresses[lane], total)?;
            if *space == Space::Global && self.is_early(by) && self.context.options.seed != 0 {
                self.rng.fill_bytes(&mut data);
            }
            for (d, element) in d.iter().zip(data.chunks_exact(bytes)) {
                if let Some(d) = d {
                    self.set_lane(warp, lane, *d, extend(element, *ty, d.bits));
                }
            }
        }
        Ok(())
    }

    pub fn store_lanes(&mut self, warp: usize, lanes: u32, pc: u32, store: &Store) -> Exec<()> {
        let Store { space, ty, values, address, order } = store;
        self.use_registers(warp, lanes, &[address.base], &[])?;
        self.use_registers(warp, lanes, values, &[])?;
        let addresses = self.addresses(warp, address);
        let (bytes, order) = (ty.bytes() as usize, *order);
        let total = bytes * values.len();
        self.count_request(pc, lanes, *space, &addresses, total as u32, Access::Write);
        let values: Vec<Lanes> = values.iter().map(|value| self.value(warp, *value)).collect();
        for lane in lanes_of(lanes) {
            let mut data = [0; MAX_ACCESS];
            for (target, value) in data.chunks_exact_mut(bytes).zip(&values) {
                target.copy_from_slice(value[lane].to_le_bytes().get(..bytes).unwrap_or_default());
            }
            let data = data.get(..total).unwrap_or_default();
            self.store(Lane::ordered(warp, lane, pc, order), *space, addresses[lane], data)?;
        }
        Ok(())
    }

    /// Counts what a request of a warp costs.
    pub fn count_request(&mut self, pc: u32, lanes: u32, space: Space, addresses: &Lanes, bytes: u32, access: Access) {
        let path = match space {
            Space::Shared | Space::SharedCluster => Path::Shared,
            Space::Global | Space::Generic => Path::Global,
            Space::Constant | Space::Parameter | Space::Local => return,
        };
        let address = |lane: usize| match path {
            Path::Shared => u64::from(split_shared(addresses[lane]).1),
            _ => addresses[lane],
        };
        let touched: Vec<u64> = lanes_of(lanes).map(address).collect();
        self.tally.request(pc, path, access, &touched, bytes);
    }

    pub fn atomic(&mut self, warp: usize, lanes: u32, pc: u32, atomic: &Atomic) -> Exec<()> {
        let Atomic { space, ty, op, d, address, a, b, order } = atomic;
        self.use_registers(warp, lanes, &[address.base, *a, *b], d.as_slice())?;
        let addresses = self.addresses(warp, address);
        let (a, b, bytes) = (self.value(warp, *a), self.value(warp, *b), ty.bytes());
        self.count_request(pc, lanes, *space, &addresses, bytes, Access::Write);
        for lane in lanes_of(lanes) {
            let by = Lane::ordered(warp, lane, pc, *order);
            let before = self.load(by, *space, addresses[lane], bytes)?;
            let old = extend(before.get(..bytes as usize).unwrap_or_default(), *ty, ty.bits);
            let new = combine(*op, *ty, old, a[lane], b[lane]);
            let data = new.to_le_bytes();
            self.store(by, *space, addresses[lane], data.get(..bytes as usize).unwrap_or_default())?;
            if let Some(d) = d {
                self.set_lane(warp, lane, *d, old);
            }
        }
        Ok(())
    }

    /// The place of an address in shared memory, for instructions that take no other.
    pub fn shared_place_of(
        &self,
        by: Lane,
        space: Space,
        address: u64,
        bytes: u32,
        access: Access,
    ) -> Exec<(usize, u32)> {
        match self.place(by.request(access, bytes), space, address)? {
            Place::Shared { block, index } => Ok((block, index)),
            _ => refuse(by.lane, format!("address {address:#x} is not in shared memory")),
        }
    }
}

/// An element as a register holds it: a signed one fills the register with its sign.
fn extend(bytes: &[u8], ty: Type, register_bits: u32) -> u64 {
    let mut value = [0; 8];
    for (target, byte) in value.iter_mut().zip(bytes) {
        *target = *byte;
    }
    let value = u64::from_le_bytes(value);
    if !ty.is_signed() {
        return value;
    }
    let shift = 64 - ty.bits;
    let extended = (((value << shift) as i64) >> shift) as u64;
    Type { bits: register_bits, ..ty }.truncate(extended)
}

/// What an atomic operation leaves.
pub(super) fn combine(op: AtomicOp, ty: Type, old: u64, a: u64, b: u64) -> u64 {
    let signed = |value: u64| ((value << (64 - ty.bits)) as i64) >> (64 - ty.bits);
    let result = match op {
        AtomicOp::Add if ty.is_float() => return add_floats(ty, old, a),
        AtomicOp::Add => old.wrapping_add(a),
        AtomicOp::Min if ty.is_signed() => signed(old).min(signed(a)) as u64,
        AtomicOp::Max if ty.is_signed() => signed(old).max(signed(a)) as u64,
        AtomicOp::Min => old.min(a),
        AtomicOp::Max => old.max(a),
        AtomicOp::And => old & a,
        AtomicOp::Or => old | a,
        AtomicOp::Xor => old ^ a,
        AtomicOp::Exchange => a,
        AtomicOp::CompareExchange => {
            if old == a {
                b
            } else {
                old
            }
        }
        AtomicOp::Increment => {
            if old >= a {
                0
            } else {
                old + 1
            }
        }
        AtomicOp::Decrement => {
            if old == 0 || old > a {
                a
            } else {
                old - 1
            }
        }
    };
    ty.truncate(result)
}

fn add_floats(ty: Type, old: u64, a: u64) -> u64 {
    let halves = |add: fn(u16, u16) -> u16| {
        (0..ty.lanes)
            .fold(0, |sum, at| sum | u64::from(add((old >> (16 * at)) as u16, (a >> (16 * at)) as u16)) << (16 * at))
    };
    match (ty.kind, ty.bits, ty.lanes) {
        (Kind::Float, 64, _) => (f64::from_bits(old) + f64::from_bits(a)).to_bits(),
        (Kind::Float, 32, 1) => u64::from((f32::from_bits(old as u32) + f32::from_bits(a as u32)).to_bits()),
        (Kind::Brain, ..) => halves(|x, y| (bf16::from_bits(x) + bf16::from_bits(y)).to_bits()),
        _ => halves(|x, y| (f16::from_bits(x) + f16::from_bits(y)).to_bits()),
    }
}
