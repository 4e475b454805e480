//! What a winner has to beat.

use autokernel_codegen::config::{Config, Entry, Provenance};
use autokernel_codegen::schedule::Schedule;

use super::origin::Origin;
use crate::bridge::distance;
use crate::chosen;
use crate::gpu_facts::GpuFacts;
use crate::target::Target;

/// What the build uses for a target today.
#[derive(Clone, Debug, PartialEq)]
pub struct Incumbent {
    /// The schedule.
    pub schedule: Schedule,
    /// Where it is from.
    pub origin: Origin,
    /// How it was measured, if it is the entry of exactly this target, which a winner would replace.
    pub provenance: Option<Provenance>,
}

impl Incumbent {
    /// Whether it is the entry of exactly this target.
    pub const fn is_exact(&self) -> bool {
        self.provenance.is_some()
    }

    /// The GPU on which it won its place in a final under load, if it did.
    pub fn won_on(&self) -> Option<&str> {
        self.provenance.as_ref().filter(|won| won.final_rounds > 0).map(|won| won.gpu.as_str())
    }
}

/// The schedule that a launch of `target` on `gpu` takes when it was built with `config`, by the order of the runtime: that of
/// an entry for exactly this shape, else that of one for a range that holds it, else what is predicted to be fastest of the
/// portfolio, else that of the entry nearest in shape, else the default. Entries of other GPUs count where that portfolio was measured
/// on none.
pub fn incumbent(config: &Config, target: &Target, gpu: &GpuFacts) -> Incumbent {
    let predicted = chosen::predicted(config, target, gpu);
    let is_fitted = predicted.is_some() && !config.measured_on(&target.problem, target.arch).is_empty();
    let counts = |entry: &&Entry| !is_fitted || entry.provenance.is_by_hand() || gpu.is_called(&entry.provenance.gpu);
    let mut entries = config.entries_for(&target.problem, target.arch);
    entries.retain(counts);
    let exact = entries.iter().filter(|entry| entry.range.is_none() && entry.extents == target.shape);
    // Of entries for the same shape the same GPU's comes first.
    let is_elsewhere = |entry: &&&Entry| !gpu.is_called(&entry.provenance.gpu);
    if let Some(entry) = exact.min_by_key(is_elsewhere) {
        return of_entry(entry, target);
    }
    let ranges = entries.iter().filter_map(|entry| Some((entry.range?, entry)));
    let holding = ranges.filter(|(range, entry)| range.holds(&entry.extents, &target.shape));
    if let Some((_, entry)) = holding.min_by_key(|(range, entry)| (range.count(), is_elsewhere(entry))) {
        return of_entry(entry, target);
    }
    let untuned = |schedule, origin| Incumbent { schedule, origin, provenance: None };
    if let Some((schedule, _)) = predicted {
        return untuned(schedule, Origin::Predicted);
    }
    let far = |entry: &Entry| distance(entry.extents, target.shape);
    match entries.into_iter().min_by(|a, b| far(a).total_cmp(&far(b))) {
        Some(entry) => of_entry(entry, target),
        None => untuned(target.problem.class().default_schedule(target.arch), Origin::Default(target.arch)),
    }
}

fn of_entry(entry: &Entry, target: &Target) -> Incumbent {
    let Entry { problem, extents, range, schedule, provenance, .. } = entry;
    let is_own = *problem == target.problem.class();
    // A winner at the last size of a range comes beside the range's entry.
    let provenance = (is_own && range.is_none() && *extents == target.shape).then(|| provenance.clone());
    let other = (!is_own).then(|| Box::new(problem.clone()));
    Incumbent { schedule: *schedule, origin: Origin::Tuned { shape: *extents, other }, provenance }
}

#[cfg(test)]
mod tests {
    use autokernel_codegen::arch::Arch;
    use autokernel_core::{Extents, dim};
    use serde_json::json;

    use super::*;
    use crate::chosen::tests::{H200, product, shipped};

    fn softmax(columns: u32) -> Target {
        let operand = |name, role| json!({"name": name, "kind": "matrix", "dtype": "bf16", "role": role});
        let exp = json!({"call": ["exp", [{"variable": "x"}]]});
        let quotient = json!({"binary": ["divide", {"variable": "e"}, {"variable": "sum"}]});
        let problem = json!({
            "operation": "rows",
            "operands": [operand("x", "input"), operand("out", "output")],
            "steps": [
                {"let": {"name": "e", "value": exp}},
                {"reduce": {"name": "sum", "reduction": "sum", "of": {"variable": "e"}}},
                {"store": {"output": "out", "value": quotient}},
            ],
        });
        let shape = Extents::new([(dim("rows"), 4096), (dim("columns"), columns)]);
        Target { problem: serde_json::from_value(problem).unwrap(), arch: Arch::SM_90A, shape }
    }

