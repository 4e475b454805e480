//! Boxes of tensors: which bytes of memory they are, and how they lie in shared memory (PTX ISA, "Tensors").

use crate::check::{Event, Touch};
use crate::device::{GlobalMemory, HANDLE_BYTES, TensorMap};
use crate::fault::{Access, FaultKind};
use crate::isa::types::Space;
use crate::isa::{Address, Source};
use crate::run::access::{Lane, aligned};
use crate::run::address::out_of_bounds;
use crate::run::cluster::Cluster;
use crate::run::pending::{PendingCopy, Target, TensorBox, Work};
use crate::run::place::Place;
use crate::run::stop::{Exec, refuse, stop};

/// What TMA moves and clips to, and begins a box at, in bytes.
const UNIT: u64 = 16;

/// One innermost row of a box.
struct Row {
    /// Its number in the box: where it lies in shared memory.
    number: u64,
    /// The part that is inside the tensor: where in memory, where in the row, and how many bytes. None if there is none.
    inside: Option<(u64, u64, u64)>,
}

impl TensorBox {
    pub fn bytes(&self) -> u32 {
        u32::try_from(self.map.box_bytes()).unwrap_or(u32::MAX)
    }

    fn rows(&self) -> impl Iterator<Item = Row> + '_ {
        let rows: u64 = self.map.extents.iter().skip(1).map(|&extent| u64::from(extent)).product();
        (0..rows).map(|number| Row { number, inside: self.inside(number) })
    }

    fn inside(&self, row: u64) -> Option<(u64, u64, u64)> {
        let TensorMap { base, element, dimensions, strides, extents, .. } = &self.map;
        let (mut left, mut address) = (row, *base);
        let outer = extents.iter().zip(&self.at).zip(dimensions).skip(1).zip(strides);
        for (((&extent, &start), &dimension), &stride) in outer {
            let index = u64::try_from(start + (left % u64::from(extent)) as i64).ok()?;
            if index >= dimension {
                return None;
            }
            left /= u64::from(extent);
            address += index * stride;
        }
        let (&extent, &start, &dimension) = (extents.first()?, self.at.first()?, dimensions.first()?);
        let bytes = u64::from(element.bytes());
        let (first, end) = (start.max(0) as u64, u64::try_from(start + i64::from(extent)).ok()?.min(dimension));
        if first >= end {
            return None;
        }
        let skipped = (first as i64 - start) as u64;
        Some((address + first * bytes, skipped * bytes, (end - first) * bytes))
    }

    /// The box as it lies in shared memory at `shared`, an offset in the block's window.
    pub fn load(&self, memory: &mut GlobalMemory, shared: u32) -> Vec<u8> {
        let row_bytes = self.map.row_bytes();
        let fill = self.map.fill_bytes();
        let mut data = vec![0; self.bytes() as usize];
        for row in self.rows() {
            let mut bytes: Vec<u8> = fill.iter().copied().cycle().take(row_bytes as usize).collect();
            if let Some((address, skipped, count)) = row.inside
                && let Some((allocation, at)) = memory.find(address, count)
            {
                let source = allocation.bytes.get(at..at + count as usize).unwrap_or_default();
                bytes.iter_mut().skip(skipped as usize).zip(source).for_each(|(to, from)| *to = *from);
            }
            for (unit, part) in bytes.chunks(UNIT as usize).enumerate() {
                let target = self.place(shared, row.number * row_bytes + unit as u64 * UNIT);
                let range = target..target + part.len();
                data.get_mut(range).unwrap_or_default().iter_mut().zip(part).for_each(|(to, from)| *to = *from);
            }
        }
        data
    }

    /// Writes a box that lay at `shared` to memory.
    pub fn store(&self, memory: &mut GlobalMemory, shared: u32, data: &[u8]) {
        for (address, bytes) in self.written(shared, data) {
            let Some((allocation, at)) = memory.find(address, bytes.len() as u64) else { continue };
            allocation.bytes.get_mut(at..at + bytes.len()).unwrap_or_default().copy_from_slice(&bytes);
        }
    }

    /// What a box that lies at `shared` writes, row by row: where, and which bytes.
    fn written<'s>(&'s self, shared: u32, data: &'s [u8]) -> impl Iterator<Item = (u64, Vec<u8>)> + 's {
        let row_bytes = self.map.row_bytes();
        self.rows().filter_map(move |row| {
            let (address, skipped, count) = row.inside?;
            let unit =
                |byte: u64| self.place(shared, row.number * row_bytes + byte / UNIT * UNIT) + (byte % UNIT) as usize;
            let bytes = skipped..skipped + clipped(skipped, count, row_bytes);
            Some((address, bytes.map(|byte| data.get(unit(byte)).copied().unwrap_or(0)).collect()))
        })
    }

    /// Where a byte of the box, by its offset without swizzle, lies in the copied bytes.
    fn place(&self, shared: u32, offset: u64) -> usize {
        let address = shared.wrapping_add(offset as u32);
        self.map.swizzle.apply(address).wrapping_sub(shared) as usize
    }
}

/// A store writes whole units: what of the last one lies behind the tensor's edge is written too.
fn clipped(skipped: u64, count: u64, row_bytes: u64) -> u64 {
    ((skipped + count).next_multiple_of(UNIT)).min(row_bytes) - skipped
}

