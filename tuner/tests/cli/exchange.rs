//! The T4 format of other tuners: written by its published schema, read back without loss.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::{GPU, Tuner, gpu};
use serde_json::{Value, json};
use tuner::exchange::t4::Row;
use tuner::journal::{Journal, Start};
use tuner::outcome::{Failure, Measurement, Outcome};
use tuner::replay::Recording;

fn tuner(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_tuner")).current_dir(folder).args(args).output().unwrap()
}

fn assert_finished(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Checks `document` against the published schema.
fn assert_valid(document: &Value, schema: &str) {
    let schema: Value = serde_json::from_str(schema).unwrap();
    let validator = jsonschema::validator_for(&schema).unwrap();
    let faults: Vec<String> = validator.iter_errors(document).map(|error| error.to_string()).collect();
    assert!(faults.is_empty(), "{faults:?}");
}

const RESULTS: &str = include_str!("t4/results-schema.json");
const METADATA: &str = include_str!("t4/metadata-schema.json");
const FILE: &str = "t4/matmul_leaky_relu_bf16_bf16_nt_4096x4096x4096_sm_90a.t4.json";

/// A journal with two targets, exported.
fn exported() -> Tuner {
    let tuner_ = Tuner::new();
    assert_finished(&tuner_.run(&[]));
    assert_finished(&tuner(tuner_.folder(), &["export", "--format", "t4", "--out", "t4"]));
    tuner_
}

/// The GPU of the tests is in no recording of the tuner's own, so its metadata must say all that a replay needs.
fn add_facts(path: &Path) {
    let mut metadata = read(path);
    metadata["metadata"]["autokernel"]["gpu"] = serde_json::to_value(gpu()).unwrap();
    std::fs::write(path, metadata.to_string()).unwrap();
}

fn metadata_of(results: &Path) -> PathBuf {
    results.with_extension("metadata.json")
}

#[test]
fn an_export_obeys_the_published_schemas() {
    let tuner = exported();
    let path = tuner.folder().join(FILE);
    let results = read(&path);
    assert_valid(&results, RESULTS);
    assert_valid(&read(&metadata_of(&path)), METADATA);
    assert_eq!(results["results"].as_array().unwrap().len(), 60);
    let row = &results["results"][0];
    assert!(row["configuration"]["tile_m"].is_u64() && row["configuration"]["raster_group"].is_u64(), "{row}");
    let mut broken = results.clone();
    broken["results"][0]["invalidity"] = json!("perhaps");
    let schema: Value = serde_json::from_str(RESULTS).unwrap();
    assert!(!jsonschema::is_valid(&schema, &broken), "the schema must be able to say no");
}

#[test]
fn what_was_exported_and_imported_is_replayed_with_the_same_outcomes() {
    let tuner_ = exported();
    let files = [FILE, "t4/matmul_leaky_relu_bf16_bf16_nt_512x4096x2048_sm_90a.t4.json"];
    for file in files {
        add_facts(&metadata_of(&tuner_.folder().join(file)));
    }
    let out = "imported/space.json.gz";
    std::fs::create_dir(tuner_.folder().join("imported")).unwrap();
    assert_finished(&tuner(tuner_.folder(), &["import", files[0], files[1], "--out", out]));
    let recording = Recording::load(&tuner_.folder().join(out)).unwrap();
    assert_eq!((recording.environment.gpu.as_str(), recording.shapes.len()), (GPU, 2));

    let journal = Journal::open(&tuner_.out("history.jsonl"), Start::Resume).unwrap();
    let mut rows = 0;
    for trial in journal.trials() {
        let table = recording.shapes.iter().find(|table| table.shape == trial.target.shape).unwrap();
        let (_, outcome) = table.rows.iter().find(|(schedule, _)| *schedule == trial.schedule).unwrap();
        match (&trial.outcome, outcome) {
            (Outcome::Measured(ours), Outcome::Measured(theirs)) => {
                // Recordings round to four digits.
                assert!((ours.median_ms / theirs.median_ms - 1.0).abs() < 5e-4);
            }
            (ours, theirs) => assert_eq!(ours, theirs),
        }
        rows += 1;
    }
    assert_eq!(rows, recording.shapes.iter().map(|table| table.rows.len()).sum::<usize>());
    drop(journal);
    let replayed = tuner_.run(&["--spaces", "imported", "--out", "again"]);
    assert_finished(&replayed);
}

const CACHE: &str = "caches/matmul_leaky_relu_bf16_bf16_nt_4096x4096x4096_sm_90a.cache.json";

/// The same journal as cache files of Kernel Tuner.
fn cached() -> Tuner {
    let tuner_ = Tuner::new();
    assert_finished(&tuner_.run(&[]));
    assert_finished(&tuner(tuner_.folder(), &["export", "--format", "cache", "--out", "caches"]));
    tuner_
}

#[test]
fn a_cache_file_has_what_kernel_tuner_asks_of_one() {
    let cache = read(&cached().folder().join(CACHE));
    assert_eq!(cache["schema_version"], "1.1.0");
    assert_eq!((&cache["device_name"], &cache["objective"]), (&json!(GPU), &json!("time")));
    assert_eq!(cache["problem_size"], json!([4096, 4096, 4096]));
    assert!(cache["kernel_name"].is_string());
    let keys: Vec<&str> =
        cache["tune_params_keys"].as_array().unwrap().iter().map(|key| key.as_str().unwrap()).collect();
    let entries = cache["cache"].as_object().unwrap();
    assert_eq!((entries.len(), cache["tune_params"].as_object().unwrap().len()), (60, keys.len()));
    for (name, entry) in entries {
        let values = keys.iter().map(|key| {
            let value = &entry[key];
            assert!(cache["tune_params"][key].as_array().unwrap().contains(value), "{key} of {name}");
            value.as_str().map_or_else(|| value.to_string(), str::to_owned)
        });
        assert_eq!(&values.collect::<Vec<_>>().join(","), name);
        let errors = ["InvalidConfig", "CompilationFailedConfig", "RuntimeFailedConfig"];
        assert!(entry["time"].as_f64().is_some_and(|ms| ms > 0.0) || errors.contains(&entry["time"].as_str().unwrap()));
        for part in ["compile_time", "verification_time", "benchmark_time", "strategy_time", "framework_time"] {
            assert!(entry[part].is_number(), "{part} of {name}");
        }
        assert!(entry["timestamp"].as_str().unwrap().ends_with('Z') && entry["times"].is_array());
    }
}

#[test]
fn a_cache_file_comes_back_as_it_went_and_one_of_another_program_says_what_it_lacks() {
    let tuner_ = cached();
    let path = tuner_.folder().join(CACHE);
    let mut cache = read(&path);
    cache["autokernel"]["gpu"] = serde_json::to_value(gpu()).unwrap();
    std::fs::write(&path, cache.to_string()).unwrap();
    assert_finished(&tuner(tuner_.folder(), &["import", CACHE, "--out", "imported/space.json.gz"]));
    let recording = Recording::load(&tuner_.folder().join("imported/space.json.gz")).unwrap();
    let journal = Journal::open(&tuner_.out("history.jsonl"), Start::Resume).unwrap();
    let ours = journal.trials().iter().filter(|trial| trial.target.shape == recording.shapes[0].shape);
    let mut rows = 0;
    for trial in ours {
        let (_, outcome) = recording.shapes[0].rows.iter().find(|(schedule, _)| *schedule == trial.schedule).unwrap();
        match (&trial.outcome, outcome) {
            (Outcome::Measured(ours), Outcome::Measured(theirs)) => {
                assert!((ours.median_ms / theirs.median_ms - 1.0).abs() < 5e-4);
            }
            (ours, theirs) => assert_eq!(ours, theirs),
        }
        rows += 1;
    }
    assert_eq!((rows, recording.shapes[0].rows.len()), (60, 60));
    drop(journal);

    let import = |cache: &Value| {
        std::fs::write(&path, cache.to_string()).unwrap();
        let output = tuner(tuner_.folder(), &["import", CACHE, "--out", "other.json.gz"]);
        String::from_utf8(output.stderr).unwrap()
    };
    let name = cache["cache"].as_object().unwrap().keys().next().unwrap().clone();
    let mut failed = cache.clone();
    failed["cache"][&name]["time"] = json!("CompilationFailedConfig");
    failed["cache"][&name].as_object_mut().unwrap().remove("failure");
    assert!(import(&failed).is_empty(), "what another program says of it is taken");
    let other = Recording::load(&tuner_.folder().join("other.json.gz")).unwrap();
    let compile = |outcome: &Outcome| matches!(outcome, Outcome::Failed(Failure::Compile { .. }));
    assert!(other.shapes[0].rows.iter().any(|(_, outcome)| compile(outcome)));
    let mut timeless = cache.clone();
    timeless["cache"][&name].as_object_mut().unwrap().remove("time");
    assert!(import(&timeless).contains(&format!("`{name}` of its cache has no time")), "{}", import(&timeless));
    cache.as_object_mut().unwrap().remove("autokernel");
    assert!(import(&cache).contains("add `autokernel`"), "{}", import(&cache));
}

#[test]
fn every_outcome_survives_the_way_there_and_back() {
    let recording =
        crate::common::recording("relu", autokernel_codegen::problem::Layout::Nn, &[crate::common::cube(1024)]);
    let (schedule, _) = recording.shapes[0].rows[0];
    let text = |text: &str| text.to_owned();
    let outcomes = [
        Outcome::Measured(Measurement::new(0.123_456_789, 0.4, 30)),
        Outcome::Failed(Failure::BrokenRule { rule: text("stages"), detail: text("1 < 2") }),
        Outcome::Failed(Failure::Compile { log: text("error: \"x\"\nline 2") }),
        Outcome::Failed(Failure::CompileTimeout { limit_s: 120.0 }),
        Outcome::Failed(Failure::Spill { bytes: 8 }),
        Outcome::Failed(Failure::WrongResult { detail: text("c[0, 1]") }),
        Outcome::Failed(Failure::Timeout { limit_s: 5.0 }),
        Outcome::Failed(Failure::Crash { detail: text("signal 11") }),
        Outcome::Failed(Failure::OutOfMemory { detail: text("2 GiB") }),
    ];
    for outcome in outcomes {
        let row = Row::new(None, &schedule, &outcome, 0.5);
        let row: Row = serde_json::from_str(&serde_json::to_string(&row).unwrap()).unwrap();
        assert_eq!((row.schedule().unwrap(), row.outcome().unwrap()), (schedule, outcome));
    }
}

#[test]
fn results_of_another_tuner_need_no_more_than_the_schema_asks_for() {
    let recording =
        crate::common::recording("relu", autokernel_codegen::problem::Layout::Nn, &[crate::common::cube(1024)]);
    let (schedule, _) = recording.shapes[0].rows[0];
    let configuration = Row::new(None, &schedule, &Outcome::Failed(Failure::NotRecorded), 0.0).configuration;
    let row = |invalidity: &str, times: Value| -> Row {
        let row = json!({"configuration": configuration, "times": times, "invalidity": invalidity, "correctness": 1});
        serde_json::from_value(row).unwrap()
    };
    let timed = row("correct", json!({"compilation_time": 12.0, "runtimes": [0.5, 0.3, 0.4]}));
    assert_eq!(timed.outcome().unwrap().median_ms(), Some(0.4));
    assert_eq!(row("timeout", json!({})).outcome().unwrap().status(), "timeout");
    assert_eq!(row("runtime", json!({})).outcome().unwrap().status(), "crash");
    assert!(row("correct", json!({})).outcome().is_err());
}

#[test]
fn a_file_that_does_not_belong_is_refused_with_its_name_and_the_reason() {
    let tuner_ = exported();
    let import = |files: &[&str]| {
        let args = [&["import"], files, &["--out", "x.json.gz"]].concat();
        let output = tuner(tuner_.folder(), &args);
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    assert!(import(&[FILE]).contains("no more of Imaginary GPU of the tests than its name"));
    add_facts(&metadata_of(&tuner_.folder().join(FILE)));
    assert!(import(&[FILE, FILE]).contains("4096x4096x4096 was in a file before it"));
    let path = tuner_.folder().join(FILE);
    let mut results = read(&path);
    results["results"][3]["configuration"]["tile_m"] = json!("wide");
    std::fs::write(&path, results.to_string()).unwrap();
    assert!(import(&[FILE]).contains("result 3 is no schedule"));
    std::fs::remove_file(metadata_of(&path)).unwrap();
    assert!(import(&[FILE]).contains("t4.metadata.json"));
    let nothing = tuner(tuner_.folder(), &["export", "--shape", "1x2x3", "--out", "t4"]);
    assert!(String::from_utf8(nothing.stderr).unwrap().contains("leave --shape out"));
}

#[test]
fn a_journal_that_is_missing_and_a_file_of_another_format_are_named_with_a_remedy() {
    let tuner_ = Tuner::without_spaces();
    let said = |args: &[&str]| {
        let output = tuner(tuner_.folder(), args);
        assert_eq!(output.status.code(), Some(1));
        String::from_utf8(output.stderr).unwrap()
    };
    let missing = said(&["export", "--out", "t4"]);
    assert!(missing.contains("tuner-out/history.jsonl is no file; tune first"), "{missing}");
    assert!(!tuner_.folder().join("t4").exists() && !tuner_.folder().join("tuner-out").exists());
    std::fs::write(tuner_.folder().join("x.t4.metadata.json"), "{}").unwrap();
    let other = said(&["import", "x.t4.metadata.json", "--out", "x.json.gz"]);
    assert!(other.contains("x.t4.metadata.json: not a results file") && other.contains("NAME.t4.json"), "{other}");
}