    #[test]
    fn where_nothing_was_tuned_a_winner_must_beat_what_a_launch_would_take() {
        let gpu = serde_json::from_str(H200).unwrap();
        let at = |columns| incumbent(&Config::default(), &softmax(columns), &gpu);
        assert_eq!(at(4096).origin, Origin::Predicted);
        let [narrow, wide] = [256, 65_536].map(|columns| at(columns).schedule);
        assert_ne!(narrow, wide);
        assert_ne!(wide, softmax(1).problem.class().default_schedule(Arch::SM_90A));
    }

    #[test]
    fn an_untuned_product_must_be_beaten_at_what_is_predicted_and_a_tuned_one_at_its_entry() {
        let (config, gpu) = (shipped(), serde_json::from_str::<GpuFacts>(H200).unwrap());
        let target = product([300, 1300, 2100]);
        let untuned = incumbent(&config, &target, &gpu);
        assert_eq!((&untuned.origin, untuned.is_exact()), (&Origin::Predicted, false));
        assert_eq!(Some(untuned.schedule), chosen::predicted(&config, &target, &gpu).map(|(schedule, _)| schedule));

        let entry = config.entries.iter().find(|entry| entry.problem == target.problem.class()).unwrap();
        let tuned = incumbent(&config, &Target { shape: entry.extents, ..target.clone() }, &gpu);
        assert_eq!((tuned.schedule, tuned.is_exact()), (entry.schedule, true));

        let without_portfolio = Config { portfolios: Vec::new(), ..config };
        let borrowed = incumbent(&without_portfolio, &target, &gpu);
        assert!(matches!(borrowed.origin, Origin::Tuned { .. }) && !borrowed.is_exact(), "{borrowed:?}");
    }

    #[test]
    fn what_has_no_entry_of_its_own_takes_that_of_the_narrowest_range_that_holds_it() {
        let (mut config, gpu) = (shipped(), serde_json::from_str::<GpuFacts>(H200).unwrap());
        let target = product([300, 1300, 2100]);
        let entry = config.entries.iter().find(|entry| entry.problem == target.problem.class()).unwrap().clone();
        let mut ranged = |range: &str, group| {
            let range: autokernel_core::Span = range.parse().unwrap();
            let extents = range.at(&target.shape, range.last).unwrap();
            let schedule = entry.schedule.with("raster_group", group).unwrap();
            config.entries.push(Entry { extents, range: Some(range), schedule, ..entry.clone() });
            schedule
        };
        let (wide, narrow) = (ranged("m=1..=300", 1), ranged("m=256..=512", 2));
        let taken = |m| incumbent(&config, &product([m, 1300, 2100]), &gpu);
        assert_eq!([200, 299, 300, 512].map(|m| taken(m).schedule), [wide, narrow, narrow, narrow]);
        assert_eq!(
            [200, 300, 512].map(|m| taken(m).is_exact()),
            [false; 3],
            "a winner at the last size comes beside them, too"
        );
        let beside = incumbent(&config, &product([300, 1300, 2101]), &gpu);
        assert_eq!(beside.origin, Origin::Predicted);
    }

    #[test]
    fn an_entry_of_another_gpu_is_no_incumbent_where_the_portfolio_was_measured() {
        let (config, gpu) = (shipped(), serde_json::from_str::<GpuFacts>(H200).unwrap());
        let target = product([300, 1300, 2100]);
        let entry = config.entries.iter().find(|entry| entry.problem == target.problem.class()).unwrap();
        let target = Target { shape: entry.extents, ..target };
        let h100 = GpuFacts { name: "NVIDIA H100 80GB HBM3".to_owned(), memory_gb_per_s: 3350.0, ..gpu };
        assert_eq!(incumbent(&config, &target, &h100).origin, Origin::Predicted);
        let mut estimated = config.clone();
        estimated.portfolios.iter_mut().for_each(|portfolio| portfolio.provenance.gpus.clear());
        assert!(incumbent(&estimated, &target, &h100).is_exact());
    }

    #[test]
    fn of_two_entries_for_a_shape_the_same_gpus_is_what_a_launch_takes() {
        let (mut config, gpu) = (shipped(), serde_json::from_str::<GpuFacts>(H200).unwrap());
        let target = product([300, 1300, 2100]);
        let entry = config.entries.iter().find(|entry| entry.problem == target.problem.class()).unwrap().clone();
        for name in ["another GPU", gpu.name.as_str()] {
            let mut entry = Entry { extents: target.shape, ..entry.clone() };
            entry.provenance.gpu = name.to_owned();
            config.entries.push(entry);
        }
        let provenance = incumbent(&config, &target, &gpu).provenance;
        assert_eq!(provenance.map(|won| won.gpu), Some(gpu.name));
    }
}
