//! The steps that lead from one schedule to its neighbours.

use std::collections::BTreeSet;

use super::lattice::Lattice;

/// Steps along an ordered axis that are worth a try.
const STRIDES: [i32; 4] = [-1, 1, -2, 2];

/// The neighbours of the schedule at `base`: one axis changed, or two that act together, and whatever the rules make
/// follow.
pub fn neighbours(lattice: &Lattice, base: usize) -> BTreeSet<usize> {
    let axes = lattice.axes(base);
    let single =
        (0..axes.len()).flat_map(|axis| targets(lattice, base, axis).into_iter().map(move |to| vec![(axis, to)]));
    let known = axes.iter().enumerate().flat_map(|(one, axis)| axis.pairs.iter().map(move |other| (one, *other)));
    let pairs = known.flat_map(|(one, other)| {
        let (ones, others) = (targets(lattice, base, one), targets(lattice, base, other));
        ones.into_iter().flat_map(move |a| others.clone().into_iter().map(move |b| vec![(one, a), (other, b)]))
    });
    let mut found: BTreeSet<usize> = single.chain(pairs).filter_map(|fixed| lattice.nearest(base, &fixed)).collect();
    found.remove(&base);
    found
}

/// The values that `axis` may step to from the schedule at `base`.
fn targets(lattice: &Lattice, base: usize, axis: usize) -> Vec<u16> {
    let (at, length) = (lattice.point(base)[axis], lattice.length(base, axis));
    if !lattice.axes(base)[axis].is_ordered {
        return (0..length).filter(|&value| value != at).collect();
    }
    let steps = STRIDES.into_iter().map(|stride| i32::from(at) + stride);
    steps.filter(|&to| (0..i32::from(length)).contains(&to)).map(|to| to as u16).collect()
}
