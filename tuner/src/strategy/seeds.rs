//! Where a search starts: what is known of similar problems, then a spread of what arithmetic finds promising.

use std::collections::HashSet;

use autokernel_codegen::config::{Config, Entry};
use autokernel_codegen::schedule::{Family, Schedule};
use autokernel_core::Ms;
use rand::RngExt;
use rand_pcg::Pcg64;

use super::brief::Brief;
use super::lattice::Lattice;
use crate::bridge::distance;
use crate::known::Known;
use crate::target::Target;
use crate::trial::Trial;

/// Which tuned entries may seed a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbours {
    /// All of them, the target's own included.
    All,
    /// Those of other shapes. For replays: the entry of the recorded shape may be the answer itself.
    OtherShapes,
}

/// Trials of other searches for the same target that a search begins with.
const FASTEST_BEFORE: usize = 3;
/// Most tuned entries that seed one search.
const MOST_NEIGHBOURS: usize = 4;

/// The entries of `config` that may suit `target`, nearest first: by shape, then by class.
pub fn neighbours(config: &Config, target: &Target, which: Neighbours) -> Vec<Known> {
    let class = target.problem.class();
    let serves = |entry: &&Entry| {
        let allowed = which == Neighbours::All || entry.extents != target.shape;
        allowed && entry.arch == target.arch && class.distance(&entry.problem).is_some()
    };
    let mut entries: Vec<&Entry> = config.entries.iter().filter(serves).collect();
    let rank = |entry: &Entry| (distance(entry.extents, target.shape), class.distance(&entry.problem));
    entries.sort_by(|a, b| {
        let ((near, other), (far, another)) = (rank(a), rank(b));
        near.total_cmp(&far).then(other.cmp(&another))
    });
    let mut known: Vec<Known> = Vec::new();
    for entry in entries {
        if known.len() < MOST_NEIGHBOURS && known.iter().all(|other| other.schedule != entry.schedule) {
            let origin = format!("tuned for {}, {} there", entry.extents, Ms(entry.provenance.median_ms));
            known.push(Known { schedule: entry.schedule, origin });
        }
    }
    known
}

/// The schedules of `space` with a record: the [`neighbours`], the operation's own portfolio, then the default of the arch.
pub fn known(config: &Config, target: &Target, space: &[Schedule], which: Neighbours) -> Vec<Known> {
    let mut known = neighbours(config, target, which);
    let class = target.problem.class();
    let own = class.portfolio(target.arch).into_iter();
    known.extend(own.map(|schedule| Known { schedule, origin: "of those that serve what nobody tuned".to_owned() }));
    let default = class.default_schedule(target.arch);
    known.push(Known { schedule: default, origin: format!("default for {}", target.arch) });
    known.retain(|known| space.contains(&known.schedule));
    known
}

/// All indices by `prior`. What it cannot tell apart is shuffled, so that seeds differ from run to run in that.
pub(super) fn ranked(prior: &[f64], rng: &mut Pcg64) -> Vec<usize> {
    let tie: Vec<u32> = prior.iter().map(|_| rng.random()).collect();
    let mut ranked: Vec<usize> = (0..prior.len()).collect();
    ranked.sort_by(|&a, &b| prior[a].total_cmp(&prior[b]).then(tie[a].cmp(&tie[b])));
    ranked
}

/// What a search begins with, last first: the fastest of its target's history, what is known, then a spread of what
/// the prior likes and the history does not tell of, to `share` of the budget.
pub(super) fn first(brief: &Brief, lattice: &Lattice, ranked: &[usize], share: f64) -> Vec<usize> {
    let count = ((brief.usual_budget() as f64 * share) as usize).clamp(4, 32);
    let mut timed: Vec<&Trial> = own_history(brief).filter(|trial| trial.cost().is_some()).collect();
    timed.sort_by(|a, b| a.cost().unwrap_or_default().total_cmp(&b.cost().unwrap_or_default()));
    let fastest = timed.into_iter().take(FASTEST_BEFORE).map(|trial| trial.schedule);
    let mut seeds: Vec<usize> = Vec::new();
    for schedule in fastest.chain(brief.known.iter().map(|known| known.schedule)) {
        if let Some(index) = lattice.find(&schedule).filter(|index| !seeds.contains(index)) {
            seeds.push(index);
        }
    }
    let told: HashSet<usize> = own_history(brief).filter_map(|trial| lattice.find(&trial.schedule)).collect();
    let untold: Vec<usize> = ranked.iter().copied().filter(|index| !told.contains(index)).collect();
    let more = spread(lattice, &untold, &seeds, count.saturating_sub(seeds.len()));
    seeds.extend(more);
    seeds.reverse();
    seeds
}

/// What the brief's history says of the target: indices, and the logarithm of their time or none if they failed.
/// Without `seeds`, which are proposed again: the journal answers them, and they count as this search's own.
pub(super) fn told_before<'b>(
    brief: &'b Brief,
    lattice: &'b Lattice,
    seeds: &'b [usize],
) -> impl Iterator<Item = (usize, Option<f64>)> + 'b {
    let told = |trial: &Trial| Some((lattice.find(&trial.schedule)?, trial.cost().map(f64::ln)));
    own_history(brief).filter_map(told).filter(|(index, _)| !seeds.contains(index))
}

fn own_history(brief: &Brief) -> impl Iterator<Item = &Trial> {
    brief.history.iter().filter(|trial| *trial.target == brief.target)
}

/// A family, and values of its knobs.
pub(super) type Look = (Family, Vec<u16>);

/// Up to `n` of `ranked` that differ from each other in [look].
pub(super) fn spread(lattice: &Lattice, ranked: &[usize], taken: &[usize], n: usize) -> Vec<usize> {
    let mut seen: HashSet<Look> = taken.iter().map(|&index| look(lattice, index)).collect();
    let fresh = ranked.iter().copied().filter(|&index| !taken.contains(&index) && seen.insert(look(lattice, index)));
    fresh.take(n).collect()
}

/// What makes two schedules look alike: family, and all knobs but those that make variants; tile and crew above all.
pub(super) fn look(lattice: &Lattice, index: usize) -> Look {
    let axes = lattice.axes(index).iter().zip(lattice.point(index));
    let values = axes.filter(|(axis, _)| !axis.is_variant).map(|(_, value)| *value);
    (lattice.schedule(index).family(), values.collect())
}
