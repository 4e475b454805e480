//! What ends a search early, and what it may try.

use std::time::Instant;

use serde_json::Value;

use crate::common::Tuner;

const SHAPE: [&str; 2] = ["--shape", "4096x4096x4096"];

fn document(tuner: &Tuner, args: &[&str]) -> Value {
    let output = tuner.run(&[&SHAPE[..], args, &["--json"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_search_ends_when_its_minutes_are_over_and_its_final_is_still_held() {
    let tuner = Tuner::new();
    let begun = Instant::now();
    let document = document(
        &tuner,
        &["--minutes", "0.05", "--replay-delay-ms", "100", "--evaluations", "2000", "--strategy", "random"],
    );
    assert!(begun.elapsed().as_secs() < 40, "{:?}", begun.elapsed());
    let target = &document["targets"][0];
    assert_eq!(target["stop"]["reason"], "time_spent", "{target}");
    assert!(target["verdict"].is_object() && target["tried"].as_u64() < Some(200), "{target}");
}

#[test]
fn a_search_ends_when_nothing_faster_was_found_for_as_long_as_it_is_patient() {
    let document = document(&Tuner::new(), &["--patience", "30", "--evaluations", "2000", "--strategy", "random"]);
    let target = &document["targets"][0];
    assert_eq!(target["stop"]["reason"], "plateau", "{target}");
    assert!(target["tried"].as_u64() < Some(1000), "{target}");
}

#[test]
fn a_preset_says_how_much_is_tried_unless_the_budget_itself_does() {
    let tried = |args: &[&str]| {
        let target = document(&Tuner::new(), &[args, &["--strategy", "random"]].concat())["targets"][0].clone();
        (target["tried"].as_u64().unwrap(), target["stop"]["reason"].as_str().unwrap().to_owned())
    };
    let quick = tried(&["--effort", "quick"]);
    assert!((13..=24).contains(&quick.0), "{quick:?}");
    assert_eq!(tried(&["--effort", "quick", "--patience", "1000"]), (24, "budget_spent".to_owned()));
    assert_eq!(tried(&["--effort", "quick", "--evaluations", "40"]).0, 40);
    assert_eq!(tried(&["--effort", "standard"]), tried(&[]));
    let thorough = tried(&["--effort", "thorough"]);
    assert!(thorough.0 > 150 && thorough.0 <= 600, "{thorough:?}");
    assert!(thorough.1 == "plateau" || thorough.0 == 600, "{thorough:?}");
}

#[test]
fn a_search_tries_only_what_is_fixed_and_nothing_that_is_excluded() {
    let tuner = Tuner::new();
    let document = document(&tuner, &["--fix", "tile_m=128", "--exclude", "stages=3", "--evaluations", "24"]);
    assert_eq!(document["targets"][0]["best"]["schedule"]["tile_m"], 128, "{document}");
    let journaled = tuner.journaled();
    assert_eq!(journaled.len(), 24);
    for trial in journaled {
        assert_eq!(trial["schedule"]["tile_m"], 128);
        assert_ne!(trial["schedule"]["stages"], 3);
    }
}

#[test]
fn what_was_tried_without_the_constraints_is_none_of_a_constrained_search() {
    let tuner = Tuner::new();
    document(&tuner, &["--evaluations", "60"]);
    let document = document(&tuner, &["--evaluations", "24", "--fix", "tile_m=64"]);
    let target = &document["targets"][0];
    assert_eq!((&target["best"]["schedule"]["tile_m"], &target["tried"]), (&64.into(), &24.into()), "{target}");
}

#[test]
fn a_knob_that_is_none_is_answered_with_those_that_are() {
    let output = Tuner::new().run(&[&SHAPE[..], &["--fix", "tile_q=1"]].concat());
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("no schedule has a knob `tile_q`; there are ") && message.contains("tile_m"), "{message}");
}

#[test]
fn starting_schedules_are_tried_first() {
    let tuner = Tuner::new();
    document(&tuner, &["--evaluations", "24", "--strategy", "random", "--seed", "3"]);
    let own = tuner.journaled()[20]["schedule"].to_string();
    let other = Tuner::new();
    std::fs::write(other.folder().join("own.jsonl"), format!("{own}\n")).unwrap();
    document(&other, &["--evaluations", "12", "--start", "own.jsonl"]);
    let first = &other.journaled()[0];
    assert_eq!(first["schedule"].to_string(), own);
    assert_eq!(first["why"], "a starting schedule of --start");
    let broken = other.run(&["--start", "{\"family\": \"sm90\"}"]);
    assert_eq!(broken.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&broken.stderr).contains("no schedule: "));
}

/// A constrained search once took the place of a faster schedule without a word, in the summary and in the report.
#[test]
fn what_is_faster_but_left_out_by_constraints_is_told_in_the_summary_and_on_the_page() {
    let tuner = Tuner::new();
    let first = document(&tuner, &["--evaluations", "60"]);
    let fastest = first["targets"][0]["best"]["schedule"].clone();
    let tile_m = fastest["tile_m"].to_string();
    let words = |args: &[&str]| {
        let output = tuner.run(&[&SHAPE[..], args].concat());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert!(tuner.sub(&["report"]).status.success());
        let page = std::fs::read_to_string(tuner.out("report.html")).unwrap();
        (String::from_utf8(output.stdout).unwrap(), page)
    };
    let (summary, page) = words(&["--evaluations", "24", "--exclude", &format!("tile_m={tile_m}")]);
    assert!(
        summary.contains("  left out     0.") && summary.contains("--fix or --exclude does not let win"),
        "{summary}"
    );
    assert!(page.contains("in its trial, but not in the final: "), "{page}");
    let (summary, page) = words(&["--evaluations", "60"]);
    assert!(!summary.contains("left out"), "{summary}");
    assert!(!page.contains("in its trial, but not in the final: "));
}