impl Cluster<'_, '_> {
    /// The box that an instruction names.
    pub(super) fn tensor_box(&self, by: Lane, map: &Address, at: &[Source]) -> Exec<TensorBox> {
        let address = self.addresses(by.warp, map)[by.lane];
        let map = self.tensor_map(by, address)?;
        let at: Vec<i64> = at.iter().map(|source| i64::from(self.value(by.warp, *source)[by.lane] as i32)).collect();
        if at.len() != map.dimensions.len() {
            let (given, rank) = (at.len(), map.dimensions.len());
            return refuse(by.lane, format!("{given} coordinates for a tensor of {rank} dimensions"));
        }
        let offset = at.first().copied().unwrap_or(0) * i64::from(map.element.bytes());
        if offset.rem_euclid(UNIT as i64) != 0 {
            return stop(by.lane, FaultKind::BoxStart { offset });
        }
        if map.box_bytes() > u64::from(self.context.shared_bytes) {
            return refuse(by.lane, format!("a box of {} bytes, more than the block has", map.box_bytes()));
        }
        Ok(TensorBox { map, at })
    }

    /// The map at a generic address: in parameters, or in global memory.
    fn tensor_map(&self, by: Lane, address: u64) -> Exec<TensorMap> {
        aligned(by.lane, "generic", address, 64)?;
        let request = by.request(Access::Read, HANDLE_BYTES as u32);
        let bytes = match self.place(request, Space::Generic, address)? {
            Place::Parameter(offset) => self.parameters(offset, HANDLE_BYTES as u32),
            _ => return refuse(by.lane, "the tensor map is not in the kernel's parameters"),
        };
        TensorMap::decode(bytes).or_else(|error| stop(by.lane, FaultKind::TensorMap(error)))
    }

    pub(super) fn prefetch_map(&mut self, warp: usize, lanes: u32, address: &Address) -> Exec<()> {
        let lane = lanes.trailing_zeros() as usize;
        let by = Lane::weak(warp, lane, 0);
        let address = self.addresses(warp, address)[lane];
        self.tensor_map(by, address).map(drop)
    }

    pub(super) fn prefetch_tensor(&mut self, by: Lane, tensor: &TensorBox) -> Exec<()> {
        let mut rows = tensor.rows().filter_map(|row| row.inside);
        rows.try_for_each(|(address, _, count)| self.prefetch(by, address, count))
    }

    /// Checks that there is memory; what it holds does not matter, nor who writes it meanwhile.
    pub(super) fn prefetch(&mut self, by: Lane, address: u64, count: u64) -> Exec<()> {
        if self.memory.find(address, count).is_some() {
            return Ok(());
        }
        let note = self.memory.describe(address);
        out_of_bounds(by.request(Access::Read, count as u32), "global", address, note)
    }

    /// Checks the bytes of memory that a load will read.
    pub(super) fn read_tensor(&mut self, by: Lane, tensor: &TensorBox, barrier: (usize, u32)) -> Exec<()> {
        let event = self.load_event(by, barrier);
        for (address, _, count) in tensor.rows().filter_map(|row| row.inside) {
            self.reach(by, Place::Global(address), event, Access::Read, count as u32)?;
        }
        Ok(())
    }

    /// Checks the bytes of memory that a store of what lies at `from` will write.
    pub(super) fn write_tensor(
        &mut self,
        by: Lane,
        tensor: &TensorBox,
        (block, index): (usize, u32),
        event: Event,
    ) -> Exec<()> {
        let shared = &self.blocks[block].shared;
        let range = index as usize..index as usize + tensor.bytes() as usize;
        let data = shared.get(range).unwrap_or_default().to_vec();
        let pending = self.stored_by(by);
        for (address, bytes) in tensor.written(self.context.shared_base + index, &data) {
            let mut at = address;
            for part in self.are_there(&pending, address, &bytes).chunk_by(|a, b| a == b) {
                let touch = Touch { event, access: Access::Write, again: part.first() == Some(&true) };
                self.reach_global(by, at, touch, part.len() as u32)?;
                at += part.len() as u64;
            }
        }
        Ok(())
    }

    /// What stores of that lane that are under way write.
    fn stored_by(&self, by: Lane) -> Vec<(u64, Vec<u8>)> {
        let base = self.context.shared_base;
        let of = |copy: &PendingCopy| match &copy.work {
            Work::Store { from, bytes, to: Target::Tensor(tensor), read, .. }
                if (copy.warp, copy.lane) == (by.warp, by.lane) =>
            {
                let range = from.1 as usize..(from.1 + bytes) as usize;
                let here = self.blocks[from.0].shared.get(range).unwrap_or_default();
                Vec::from_iter(tensor.written(base + from.1, read.as_deref().unwrap_or(here)))
            }
            _ => Vec::new(),
        };
        self.copies.iter().flat_map(of).collect()
    }

    /// Of each byte at `address` whether it is what `pending` stores leave there or, where none writes it, what lies there.
    fn are_there(&mut self, pending: &[(u64, Vec<u8>)], address: u64, bytes: &[u8]) -> Vec<bool> {
        let end = |start: u64, bytes: &[u8]| start + bytes.len() as u64;
        let meets = |other: &&(u64, Vec<u8>)| other.0 < end(address, bytes) && address < end(other.0, &other.1);
        let pending: Vec<_> = pending.iter().filter(meets).collect();
        let lying = self.memory.find(address, bytes.len() as u64);
        let lying = lying.and_then(|(allocation, at)| allocation.bytes.get(at..at + bytes.len())).unwrap_or_default();
        let is_there = |(at, byte): (u64, &u8)| {
            let of = |(start, other): &(u64, Vec<u8>)| other.get((address + at).checked_sub(*start)? as usize).copied();
            let mut left = pending.iter().filter_map(|store| of(store));
            match left.next() {
                Some(first) => first == *byte && left.all(|other| other == *byte),
                None => lying.get(at as usize) == Some(byte),
            }
        };
        (0..).zip(bytes).map(is_there).collect()
    }
}
