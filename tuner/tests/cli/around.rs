//! What stands around the search: doctor, show, profile and `tune --json`.

use std::process::Output;

use crate::common::{GPU, Tuner};
use autokernel_codegen::config::Config;
use autokernel_codegen::matmul::sizes;
use serde_json::Value;

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|error| panic!("{error}: {} {}", text(&output.stdout), text(&output.stderr)))
}

/// A folder with promoted entries in its best_config.json.
fn tuned() -> Tuner {
    let tuner = Tuner::new();
    assert!(tuner.run(&["--write", "--evaluations", "20"]).status.success());
    tuner
}

#[test]
fn json_on_standard_output_is_one_document_and_people_read_standard_error() {
    let output = Tuner::new().run(&["--json", "--evaluations", "20"]);
    let run = json(&output);
    assert_eq!((run["status"].as_str(), run["exit_code"].as_i64()), (Some("finished"), Some(0)));
    let targets = run["targets"].as_array().unwrap();
    assert_eq!(targets.len(), 2);
    for target in targets {
        assert_eq!(target["tried"], 20);
        assert_eq!(target["stop"]["reason"], "budget_spent");
        assert_eq!(target["verdict"]["promoted"], true);
        assert_eq!(target["environment"]["gpu"], GPU);
        let (best, default) = (target["best"]["median_ms"].as_f64().unwrap(), target["default_ms"].as_f64().unwrap());
        assert!(best <= default && best >= target["optimum"]["median_ms"].as_f64().unwrap());
        assert_eq!(target["generations"].as_array().unwrap().len(), 5);
    }
    let told = text(&output.stderr);
    assert!(told.contains("verdict") && told.contains("ended         every target was tuned"), "{told}");
}

#[test]
fn json_of_a_run_that_cannot_begin_says_why() {
    let output = Tuner::without_spaces().run(&["--json", "--spaces", "empty"]);
    let run = json(&output);
    assert_eq!((run["status"].as_str(), run["exit_code"].as_i64()), (Some("failed"), Some(1)));
    assert_eq!(output.status.code(), Some(1));
    assert!(run["reason"].as_str().unwrap().contains("no recorded space in empty"), "{run}");
}

#[test]
fn the_help_documents_the_exit_codes_and_every_subcommand() {
    let help = text(&Tuner::without_spaces().sub(&["--help"]).stdout);
    for word in ["Exit codes", "130", "doctor", "show", "profile", "report", "record"] {
        assert!(help.contains(word), "{word} is not in\n{help}");
    }
}

#[test]
fn a_doctor_without_gpu_finds_nothing_broken_and_names_what_is_missing() {
    let tuner = tuned();
    let output = tuner.sub(&["doctor", "--spaces", "spaces", "--json"]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stdout));
    let checks = json(&output);
    let status = |name: &str| {
        let checks = checks["checks"].as_array().unwrap();
        checks.iter().find(|check| check["name"] == name).unwrap()["status"].as_str().unwrap().to_owned()
    };
    for (name, expected) in
        [("config", "ok"), ("kernel cache", "ok"), ("recorded spaces", "ok"), ("LLM key", "missing")]
    {
        assert_eq!(status(name), expected, "{name}");
    }
}

#[test]
fn a_doctor_without_nvcc_makes_no_folder_and_knows_the_keys_of_both_protocols() {
    let tuner = Tuner::without_spaces();
    let mut doctor = std::process::Command::new(env!("CARGO_BIN_EXE_tuner"));
    doctor.current_dir(tuner.folder()).args(["doctor", "--spaces", "spaces"]);
    doctor.env_remove("OPENAI_API_KEY").env("ANTHROPIC_API_KEY", "sk-surely-secret");
    let found = text(&doctor.env("AUTOKERNEL_NVCC", "/nowhere").output().unwrap().stdout);
    assert!(found.contains("tuner-out/kernels can be made"), "{found}");
    assert!(found.contains("ok       LLM key         ANTHROPIC_API_KEY is set"), "{found}");
    assert!(!tuner.folder().join("tuner-out").exists());
}

