//! Which schedules a person lets a search try: knobs fixed, values left out.

use std::collections::BTreeSet;
use std::str::FromStr;

use autokernel_codegen::schedule::Schedule;
use serde_json::Value;

/// What a search may try.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Constraints {
    /// Try only schedules whose knob has this value, or one of several: tile_m=128, stages=3,4, family=sm90; may be repeated.
    #[arg(long, value_name = "KNOB=VALUE,…", help_heading = "Search")]
    pub fix: Vec<KnobValues>,
    /// Try no schedule whose knob has this value, or one of several; may be repeated.
    #[arg(long, value_name = "KNOB=VALUE,…", help_heading = "Search")]
    pub exclude: Vec<KnobValues>,
}

/// A knob and values of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnobValues {
    knob: String,
    values: Vec<String>,
}

impl Constraints {
    /// Whether a search may try `schedule`.
    pub fn admit(&self, schedule: &Schedule) -> bool {
        let has =
            |wanted: &KnobValues| value(schedule, &wanted.knob).is_some_and(|value| wanted.values.contains(&value));
        self.fix.iter().all(has) && !self.exclude.iter().any(has)
    }

    /// Those of `space` that a search may try.
    ///
    /// # Errors
    /// A knob or a value is none of the space's, or nothing is left; the reason lists what there is.
    pub fn of(&self, space: Vec<Schedule>) -> Result<Vec<Schedule>, String> {
        for KnobValues { knob, values } in self.fix.iter().chain(&self.exclude) {
            let there: BTreeSet<String> = space.iter().filter_map(|schedule| value(schedule, knob)).collect();
            if there.is_empty() && !space.is_empty() {
                return Err(format!("no schedule has a knob `{knob}`; there are {}", list(&knobs(&space))));
            }
            if let Some(strange) = values.iter().find(|value| !there.contains(*value)).filter(|_| !space.is_empty()) {
                return Err(format!("no schedule has {knob}={strange}; there are {}", list(&there)));
            }
        }
        let was_empty = space.is_empty();
        let left: Vec<Schedule> = space.into_iter().filter(|schedule| self.admit(schedule)).collect();
        match left.is_empty() && !was_empty {
            true => Err("--fix and --exclude leave no schedule; leave one of them out".to_owned()),
            false => Ok(left),
        }
    }
}

/// The value of a knob, as the config writes it; the family counts as a knob.
fn value(schedule: &Schedule, name: &str) -> Option<String> {
    if name == "family" {
        return Some(schedule.family().name().to_owned());
    }
    let (knob, code) = schedule.knobs().find(|(knob, _)| knob.name == name)?;
    Some(match knob.to_json(code) {
        Value::String(text) => text,
        other => other.to_string(),
    })
}

fn knobs(space: &[Schedule]) -> BTreeSet<String> {
    let names = space.iter().flat_map(|schedule| schedule.knobs().map(|(knob, _)| knob.name.to_owned()));
    names.chain(["family".to_owned()]).collect()
}

fn list(words: &BTreeSet<String>) -> String {
    words.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

impl FromStr for KnobValues {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (knob, values) =
            text.split_once('=').ok_or_else(|| format!("`{text}` is not KNOB=VALUE, as in tile_m=128"))?;
        let values: Vec<String> = values.split(',').map(|value| value.trim().to_owned()).collect();
        if values.iter().any(String::is_empty) {
            return Err(format!("`{text}` has no value behind a = or a comma"));
        }
        Ok(KnobValues { knob: knob.trim().to_owned(), values })
    }
}

#[cfg(test)]
mod tests {
    use autokernel_codegen::arch::Arch;
    use autokernel_codegen::dtype::Dtype;
    use autokernel_codegen::problem::{Layout, Problem};

    use super::*;

    fn space() -> Vec<Schedule> {
        let class = Problem::matmul(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap()).class();
        class.schedules(class.families(Arch::SM_90A)[0], Arch::SM_90A)
    }

    fn left(fix: &[&str], exclude: &[&str]) -> Result<Vec<Schedule>, String> {
        let parse = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        Constraints { fix: parse(fix), exclude: parse(exclude) }.of(space())
    }

    #[test]
    fn only_schedules_with_the_fixed_values_and_without_the_excluded_ones_are_left() {
        let left = left(&["tile_m=128", "stages=3,4"], &["mode=ping_pong"]).unwrap();
        assert!(!left.is_empty() && left.len() < space().len());
        for schedule in left {
            assert_eq!(value(&schedule, "tile_m").unwrap(), "128");
            assert!(["3", "4"].contains(&value(&schedule, "stages").unwrap().as_str()));
            assert_ne!(value(&schedule, "mode").unwrap(), "ping_pong");
        }
    }

    #[test]
    fn what_is_no_knob_or_no_value_is_answered_with_those_that_are() {
        assert!(left(&["tile_q=1"], &[]).unwrap_err().contains("stages, "), "{:?}", left(&["tile_q=1"], &[]));
        assert!(left(&[], &["tile_m=100"]).unwrap_err().contains("128, "));
        assert!(left(&["tile_m=128"], &["tile_m=128"]).unwrap_err().contains("leave no schedule"));
        for text in ["tile_m", "tile_m=", "tile_m=1,"] {
            assert!(text.parse::<KnobValues>().is_err(), "{text}");
        }
    }
}
