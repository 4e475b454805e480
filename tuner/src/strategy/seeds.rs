//! Where a search starts: what is known of similar problems, then a spread of what arithmetic finds promising.

use std::collections::HashSet;

use autokernel_codegen::config::{Config, Entry};
use autokernel_codegen::schedule::Family;
use autokernel_codegen::shape::Shape;

use super::brief::Known;
use super::lattice::{Knob, Lattice};
use crate::target::Target;

/// Which tuned entries may seed a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbours {
    /// All of them, the target's own included.
    All,
    /// Those of other shapes. For replays: the entry of the recorded shape may be the answer itself.
    OtherShapes,
}

/// Most tuned entries that seed one search.
const MOST_NEIGHBOURS: usize = 4;

/// The entries of `config` that may suit `target`, nearest first: by shape, then by class.
pub fn neighbours(config: &Config, target: &Target, which: Neighbours) -> Vec<Known> {
    let class = target.problem.class();
    let serves = |entry: &&Entry| {
        let allowed = which == Neighbours::All || entry.shape != target.shape;
        allowed && entry.arch == target.arch && class.distance(&entry.problem).is_some()
    };
    let mut entries: Vec<&Entry> = config.entries.iter().filter(serves).collect();
    let rank = |entry: &Entry| (distance(entry.shape, target.shape), class.distance(&entry.problem));
    entries.sort_by(|a, b| {
        let ((near, other), (far, another)) = (rank(a), rank(b));
        near.total_cmp(&far).then(other.cmp(&another))
    });
    let mut known: Vec<Known> = Vec::new();
    for entry in entries {
        if known.len() < MOST_NEIGHBOURS && known.iter().all(|other| other.schedule != entry.schedule) {
            let origin = format!("tuned for {}, {:.4} ms there", entry.shape, entry.provenance.median_ms);
            known.push(Known { schedule: entry.schedule, origin });
        }
    }
    known
}

/// How far apart two shapes are: a factor counts, not a difference.
fn distance(a: Shape, b: Shape) -> f64 {
    let runtime = |shape: Shape| autokernel_runtime::Shape::new(shape.m, shape.n, shape.k);
    runtime(a).distance(runtime(b))
}

/// Up to `n` of `ranked` that differ from each other in tile or crew, and where they do not, in the cluster.
pub(super) fn spread(lattice: &Lattice, ranked: &[usize], taken: &[usize], n: usize) -> Vec<usize> {
    let mut seen: HashSet<(Family, [u8; 3])> = taken.iter().map(|&index| look(lattice, index)).collect();
    let fresh = ranked.iter().copied().filter(|&index| !taken.contains(&index) && seen.insert(look(lattice, index)));
    fresh.take(n).collect()
}

/// What makes two schedules look alike: family, tile and crew.
pub(super) fn look(lattice: &Lattice, index: usize) -> (Family, [u8; 3]) {
    let point = lattice.point(index);
    let knobs = [Knob::TileM, Knob::TileN, Knob::Crew].map(|knob| point[knob as usize]);
    (lattice.schedule(index).family(), knobs)
}
