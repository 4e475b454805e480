use std::collections::BTreeSet;

use super::schedule::Family;
use crate::knob::{At, Kind};
use crate::source::all_headers;

const FAMILIES: [Family; 2] = [Family::Sm80, Family::Sm90];
/// Rules of what a kernel cannot assert: its target and its launch.
const OF_THE_LAUNCH: [&str; 2] = ["family_serves_arch", "raster_group_in_range"];

/// The names in the `static_assert`s of a family's schedule; other messages are sentences.
fn asserted(family: Family) -> BTreeSet<String> {
    let path = format!("{}_schedule.cuh", family.name());
    let (_, text) = all_headers().find(|(known, _)| *known == path).unwrap();
    let asserts = text.split("static_assert(").skip(1).map(|rest| rest.split(';').next().unwrap());
    let names = asserts.filter_map(|text| text.rsplit('"').nth(1)).filter(|message| !message.contains(' '));
    names.map(str::to_owned).collect()
}

#[test]
fn the_kernels_assert_the_rules_of_the_table_by_their_names() {
    for family in FAMILIES {
        let rules = family.rules().into_iter().map(|rule| rule.name.to_owned());
        let rules: BTreeSet<String> = rules.filter(|name| !OF_THE_LAUNCH.contains(&name.as_str())).collect();
        assert_eq!(asserted(family), rules, "{}", family.name());
    }
}

#[test]
fn the_page_about_schedules_has_every_rule_and_knob() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/schedules.md")).unwrap();
    for family in FAMILIES {
        let rules = family.rules().into_iter().map(|rule| format!("| `{}` | {} |", rule.name, rule.words));
        let knobs = family
            .knobs()
            .iter()
            .map(|knob| format!("| `{}` | {} | {} |", knob.name, knob.legal, knob.meaning().replace('\n', " ")));
        for line in rules.chain(knobs) {
            assert!(page.contains(&line), "docs/schedules.md lacks the line\n{line}");
        }
    }
}

#[test]
fn a_knob_has_a_name_of_its_own_meaning_values_and_advice() {
    for family in FAMILIES {
        let names: BTreeSet<&str> = family.knobs().iter().map(|knob| knob.name).collect();
        assert_eq!(names.len(), family.knobs().len());
        for knob in family.knobs() {
            assert!(!knob.meaning().is_empty() && !knob.legal.is_empty() && !knob.advice.is_empty(), "{}", knob.name);
            assert!(knob.choices().iter().all(|choice| !choice.meaning().is_empty()));
            assert_eq!(knob.at == At::Launch, knob.name.starts_with("raster_"), "{}", knob.name);
        }
    }
}

#[test]
fn a_knob_reads_back_what_it_writes_and_nothing_else() {
    for knob in FAMILIES.into_iter().flat_map(Family::knobs) {
        let values = match knob.kind {
            Kind::Number => 300,
            Kind::Flag => 2,
            Kind::Choice(choices) => choices.len() as u16,
        };
        for code in 0..values {
            assert_eq!(knob.from_json(&knob.to_json(code)), Some(code), "{}", knob.name);
        }
        assert_eq!(knob.from_json(&serde_json::json!("nothing of the kind")), None);
        assert_eq!(knob.from_json(&serde_json::json!(70_000)), None);
    }
}
