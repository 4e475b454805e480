use std::collections::BTreeSet;

use super::schedule::{Family, Raster};
use crate::knob::{At, Kind, Knob};
use crate::registry::all_headers;
use crate::rule::RuleText;

const FAMILIES: [Family; 3] = [Family::Sm80, Family::Sm90, Family::SkinnySm80];
/// Rules of what a kernel cannot assert: its problem, its target and its launch.
const OF_THE_LAUNCH: [&str; 9] = [
    "elements_of_one_product",
    "factors_are_multiplied_by_mma",
    "family_serves_arch",
    "launches_overlap_on_hopper",
    "raster_group_in_range",
    "rows_fit_shared_memory",
    "shared_waves_up_to_two",
    "split_k_one_to_eight",
    "tile_is_one_of_its_heights",
];

/// The names in the `static_assert`s of a family's schedule and kernel; other messages are sentences.
fn asserted(family: Family) -> BTreeSet<String> {
    let parts = ["schedule", "matmul", "operand", "weights", "block_scales", "gather", "groups_along_k", "heights"];
    let paths = parts.map(|part| format!("{}_{part}.cuh", family.name()));
    let takes_any_body = family != Family::SkinnySm80;
    let shared: &[&str] = if takes_any_body { &["body_rotated.cuh", "body_scaled.cuh"] } else { &[] };
    let is_of_family = |path: &&str| paths.iter().any(|known| known == path) || shared.contains(path);
    let texts = all_headers().filter(|(path, _)| is_of_family(path)).map(|(_, text)| text);
    let asserts = texts.flat_map(|text| text.split("static_assert(").skip(1));
    let asserts = asserts.map(|rest| rest.split(';').next().unwrap());
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

/// A table of Markdown.
fn table(head: [&str; 2], lines: impl Iterator<Item = String>) -> String {
    let lines: Vec<String> = lines.collect();
    format!("{}\n{}\n{}", head[0], head[1], lines.join("\n"))
}

fn knobs<'k>(knobs: impl Iterator<Item = &'k Knob>) -> String {
    let line = |knob: &Knob| format!("| `{}` | {} | {} |", knob.name, knob.legal, knob.meaning().replace('\n', " "));
    table(["| knob | values | meaning |", "|---|---|---|"], knobs.map(line))
}

fn rules(rules: impl Iterator<Item = RuleText>) -> String {
    let line = |rule: RuleText| format!("| `{}` | {} |", rule.name, rule.words);
    table(["| rule | what it asks |", "|---|---|"], rules.map(line))
}

fn left_out(family: Family) -> String {
    let absent = family.knobs().iter().filter_map(|knob| Some((knob, knob.absent?)));
    let value = |(knob, value): (&Knob, u16)| match knob.told_by {
        Some(other) => format!("`{}` is then `true` where `{other}` is above 1", knob.name),
        None => format!("`{}` is then `{}`", knob.name, knob_text(knob, value)),
    };
    let each: Vec<String> = absent.map(value).collect();
    format!("What JSON may leave out: {}.", each.join(", "))
}

fn knob_text(knob: &Knob, value: u16) -> String {
    let json = knob.to_json(value);
    json.as_str().map_or_else(|| json.to_string(), str::to_owned)
}

/// `page` with `text` between the mark called `name` and the end of its block.
fn with_block(page: &str, name: &str, text: &str) -> String {
    let mark = format!("<!-- {name} -->\n");
    let (before, rest) = page.split_once(&mark).unwrap_or_else(|| panic!("docs/schedules.md lacks {mark}"));
    let (_, after) = rest.split_once("\n<!-- end -->").expect("a block has an end");
    format!("{before}{mark}{text}\n<!-- end -->{after}")
}

#[test]
fn the_page_about_schedules_has_the_tables_of_rules_and_knobs() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/schedules.md");
    let mut page = std::fs::read_to_string(path).unwrap();
    page = with_block(&page, "knobs of every family", &knobs(Raster::KNOBS.iter()));
    page = with_block(&page, "rules of every family", &rules([Raster::RULE].into_iter()));
    for family in FAMILIES {
        let name = family.name();
        let own = family.knobs().iter().filter(|knob| !Raster::KNOBS.contains(knob));
        page = with_block(&page, &format!("knobs of {name}"), &knobs(own));
        let own = family.rules().into_iter().filter(|rule| *rule != Raster::RULE);
        page = with_block(&page, &format!("rules of {name}"), &rules(own));
    }
    page = with_block(&page, "left out of sm90", &left_out(Family::Sm90));
    expect_test::expect_file![path].assert_eq(&page);
}

#[test]
fn a_knob_has_a_name_of_its_own_meaning_values_and_advice() {
    for family in FAMILIES {
        let names: BTreeSet<&str> = family.knobs().iter().map(|knob| knob.name).collect();
        assert_eq!(names.len(), family.knobs().len());
        for knob in family.knobs() {
            assert!(!knob.meaning().is_empty() && !knob.legal.is_empty() && !knob.advice.is_empty(), "{}", knob.name);
            assert!(knob.choices().iter().all(|choice| !choice.meaning().is_empty()));
            let is_of_the_launch = knob.name.starts_with("raster_") || ["shared_waves", "split_k"].contains(&knob.name);
            assert_eq!(knob.at == At::Launch, is_of_the_launch, "{}", knob.name);
        }
    }
}

#[test]
fn what_a_search_should_know_of_a_knob_names_knobs_of_its_family() {
    for family in FAMILIES {
        for knob in family.knobs() {
            let unknown: Vec<_> = knob.search.pairs.iter().filter(|pair| family.knob(pair).is_none()).collect();
            assert!(unknown.is_empty(), "{} of {} names {unknown:?}", knob.name, family.name());
            let alone = |axis| family.knobs().iter().filter(|other| other.search.axis == Some(axis)).count() == 1;
            assert!(!knob.search.axis.is_some_and(alone), "{} of {} shares no axis", knob.name, family.name());
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