#[test]
fn a_doctor_ends_with_1_and_a_remedy_if_the_config_is_broken() {
    let tuner = Tuner::without_spaces();
    std::fs::write(tuner.folder().join("best_config.json"), "{").unwrap();
    let output = tuner.sub(&["doctor", "--spaces", "spaces"]);
    assert_eq!(output.status.code(), Some(1));
    let found = text(&output.stdout);
    assert!(found.contains("broken   config") && found.contains("restore the file"), "{found}");
}

#[test]
fn a_doctor_never_prints_the_key() {
    let tuner = Tuner::without_spaces();
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_tuner"));
    command.current_dir(tuner.folder()).env("OPENAI_API_KEY", "sk-surely-secret");
    let output = command.args(["doctor", "--spaces", "spaces"]).output().unwrap();
    let all = text(&output.stdout) + &text(&output.stderr);
    assert!(all.contains("OPENAI_API_KEY is set") && !all.contains("surely-secret"), "{all}");
}

#[test]
fn show_says_which_times_are_of_other_kernels_and_calls_no_entry_stale_for_that() {
    let tuner = tuned();
    let path = tuner.folder().join("best_config.json");
    let mut config = Config::load(&path).unwrap();
    config.entries[0].provenance.sources = None;
    config.save(&path).unwrap();
    let listing = json(&tuner.sub(&["show", "--spaces", "spaces", "--json"]));
    let of = |sources: &str| {
        let entries = listing["entries"].as_array().unwrap();
        entries.iter().find(|entry| entry["sources"] == sources).cloned().unwrap()
    };
    // The made-up space says `none`, which no build has.
    for row in [of("changed"), of("unknown")] {
        let findings = row["findings"].as_array().unwrap();
        assert!(findings.iter().all(|finding| finding["finding"] == "other_nvcc"), "{row}");
        assert_eq!(row["stale"], !findings.is_empty());
    }
    let said = text(&tuner.sub(&["show", "--spaces", "spaces"]).stdout);
    let changed = listing["entries"].as_array().unwrap().len() - 1;
    let expected = format!("{changed} were timed with other CUDA files than this build's, 1 with unknown ones");
    assert!(said.contains(&expected), "{said}");
}

#[test]
fn show_calls_no_entry_that_is_shipped_stale_but_for_another_nvcc() {
    let tuner = Tuner::without_spaces();
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../best_config.json");
    let listing = json(&tuner.sub(&["show", "--config", shipped, "--json"]));
    let entries = listing["entries"].as_array().unwrap();
    assert!(!entries.is_empty());
    for entry in entries {
        let findings = entry["findings"].as_array().unwrap();
        assert!(findings.iter().all(|finding| finding["finding"] == "other_nvcc"), "{entry}");
    }
}

#[test]
fn show_calls_an_entry_of_this_build_current_and_tells_its_age() {
    let tuner = tuned();
    let path = tuner.folder().join("best_config.json");
    let mut config = Config::load(&path).unwrap();
    for entry in &mut config.entries {
        entry.provenance.sources = Some(tuner::environment::kernel_sources(&entry.problem));
    }
    config.save(&path).unwrap();
    let listing = json(&tuner.sub(&["show", "--spaces", "spaces", "--json"]));
    for entry in listing["entries"].as_array().unwrap() {
        assert_eq!(entry["sources"], "current");
        // Measured on 2000-01-01.
        assert!(entry["age_days"].as_i64().unwrap() > 9000);
    }
}

