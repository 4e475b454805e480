//! The whole command on a made-up space.

use std::collections::HashMap;
use std::path::Path;
use std::process::Output;

use crate::common::{GPU, Tuner, cube};
use autokernel_codegen::config::{Config, Entry, Provenance};
use autokernel_codegen::matmul::{DIMS, flops};
use autokernel_codegen::schedule::Schedule;
use autokernel_core::Extents;
use tuner::outcome::Outcome;
use tuner::replay::{RecordedShape, Recording};

fn columns(csv: &Path) -> Vec<HashMap<String, String>> {
    let mut reader = csv::Reader::from_path(csv).unwrap();
    reader.deserialize().map(|row| row.unwrap()).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn assert_finished(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}

#[test]
fn a_run_without_options_leaves_every_output_behind() {
    let tuner = Tuner::new();
    let output = tuner.run(&[]);
    assert_finished(&output);

    let lines = tuner.journaled();
    assert_eq!(lines.len(), 2 * 60);
    assert!(lines.iter().all(|line| line["proposed_by"] == "surrogate" && line["environment"]["gpu"] == GPU));

    let rows = columns(&tuner.out("history.csv"));
    assert_eq!(rows.len(), 2 * 60);
    for column in ["timestamp", "name", "ms", "tflops", "status", "config", "shape", "gpu", "epilogue"] {
        assert!(rows.iter().all(|row| row.contains_key(column)), "{column}");
    }
    let row = rows.iter().find(|row| row["status"] == "measured").unwrap();
    let (ms, tflops): (f64, f64) = (row["ms"].parse().unwrap(), row["tflops"].parse().unwrap());
    let shape = Extents::parse(&row["shape"], &DIMS).unwrap();
    assert!((tflops - flops(&shape) / ms / 1e9).abs() < 0.01);

    let config = Config::load(&tuner.out("best_config.json")).unwrap();
    assert_eq!(config.entries.len(), 2);
    for entry in &config.entries {
        let fastest = rows.iter().filter(|row| row["shape"] == entry.extents.to_string() && !row["ms"].is_empty());
        let fastest = fastest.map(|row| row["ms"].parse::<f64>().unwrap()).fold(f64::INFINITY, f64::min);
        assert_eq!(entry.provenance.median_ms, fastest);
        assert_eq!(entry.provenance.sources.as_deref(), Some("none"), "the recording's hash of the kernel sources");
        assert_eq!((entry.provenance.gpu.as_str(), entry.provenance.date.as_str()), (GPU, "2000-01-01"));
    }
    for chart in ["learning_curve.svg", "roofline.svg"] {
        let svg = std::fs::read_to_string(tuner.out(chart)).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{chart}");
    }
    let summary = text(&output.stdout);
    for word in
        [GPU, "best after each", "× the default", "× what is in use", "promoted", "history.csv", "next", "optimum"]
    {
        assert!(summary.contains(word), "{word} is not in\n{summary}");
    }
    assert!(!tuner.folder().join("best_config.json").exists(), "only --write may touch the config in use");
}

#[test]
fn a_second_run_measures_nothing_and_ends_the_same() {
    let tuner = Tuner::new();
    assert_finished(&tuner.run(&[]));
    let outputs = ["history.jsonl", "history.csv", "best_config.json", "learning_curve.svg", "roofline.svg"];
    let before = outputs.map(|name| std::fs::read(tuner.out(name)).unwrap());
    let output = tuner.run(&[]);
    assert_finished(&output);
    for (name, before) in outputs.iter().zip(before) {
        assert!(std::fs::read(tuner.out(name)).unwrap() == before, "{name} changed");
    }
    assert!(text(&output.stdout).contains("60 of them known before"));
}

#[test]
fn more_evaluations_go_on_from_the_journal() {
    let tuner = Tuner::new();
    let shape = ["--shape", "4096x4096x4096", "--generations", "1", "--strategy", "random"];
    assert_finished(&tuner.run(&[shape.as_slice(), &["--evaluations", "10"]].concat()));
    assert_finished(&tuner.run(&[shape.as_slice(), &["--evaluations", "25"]].concat()));
    let rows = columns(&tuner.out("history.csv"));
    let distinct: std::collections::HashSet<&String> = rows.iter().map(|row| &row["config"]).collect();
    assert_eq!((rows.len(), distinct.len()), (25, 25));
}

#[test]
fn a_larger_budget_begins_as_the_smaller_one_did_and_goes_on_behind_it() {
    let tuner = Tuner::new();
    let tune = |evaluations: &str| {
        let output = tuner.run(&["--shape", "4096x4096x4096", "--evaluations", evaluations]);
        assert_finished(&output);
        (text(&output.stdout), columns(&tuner.out("history.csv")))
    };
    let (advice, before) = tune("24");
    assert!(advice.contains("--write") || advice.contains("--evaluations 48 searches on from here"), "{advice}");
    let (_, after) = tune("60");
    assert_eq!((before.len(), after.len()), (24, 60), "what was tried counts, however it was divided");
    assert_eq!(after[..24], before[..]);
    let (words, all) = tune("84");
    assert_eq!((all.len(), &all[..60]), (84, &after[..]));
    assert!(words.contains("84 schedules tried, 60 of them known before"), "{words}");
}

/// The fastest time of a history, and the time that the last run says is the best, in milliseconds.
fn best_of(tuner: &Tuner) -> (f64, f64) {
    let rows = columns(&tuner.out("history.csv"));
    let fastest = rows.iter().filter_map(|row| row["ms"].parse().ok()).fold(f64::INFINITY, f64::min);
    let results: serde_json::Value =
        serde_json::from_slice(&std::fs::read(tuner.out("results.json")).unwrap()).unwrap();
    (fastest, results["targets"][0]["best"]["median_ms"].as_f64().unwrap())
}

#[test]
fn what_any_search_found_counts_whoever_searches_next() {
    let tuner = Tuner::new();
    let shape = ["--shape", "4096x4096x4096"];
    assert_finished(&tuner.run(&[shape.as_slice(), &["--evaluations", "40"]].concat()));
    let (fastest, _) = best_of(&tuner);
    for (strategy, seed) in [("random", "1"), ("random", "2"), ("local", "3")] {
        let few = ["--evaluations", "5", "--strategy", strategy, "--seed", seed];
        assert_finished(&tuner.run(&[shape.as_slice(), &few].concat()));
        let (known, told) = best_of(&tuner);
        assert!(known <= fastest);
        assert_eq!(told, known, "{strategy}, seed {seed}");
    }
}

#[test]
fn the_same_seed_searches_the_same_way_and_another_seed_another_way() {
    let history = |seed: &str| {
        let tuner = Tuner::new();
        assert_finished(&tuner.run(&["--seed", seed, "--strategy", "random", "--evaluations", "12"]));
        let rows = columns(&tuner.out("history.csv"));
        rows.iter().map(|row| row["config"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(history("7"), history("7"));
    assert_ne!(history("7"), history("8"));
}

#[test]
fn write_puts_the_winner_into_the_config_in_use_and_keeps_its_other_entries() {
    let tuner = Tuner::new();
    let output = tuner.run(&["--write", "--shape", "512x4096x2048"]);
    assert_finished(&output);
    assert!(text(&output.stdout).contains(", and written into best_config.json"), "{}", text(&output.stdout));
    assert_finished(&tuner.run(&["--write", "--shape", "4096x4096x4096"]));
    let config = Config::load(&tuner.folder().join("best_config.json")).unwrap();
    let shapes: Vec<String> = config.entries.iter().map(|entry| entry.extents.to_string()).collect();
    assert_eq!(shapes, ["512x4096x2048", "4096x4096x4096"]);
}

#[test]
fn winners_of_earlier_runs_stay_in_the_output_folder_until_a_run_starts_over() {
    let tuner = Tuner::new();
    let shapes = || {
        let config = Config::load(&tuner.out("best_config.json")).unwrap();
        config.entries.iter().map(|entry| entry.extents.to_string()).collect::<Vec<String>>()
    };
    assert_finished(&tuner.run(&["--shape", "512x4096x2048"]));
    assert_finished(&tuner.run(&["--shape", "4096x4096x4096"]));
    assert_eq!(shapes(), ["512x4096x2048", "4096x4096x4096"]);
    assert_finished(&tuner.run(&["--shape", "4096x4096x4096", "--fresh"]));
    assert_eq!(shapes(), ["4096x4096x4096"]);
}

#[test]
fn damaged_results_and_a_damaged_config_are_kept_aside_and_named() {
    let tuner = Tuner::new();
    let shape = ["--shape", "512x4096x2048", "--evaluations", "5"];
    assert_finished(&tuner.run(&shape));
    for name in ["results.json", "best_config.json"] {
        std::fs::write(tuner.out(name), "{").unwrap();
    }
    let output = tuner.run(&shape);
    assert_finished(&output);
    let told = text(&output.stderr);
    for name in ["results.json", "best_config.json"] {
        let aside = tuner.out(&format!("{name}.old"));
        assert_eq!(std::fs::read_to_string(&aside).unwrap(), "{");
        assert!(told.contains(&format!("{name}.old")), "{told}");
        assert!(std::fs::read_to_string(tuner.out(name)).unwrap().len() > 2);
    }
}

#[test]
fn a_winner_that_is_in_use_already_is_not_promoted_again() {
    // Of the other shape the second search, which begins with the winner of the first, finds a faster schedule.
    let shape = ["--write", "--shape", "4096x4096x4096"];
    let tuner = Tuner::new();
    assert_finished(&tuner.run(&shape));
    let config = tuner.folder().join("best_config.json");
    let before = std::fs::read(&config).unwrap();
    let output = tuner.run(&[&shape[..], &["--fresh"]].concat());
    assert_finished(&output);
    assert_eq!(std::fs::read(&config).unwrap(), before);
    assert!(text(&output.stdout).contains("not promoted"));
}

/// The made-up recording of a folder, with its table of 4096³.
fn recorded(tuner: &Tuner) -> (Recording, RecordedShape) {
    let recording = Recording::load(&tuner.folder().join("spaces/leaky_relu.json.gz")).unwrap();
    let table = recording.shapes.iter().find(|table| table.shape == cube(4096)).unwrap().clone();
    (recording, table)
}

/// An entry for 4096³ that was chosen by recorded times.
fn entry(recording: &Recording, schedule: Schedule, median_ms: f64) -> Entry {
    let provenance = Provenance {
        gpu: GPU.to_owned(),
        driver: String::new(),
        nvcc: String::new(),
        sources: None,
        date: "1999-12-31".to_owned(),
        median_ms,
        spread_pct: 0.1,
        tflops: 1.0,
        samples: 20,
        final_rounds: 0,
        proposed_by: "test".into(),
    };
    Entry {
        problem: recording.problem.class(),
        arch: recording.arch,
        extents: cube(4096),
        range: None,
        schedule,
        provenance,
    }
}

#[test]
fn recorded_times_replace_a_slow_entry_unless_it_won_a_final_under_load_on_that_gpu() {
    let tuner = Tuner::new();
    let (recording, table) = recorded(&tuner);
    let (_, optimum) = table.optimum().unwrap();
    let slow = |(_, outcome): &&(Schedule, Outcome)| outcome.median_ms().is_some_and(|ms| ms > 1.2 * optimum.median_ms);
    let (schedule, _) = table.rows.iter().find(slow).expect("the made-up space has slow schedules");
    for (gpu, final_rounds, promoted) in [(GPU, 0, true), (GPU, 25, false), ("another GPU", 25, true)] {
        let mut entry = entry(&recording, *schedule, 1.0);
        (entry.provenance.gpu, entry.provenance.final_rounds) = (gpu.to_owned(), final_rounds);
        let in_use = Config { entries: vec![entry], ..Config::default() };
        in_use.save(&tuner.folder().join("best_config.json")).unwrap();
        let output = tuner.run(&["--fresh", "--shape", "4096x4096x4096"]);
        assert_finished(&output);
        let summary = text(&output.stdout);
        assert_eq!(summary.contains("verdict      promoted"), promoted, "{summary}");
        assert_eq!(summary.contains("won a final under load"), !promoted, "{summary}");
    }
}

#[test]
fn a_winner_within_the_noise_of_what_is_in_use_is_not_promoted() {
    let tuner = Tuner::new();
    let (recording, table) = recorded(&tuner);
    let (best, optimum) = table.optimum().unwrap();
    let time = |outcome: &Outcome| outcome.median_ms().unwrap_or(f64::INFINITY);
    let near = |(schedule, outcome): &&(Schedule, Outcome)| {
        *schedule != best && time(outcome) > optimum.median_ms && time(outcome) < 1.004 * optimum.median_ms
    };
    let (schedule, outcome) = table.rows.iter().find(near).expect("the made-up space has near ties");
    let entry = entry(&recording, *schedule, time(outcome));
    let in_use = Config { entries: vec![entry], ..Config::default() };
    in_use.save(&tuner.folder().join("best_config.json")).unwrap();

    let output = tuner.run(&["--write", "--shape", "4096x4096x4096", "--evaluations", "200"]);
    assert_finished(&output);
    assert_eq!(Config::load(&tuner.folder().join("best_config.json")).unwrap(), in_use);
    assert_eq!(Config::load(&tuner.out("best_config.json")).unwrap(), in_use);
    let summary = text(&output.stdout);
    assert!(summary.contains("not promoted: only 0.") && summary.contains("noise explains 0.5 %"), "{summary}");
    assert!(summary.contains("best_config.json is as it was") && !summary.contains("written into"), "{summary}");
}

#[test]
fn a_shape_that_was_not_recorded_is_answered_with_those_that_were() {
    let output = Tuner::new().run(&["--shape", "1x2x3"]);
    assert_eq!(output.status.code(), Some(1));
    let message = text(&output.stderr);
    assert!(message.contains("--shape 512x4096x2048"), "{message}");
}

#[test]
fn a_folder_without_recordings_is_named() {
    let tuner = Tuner::new();
    let output = tuner.run(&["--spaces", "empty"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("no recorded space in empty"), "{}", text(&output.stderr));
}

#[test]
fn a_broken_config_is_refused_with_its_line_and_nothing_is_written() {
    let tuner = Tuner::new();
    std::fs::write(tuner.folder().join("best_config.json"), "{\n  \"version\": 1,\n  oops\n}").unwrap();
    let output = tuner.run(&[]);
    assert_eq!(output.status.code(), Some(1));
    let message = text(&output.stderr);
    assert!(message.contains("best_config.json:3:") && message.contains("; correct the line, or restore"), "{message}");
    assert!(!tuner.out("history.jsonl").exists());
}

#[test]
fn a_damaged_recording_is_named_with_what_is_wrong() {
    let tuner = Tuner::new();
    let path = tuner.folder().join("spaces/leaky_relu.json.gz");
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    let output = tuner.run(&[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("leaky_relu.json.gz"), "{}", text(&output.stderr));
}
