//! What each knob did: the times of the schedules that share a value of it.

use std::collections::{BTreeMap, HashMap};

use autokernel_codegen::knob::Knob as ScheduleKnob;
use autokernel_codegen::schedule::Family;
use autokernel_runtime::timing::Statistics;
use serde_json::Value;

use super::data::Tuning;

/// A knob; the family counts as one.
pub struct Knob {
    /// Its name.
    pub name: &'static str,
    /// Its values, in their own order.
    pub effects: Vec<Effect>,
}

/// What the schedules with one value came to.
pub struct Effect {
    /// The value.
    pub value: String,
    /// Schedules that were timed.
    pub timed: usize,
    /// Schedules that failed.
    pub failed: usize,
    /// Median of time over the best time of the same target; none if all failed.
    pub median: Option<f64>,
    /// The lowest of these ratios: 1 if a best schedule has this value.
    pub lowest: Option<f64>,
}

/// A value, in the order of its knob's, and its text.
type Sorted = (u16, String);
/// Time over the best time of the same target, of each schedule with a value; none for one that failed.
type Ratios = Vec<Option<f64>>;

/// The knobs of every schedule that was tried and that took more than one value, over all targets.
///
/// Values are not independent: what a search tried more often, it tried in better company.
pub fn knobs(tunings: &[Tuning]) -> Vec<Knob> {
    let mut ratios: BTreeMap<&'static str, BTreeMap<Sorted, Ratios>> = BTreeMap::new();
    for ((family, knob, code), of_value) in by_code(tunings) {
        let (name, text) = match knob {
            Some(knob) => (knob.name, text(knob.to_json(code))),
            None => ("family", family.name().to_owned()),
        };
        ratios.entry(name).or_default().entry((code, text)).or_default().extend(of_value);
    }
    let varied = ratios.into_iter().filter(|(_, values)| values.len() > 1);
    let effects = |values: BTreeMap<Sorted, Ratios>| {
        values.into_iter().map(|((_, value), ratios)| effect(value, &ratios)).collect()
    };
    varied.map(|(name, values)| Knob { name, effects: effects(values) }).collect()
}

/// A value of a knob of a family; of the family itself without a knob.
type Coded = (Family, Option<&'static ScheduleKnob>, u16);

/// The ratios by value. Codes, not texts: a million trials have a dozen values each.
fn by_code(tunings: &[Tuning]) -> Vec<(Coded, Ratios)> {
    let mut places: HashMap<(Family, &'static str, u16), usize> = HashMap::new();
    let mut ratios: Vec<(Coded, Ratios)> = Vec::new();
    for tuning in tunings {
        let fastest = tuning.trials.iter().filter_map(|trial| trial.median_ms()).fold(f64::INFINITY, f64::min);
        for trial in &tuning.trials {
            let ratio = trial.median_ms().map(|ms| ms / fastest);
            let family = trial.schedule.family();
            let knobs = trial.schedule.knobs().map(|(knob, code)| (Some(knob), code));
            for (knob, code) in std::iter::once((None, family as u16)).chain(knobs) {
                let place = *places.entry((family, knob.map_or("", |knob| knob.name), code)).or_insert_with(|| {
                    ratios.push(((family, knob, code), Vec::new()));
                    ratios.len() - 1
                });
                ratios[place].1.push(ratio);
            }
        }
    }
    ratios
}

fn text(value: Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn effect(value: String, ratios: &[Option<f64>]) -> Effect {
    let times: Vec<f64> = ratios.iter().flatten().copied().collect();
    let median = Statistics::of(&times).ok().map(|statistics| statistics.median);
    let lowest = times.iter().copied().reduce(f64::min);
    Effect { value, timed: times.len(), failed: ratios.len() - times.len(), median, lowest }
}