#[test]
fn show_names_a_faster_schedule_of_another_entry_and_the_shapes_that_are_missing() {
    let tuner = tuned();
    let path = tuner.folder().join("best_config.json");
    let mut config = Config::load(&path).unwrap();
    let other = config.entries.pop().unwrap();
    let entry = &mut config.entries[0];
    let good = entry.schedule;
    entry.schedule = entry.problem.default_schedule(entry.arch);
    // The same class at a shape that is not recorded, with the schedule that is good here.
    let mut lender = entry.clone();
    (lender.extents, lender.schedule) = (crate::common::cube(2048), good);
    config.entries.push(lender);
    config.save(&path).unwrap();
    let listing = json(&tuner.sub(&["show", "--spaces", "spaces", "--json"]));
    let findings: Vec<&Value> =
        listing["entries"].as_array().unwrap().iter().flat_map(|row| row["findings"].as_array().unwrap()).collect();
    assert!(findings.iter().any(|finding| finding["finding"] == "slower_than_borrowed"), "{findings:?}");
    let missing = listing["missing"].as_array().unwrap();
    assert!(missing.iter().any(|missing| missing["shape"]["m"] == sizes(&other.extents)[0]), "{missing:?}");

    config.entries[0].provenance.final_rounds = 25;
    config.save(&path).unwrap();
    let listing = tuner.sub(&["show", "--spaces", "spaces", "--json"]);
    let said = String::from_utf8_lossy(&listing.stdout);
    assert!(!said.contains("slower_than_borrowed"), "recorded times do not outweigh a final under load: {said}");
}

#[test]
fn show_takes_the_filters_of_tune() {
    let tuner = tuned();
    let count = |args: &[&str]| {
        let listing = json(&tuner.sub(&[&["show", "--spaces", "spaces", "--json"], args].concat()));
        listing["entries"].as_array().unwrap().len()
    };
    assert_eq!(count(&[]), 2);
    assert_eq!(count(&["--shape", "512x4096x2048"]), 1);
    assert_eq!(count(&["--epilogue", "gelu"]), 0);
    assert_eq!(count(&["--epilogue", "leaky_relu(0.5)", "--layout", "nt"]), 2);
    assert_eq!(count(&["--arch", "sm_80"]), 0);
}

#[test]
fn a_final_that_cannot_be_held_ends_with_1_and_one_with_an_option_of_tune_with_2() {
    let tuner = Tuner::without_spaces();
    let refused = tuner.sub(&["final"]);
    assert_eq!(refused.status.code(), Some(1), "{}", text(&refused.stderr));
    assert_eq!(tuner.sub(&["final", "--final-again"]).status.code(), Some(2));
}

#[test]
fn numbers_that_make_no_sense_are_refused_by_the_command_line() {
    let tuner = Tuner::without_spaces();
    let of_record = |option: &'static str, value: &'static str| {
        tuner.sub(&["record", "--shapes", "64x64x64", "--out", "x.json.gz", &format!("{option}={value}")])
    };
    for (option, value) in [("--minutes", "-1"), ("--minutes", "inf"), ("--rest-ms", "NaN"), ("--images", "0")] {
        assert_eq!(of_record(option, value).status.code(), Some(2), "{option}={value}");
    }
    assert_eq!(tuner.sub(&["compare", "--nvcc-seconds=-1"]).status.code(), Some(2));
    assert_eq!(tuner.sub(&["--compile-threads", "0"]).status.code(), Some(2));
}

fn profile(args: &[&str]) -> Value {
    let tuner = Tuner::without_spaces();
    let output = tuner.sub(&[&["profile", "--spaces", "spaces", "--json"], args].concat());
    assert!(output.status.success(), "{}", text(&output.stderr));
    json(&output)
}

#[test]
fn a_profile_needs_no_gpu_and_knows_the_bound_of_each_by_its_own_ridge() {
    let bound = |gpu: &str, shape: &str| {
        let profile = profile(&["--gpu", gpu, "--shape", shape]);
        profile["work"]["bound"].as_str().unwrap().to_owned()
    };
    // 4096x256x4096 has 228 FLOP/B: above the ridge of the A100 (153), below that of the B200 (281).
    assert_eq!(bound("a100", "4096x256x4096"), "compute");
    assert_eq!(bound("b200", "4096x256x4096"), "memory");
    assert_eq!(bound("h200", "128x128x128"), "latency");
}

