//! What each knob did: the times of the schedules that share a value of it.

use std::collections::BTreeMap;

use autokernel_codegen::schedule::Schedule;
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
type Ratios = BTreeMap<Sorted, Vec<Option<f64>>>;

/// The knobs of every schedule that was tried and that took more than one value, over all targets.
///
/// Values are not independent: what a search tried more often, it tried in better company.
pub fn knobs(tunings: &[Tuning]) -> Vec<Knob> {
    let mut ratios: BTreeMap<&'static str, Ratios> = BTreeMap::new();
    for tuning in tunings {
        let fastest = tuning.trials.iter().filter_map(|trial| trial.median_ms()).fold(f64::INFINITY, f64::min);
        for trial in &tuning.trials {
            let ratio = trial.median_ms().map(|ms| ms / fastest);
            for (knob, value) in values(&trial.schedule) {
                ratios.entry(knob).or_default().entry(value).or_default().push(ratio);
            }
        }
    }
    let varied = ratios.into_iter().filter(|(_, values)| values.len() > 1);
    let effects = |values: Ratios| values.into_iter().map(|((_, value), ratios)| effect(value, &ratios)).collect();
    varied.map(|(name, values)| Knob { name, effects: effects(values) }).collect()
}

fn effect(value: String, ratios: &[Option<f64>]) -> Effect {
    let times: Vec<f64> = ratios.iter().flatten().copied().collect();
    let median = Statistics::of(&times).ok().map(|statistics| statistics.median);
    let lowest = times.iter().copied().reduce(f64::min);
    Effect { value, timed: times.len(), failed: ratios.len() - times.len(), median, lowest }
}

/// The family, and every knob with its value.
fn values(schedule: &Schedule) -> impl Iterator<Item = (&'static str, Sorted)> + '_ {
    let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let family = schedule.family();
    let knobs = schedule.knobs().map(move |(knob, code)| (knob.name, (code, text(knob.to_json(code)))));
    std::iter::once(("family", (family as u16, family.name().to_owned()))).chain(knobs)
}
