//! Shuffles, votes and what else the lanes of a warp do together.

use super::memory::combine;
use crate::isa::instruction::{Shuffle, Vote, WarpOp};
use crate::isa::lanes::{Lanes, WARP, lanes_of};
use crate::run::cluster::Cluster;
use crate::run::stop::Exec;

impl Cluster<'_, '_> {
    pub fn warp_op(&mut self, warp: usize, lanes: u32, op: &WarpOp) -> Exec<()> {
        match op {
            WarpOp::Shuffle { mode, d, in_range, a, b, c, members } => {
                self.use_registers(warp, lanes, &[*a, *b, *c], &[*d])?;
                let members = self.uniform(warp, lanes, *members) as u32;
                let operands = [*a, *b, *c].map(|operand| self.value(warp, operand));
                let (values, found) = shuffle(*mode, &operands, lanes & members);
                self.set_register(warp, lanes, *d, &values);
                if let Some(in_range) = in_range {
                    self.set_predicate(warp, lanes, *in_range, found);
                }
            }
            WarpOp::Vote { mode, value, .. } => {
                let bits = self.predicate(warp, *value) & lanes;
                let all = |yes: bool| if yes { u32::MAX } else { 0 };
                match *mode {
                    Vote::All(d) => self.set_predicate(warp, lanes, d, all(bits == lanes)),
                    Vote::Any(d) => self.set_predicate(warp, lanes, d, all(bits != 0)),
                    Vote::Uniform(d) => self.set_predicate(warp, lanes, d, all(bits == 0 || bits == lanes)),
                    Vote::Ballot(d) => self.set_register(warp, lanes, d, &[bits.into(); WARP]),
                }
            }
            WarpOp::Reduce { op, ty, d, a, .. } => {
                self.use_registers(warp, lanes, &[*a], &[*d])?;
                let values = self.value(warp, *a);
                let all = lanes_of(lanes).map(|lane| values[lane]).reduce(|x, y| combine(*op, *ty, x, y, 0));
                self.set_register(warp, lanes, *d, &[all.unwrap_or(0); WARP]);
            }
            WarpOp::Elect { leader, elected, .. } => {
                let first = lanes.trailing_zeros();
                if let Some(leader) = leader {
                    self.set_register(warp, lanes, *leader, &[first.into(); WARP]);
                }
                self.set_predicate(warp, lanes, *elected, 1u32.checked_shl(first).unwrap_or(0));
            }
            WarpOp::ActiveMask { d } => self.set_register(warp, lanes, *d, &[lanes.into(); WARP]),
            WarpOp::Synchronise { .. } => self.threads.synchronise(warp, lanes),
        }
        Ok(())
    }
}

/// PTX ISA, "shfl.sync": the values, and which lanes took theirs from another in range.
fn shuffle(mode: Shuffle, [a, b, c]: &[Lanes; 3], active: u32) -> (Lanes, u32) {
    let mut found = 0;
    let values = std::array::from_fn(|lane| {
        let (by, bounds) = (b[lane] as usize & 31, c[lane] as usize);
        let (clamp, segments) = (bounds & 31, bounds >> 8 & 31);
        let first = lane & segments;
        let last = first | clamp & !segments;
        let (source, valid) = match mode {
            Shuffle::Up => (lane.wrapping_sub(by), lane >= by && lane - by >= last),
            Shuffle::Down => (lane + by, lane + by <= last),
            Shuffle::Butterfly => (lane ^ by, lane ^ by <= last),
            Shuffle::Index => (first | by & !segments, (first | by & !segments) <= last),
        };
        let source = if valid { source } else { lane };
        found |= u32::from(valid) << lane;
        // A lane that takes no part gives an undefined value.
        if active >> source & 1 == 1 { a[source & 31] } else { 0xdead_beef }
    });
    (values, found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shuffled(mode: Shuffle, by: u64, bounds: u64) -> (Lanes, u32) {
        let a = std::array::from_fn(|lane| 100 + lane as u64);
        shuffle(mode, &[a, [by; WARP], [bounds; WARP]], u32::MAX)
    }

    #[test]
    fn a_shuffle_stops_at_the_end_of_its_segment() {
        let (down, found) = shuffled(Shuffle::Down, 1, 31);
        assert_eq!((down[0], down[30], down[31], found), (101, 131, 131, 0x7fff_ffff));
        let (up, found) = shuffled(Shuffle::Up, 2, 0);
        assert_eq!((up[0], up[1], up[2], found), (100, 101, 100, 0xffff_fffc));
        let (halves, _) = shuffled(Shuffle::Down, 1, 16 << 8 | 31);
        assert_eq!((halves[14], halves[15], halves[16]), (115, 115, 117));
    }

    #[test]
    fn butterfly_and_index_reach_any_lane() {
        assert_eq!(shuffled(Shuffle::Butterfly, 16, 31).0[3], 119);
        assert_eq!(shuffled(Shuffle::Index, 5, 31).0, [105; WARP]);
    }
}