#[test]
fn a_profile_says_what_limits_occupancy_and_how_the_tiles_fall() {
    let profile = profile(&["--gpu", "h200", "--shape", "4096x4096x4096", "--schedule", "default"]);
    let kernel = &profile["kernel"];
    assert_eq!((kernel["threads"].as_u64(), kernel["registers"].as_u64()), (Some(384), Some(168)));
    assert_eq!(kernel["occupancy"]["blocks_per_sm"], 1);
    assert_eq!(kernel["occupancy"]["limiter"], "shared_memory");
    assert_eq!((kernel["placement"]["tiles"].as_u64(), kernel["placement"]["slots"].as_u64()), (Some(1024), Some(132)));
    assert!((profile["work"]["traffic"]["saved_pct"].as_f64().unwrap() - 40.0).abs() < 1e-9);
    assert!(!profile["next"].as_array().unwrap().is_empty());
}

#[test]
fn a_time_that_nobody_measured_is_none_and_one_from_the_config_says_so() {
    assert!(profile(&["--gpu", "l40s", "--shape", "4096x4096x4096"])["time"].is_null());
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../best_config.json");
    let measured = profile(&["--gpu", "h200", "--shape", "4096x4096x4096", "--config", shipped]);
    let origin = measured["time"]["origin"].as_str().unwrap();
    assert!(origin.contains("the config's entry"), "{origin}");
    assert!(measured["time"]["roofline_pct"].as_f64().unwrap() < 100.0);
}

#[test]
fn a_gpu_that_runs_no_kernel_has_its_roofline_all_the_same() {
    let profile = profile(&["--gpu", "v100", "--dtype", "f16", "--shape", "4096x4096x4096"]);
    assert!(profile["kernel"].is_null() && profile["work"]["bound"] == "compute");
    assert!(profile["next"][0].as_str().unwrap().contains("compute capability 8.0"));
}

#[test]
fn a_profile_refuses_what_it_does_not_know_with_what_it_does() {
    let tuner = Tuner::without_spaces();
    let refused = |args: &[&str]| {
        let output = tuner.sub(&[&["profile", "--shape", "64x64x64"], args].concat());
        assert_eq!(output.status.code(), Some(1));
        text(&output.stderr)
    };
    assert!(refused(&["--gpu", "gtx"]).contains("rtx4090"));
    assert!(refused(&["--schedule", "{}"]).contains("write tuned, default"));
    let broken = r#"{"family":"sm80","tile_m":33,"tile_n":128,"tile_k":32,"warps_m":2,"warps_n":2,"stages":4,
                     "raster":{"order":"along_m","group":8}}"#;
    assert!(refused(&["--gpu", "a100", "--schedule", broken]).contains("rule `tile`"));
    assert!(refused(&["--dtype", "bf16", "--output", "f16"]).contains("not f16"));
}

#[cfg(unix)]
#[test]
fn a_reader_that_goes_away_ends_neither_a_listing_nor_a_run_in_a_panic() {
    let tuner = tuned();
    for command in ["show --spaces spaces", "doctor --spaces spaces", "--spaces spaces --evaluations 10"] {
        // The reader closes the pipe before the first line: `$?` of the tuner is told through a file.
        let script = format!("{{ sleep 0.2; \"$0\" {command}; echo $? > code; }} 2>&1 | true");
        let mut shell = std::process::Command::new("sh");
        shell.current_dir(tuner.folder()).args(["-c", &script, env!("CARGO_BIN_EXE_tuner")]);
        assert!(shell.status().unwrap().success());
        let code = std::fs::read_to_string(tuner.folder().join("code")).unwrap();
        assert_eq!(code.trim(), "0", "{command}");
        std::fs::remove_file(tuner.folder().join("code")).unwrap();
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_listing_that_cannot_be_written_ends_with_1_and_says_so() {
    let tuner = tuned();
    let mut show = std::process::Command::new(env!("CARGO_BIN_EXE_tuner"));
    show.current_dir(tuner.folder()).args(["show", "--spaces", "spaces"]);
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = show.stdout(full).stderr(std::process::Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("error: standard output: "), "{}", text(&output.stderr));
}
