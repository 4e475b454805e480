//! Instructions that each lane executes for itself, on registers alone.

use crate::isa::instruction::{Compare, Logic};
use crate::isa::lanes::{Lanes, WARP, lanes_of};
use crate::isa::operand::PredicateSource;
use crate::isa::semantics::convert::convert;
use crate::isa::types::Space;
use crate::isa::{Op, Predicate, Register, Source};
use crate::run::address::{from_generic, shared_address, split_shared, to_generic};
use crate::run::cluster::Cluster;
use crate::run::stop::{Exec, refuse};

impl Cluster<'_, '_> {
    pub fn lanewise(&mut self, warp: usize, lanes: u32, op: &Op) -> Exec<()> {
        match op {
            Op::Lanewise { apply, d, operands } => {
                self.use_registers(warp, lanes, operands, &[*d])?;
                let (mut rooms, mut result) = ([[0; WARP]; 3], [0; WARP]);
                let [of_a, of_b, of_c] = &mut rooms;
                let a = self.value_in(warp, operands[0], of_a);
                let b = self.value_in(warp, operands[1], of_b);
                apply(a, b, self.value_in(warp, operands[2], of_c), &mut result);
                self.set_register(warp, lanes, *d, &result);
            }
            Op::Quaternary { apply, d, operands } => {
                self.use_registers(warp, lanes, operands, &[*d])?;
                let [a, b, c, e] = operands.map(|operand| self.value(warp, operand));
                let result = std::array::from_fn(|lane| apply(a[lane], b[lane], c[lane], e[lane]));
                self.set_register(warp, lanes, *d, &result);
            }
            Op::Convert { d, a, conversion } => {
                self.use_registers(warp, lanes, &[*a], &[*d])?;
                let mut room = [0; WARP];
                let a = self.value_in(warp, *a, &mut room);
                let result = std::array::from_fn(|lane| convert(conversion, a[lane], d.bits));
                self.set_register(warp, lanes, *d, &result);
            }
            Op::Compare(compare) => self.compare(warp, lanes, compare)?,
            Op::Logic { op, d, a, b } => self.logic(warp, lanes, *op, *d, [*a, *b]),
            Op::Select { d, a, b, condition } => {
                self.use_registers(warp, lanes, &[*a, *b], &[*d])?;
                let condition = self.predicate(warp, *condition);
                let mut rooms = [[0; WARP]; 2];
                let [of_a, of_b] = &mut rooms;
                let (a, b) = (self.value_in(warp, *a, of_a), self.value_in(warp, *b, of_b));
                let pick = |lane: usize| if condition >> lane & 1 == 1 { a[lane] } else { b[lane] };
                self.set_register(warp, lanes, *d, &std::array::from_fn(pick));
            }
            Op::Pack { d, parts, part_bits } => {
                self.use_registers(warp, lanes, parts, &[*d])?;
                let mut result = [0; WARP];
                for (at, part) in parts.iter().enumerate() {
                    let value = self.value(warp, *part);
                    result.iter_mut().zip(value).for_each(|(to, part)| *to |= part << (at as u32 * part_bits));
                }
                self.set_register(warp, lanes, *d, &result);
            }
            Op::Unpack { parts, part_bits, a } => self.unpack(warp, lanes, parts, *part_bits, *a)?,
            Op::ConvertAddress { d, a, space, to_generic } => {
                self.convert_address(warp, lanes, *d, *a, *space, *to_generic)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Checks the use of registers against wgmmas in flight, and remembers it for their fences.
    pub fn use_registers(&mut self, warp: usize, lanes: u32, reads: &[Source], writes: &[Register]) -> Exec<()> {
        self.guard_in_flight(warp, lanes, reads, writes)?;
        let wgmma = &mut self.warps[warp].wgmma;
        if wgmma.used.is_empty() {
            return Ok(());
        }
        wgmma.now += 1;
        let read = reads.iter().filter_map(|source| match source {
            Source::Register(register) => Some(register.index),
            _ => None,
        });
        for index in read.chain(writes.iter().map(|register| register.index)) {
            if let Some(used) = wgmma.used.get_mut(index as usize) {
                *used = wgmma.now;
            }
        }
        Ok(())
    }

    fn compare(&mut self, warp: usize, lanes: u32, compare: &Compare) -> Exec<()> {
        let Compare { test, a, b, combine, d, opposite } = compare;
        self.use_registers(warp, lanes, &[*a, *b], &[])?;
        let mut rooms = [[0; WARP]; 2];
        let [of_a, of_b] = &mut rooms;
        let bits = test(self.value_in(warp, *a, of_a), self.value_in(warp, *b, of_b));
        let combined = |bits: u32| match combine {
            Some((logic, with)) => apply(*logic, bits, self.predicate(warp, *with)),
            None => bits,
        };
        let (result, opposed) = (combined(bits), combined(!bits));
        if let Some(d) = d {
            self.set_predicate(warp, lanes, *d, result);
        }
        if let Some(opposite) = opposite {
            self.set_predicate(warp, lanes, *opposite, opposed);
        }
        Ok(())
    }

    fn logic(&mut self, warp: usize, lanes: u32, op: Logic, d: Predicate, [a, b]: [PredicateSource; 2]) {
        let bits = apply(op, self.predicate(warp, a), self.predicate(warp, b));
        self.set_predicate(warp, lanes, d, bits);
    }

    fn unpack(&mut self, warp: usize, lanes: u32, parts: &[Option<Register>], part_bits: u32, a: Source) -> Exec<()> {
        let value = self.value(warp, a);
        let mask = (1u64 << part_bits) - 1;
        for (at, part) in parts.iter().enumerate() {
            let Some(part) = part else { continue };
            self.use_registers(warp, lanes, &[a], &[*part])?;
            let result = value.map(|value| value >> (at as u32 * part_bits) & mask);
            self.set_register(warp, lanes, *part, &result);
        }
        Ok(())
    }

    fn convert_address(
        &mut self,
        warp: usize,
        lanes: u32,
        d: Register,
        a: Source,
        space: Space,
        generic: bool,
    ) -> Exec<()> {
        self.use_registers(warp, lanes, &[a], &[d])?;
        let convert = if generic { to_generic } else { from_generic };
        let result = self.value(warp, a).map(|address| convert(space, address));
        self.set_register(warp, lanes, d, &result);
        Ok(())
    }

    /// `mapa`: the same place in the shared memory of the block of a rank.
    pub fn map_to_peer(
        &mut self,
        warp: usize,
        lanes: u32,
        d: Register,
        [a, rank]: [Source; 2],
        generic: bool,
    ) -> Exec<()> {
        let (addresses, ranks) = (self.value(warp, a), self.value(warp, rank));
        let mut result: Lanes = [0; WARP];
        for lane in lanes_of(lanes) {
            let (_, offset) = split_shared(addresses[lane]);
            if ranks[lane] >= self.blocks.len() as u64 {
                let count = self.blocks.len();
                return refuse(lane, format!("block {} of a cluster of {count}", ranks[lane]));
            }
            let address = shared_address(ranks[lane] as u32, offset).into();
            result[lane] = if generic { to_generic(Space::SharedCluster, address) } else { address };
        }
        self.set_register(warp, lanes, d, &result);
        Ok(())
    }

    pub fn rank_of_address(&mut self, warp: usize, lanes: u32, d: Register, a: Source) {
        let ranks = self.value(warp, a).map(|address| split_shared(address & 0xffff_ffff).0.into());
        self.set_register(warp, lanes, d, &ranks);
    }
}

fn apply(op: Logic, a: u32, b: u32) -> u32 {
    match op {
        Logic::And => a & b,
        Logic::Or => a | b,
        Logic::Xor => a ^ b,
        Logic::Not => !a,
        Logic::Move => a,
    }
}
