//! The steps that lead from one schedule to its neighbours.

use std::collections::BTreeSet;

use super::lattice::{Knob, Lattice};

/// Steps along an ordered knob that are worth a try.
const STRIDES: [i16; 4] = [-1, 1, -2, 2];

/// The neighbours of the schedule at `base`: one knob changed, or two that act together, and whatever the rules make
/// follow.
pub fn neighbours(lattice: &Lattice, base: usize) -> BTreeSet<usize> {
    let single =
        Knob::ALL.iter().flat_map(|&knob| targets(lattice, base, knob).into_iter().map(move |to| vec![(knob, to)]));
    let pairs = PAIRS.iter().flat_map(|&(one, other)| {
        let (ones, others) = (targets(lattice, base, one), targets(lattice, base, other));
        ones.into_iter().flat_map(move |a| others.clone().into_iter().map(move |b| vec![(one, a), (other, b)]))
    });
    let mut found: BTreeSet<usize> = single.chain(pairs).filter_map(|fixed| lattice.nearest(base, &fixed)).collect();
    found.remove(&base);
    found
}

/// Knobs whose effects depend on each other: the tile's area and aspect, how many blocks there is work for, and which
/// way a group runs.
const PAIRS: [(Knob, Knob); 6] = [
    (Knob::TileM, Knob::TileN),
    (Knob::TileM, Knob::SwapAB),
    (Knob::TileN, Knob::SplitK),
    (Knob::TileM, Knob::Crew),
    (Knob::TileN, Knob::Crew),
    (Knob::RasterOrder, Knob::RasterGroup),
];

/// The values that `knob` may step to from the schedule at `base`.
fn targets(lattice: &Lattice, base: usize, knob: Knob) -> Vec<u8> {
    let (at, length) = (lattice.point(base)[knob as usize], lattice.length(base, knob));
    if !knob.is_ordered() {
        return (0..length).filter(|&value| value != at).collect();
    }
    let steps = STRIDES.into_iter().map(|stride| i16::from(at) + stride);
    steps.filter(|&to| (0..i16::from(length)).contains(&to)).map(|to| to as u8).collect()
}
