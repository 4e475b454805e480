//! Recorded spaces as files.

use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::common::{GPU, cube, recording};
use autokernel_codegen::arch::Arch;
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::problem::{Layout, Problem};
use autokernel_codegen::schedule::Schedule;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use tuner::Target;
use tuner::evaluate::{Contender, Evaluated, Evaluator, Rounds};
use tuner::outcome::{Failure, Outcome};
use tuner::replay::{Recording, Replay};

/// The file that `recording` becomes, as JSON.
fn saved(recording: &Recording) -> (tempfile::TempDir, Value) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("space.json.gz");
    recording.save(&path).unwrap();
    let mut text = String::new();
    GzDecoder::new(std::fs::File::open(&path).unwrap()).read_to_string(&mut text).unwrap();
    let json = serde_json::from_str(&text).unwrap();
    (folder, json)
}

/// What loading `json` says.
fn refusal(json: &Value) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("space.json.gz");
    let mut gzip = GzEncoder::new(std::fs::File::create(&path).unwrap(), Compression::fast());
    gzip.write_all(json.to_string().as_bytes()).unwrap();
    gzip.finish().unwrap();
    let message = Recording::load(&path).unwrap_err().to_string();
    assert!(message.contains("space.json.gz") && message.contains("record it again"), "{message}");
    message
}

#[test]
fn a_recording_reads_back_with_its_times_to_four_digits() {
    let original = recording("gelu", Layout::Nt, &[cube(1024), cube(4096)]);
    let (folder, _) = saved(&original);
    let read = Recording::load(&folder.path().join("space.json.gz")).unwrap();
    assert_eq!((&read.problem, read.arch), (&original.problem, original.arch));
    assert_eq!((&read.environment, &read.gpu, &read.method), (&original.environment, &original.gpu, &original.method));
    for (read, original) in read.shapes.iter().zip(&original.shapes) {
        assert_eq!((read.shape, read.cublas, read.rows.len()), (original.shape, original.cublas, original.rows.len()));
        for ((schedule, outcome), (expected_schedule, expected)) in read.rows.iter().zip(&original.rows) {
            assert_eq!(schedule, expected_schedule);
            match (outcome, expected) {
                (Outcome::Measured(ours), Outcome::Measured(theirs)) => {
                    assert!((ours.median_ms / theirs.median_ms - 1.0).abs() <= 5e-4);
                    assert!((ours.spread_pct / theirs.spread_pct - 1.0).abs() <= 5e-2);
                }
                (ours, theirs) => assert_eq!(ours, theirs),
            }
        }
    }
    let again = tempfile::tempdir().unwrap();
    read.save(&again.path().join("space.json.gz")).unwrap();
    let bytes = |folder: &tempfile::TempDir| std::fs::read(folder.path().join("space.json.gz")).unwrap();
    assert!(bytes(&again) == bytes(&folder), "what was rounded once must not change again");
}

#[test]
fn ten_thousand_schedules_at_six_shapes_fit_into_300_kb() {
    let shapes = [512, 1024, 2048, 4096, 8192, 16384].map(cube);
    let recording = recording("leaky_relu", Layout::Nt, &shapes);
    assert!(recording.shapes[0].rows.len() > 9000);
    let (folder, _) = saved(&recording);
    let bytes = std::fs::metadata(folder.path().join("space.json.gz")).unwrap().len();
    assert!(bytes < 300_000, "{bytes} bytes");
}

#[test]
fn schedules_of_two_families_share_a_file() {
    let mut recording = recording("relu", Layout::Nn, &[cube(1024)]);
    let class = Problem::matmul(Dtype::Bf16, Layout::Nn, "relu".parse().unwrap()).class();
    let ampere = class.default_schedule(Arch::SM_80);
    let outcome = Outcome::Failed(Failure::Timeout { limit_s: 5.0 });
    recording.shapes[0].rows.push((ampere, outcome.clone()));
    let (folder, _) = saved(&recording);
    let read = Recording::load(&folder.path().join("space.json.gz")).unwrap();
    assert_eq!(read.shapes[0].rows.last(), Some(&(ampere, outcome)));
}

#[test]
fn a_file_whose_parts_do_not_fit_together_is_refused_with_the_place() {
    let (_folder, json) = saved(&recording("relu", Layout::Nn, &[cube(1024)]));
    let broken = |pointer: &str, value: Value| {
        let mut json = json.clone();
        *json.pointer_mut(pointer).unwrap() = value;
        refusal(&json)
    };
    assert!(broken("/version", json!(9)).contains("version 9"));
    assert!(broken("/format", json!("other")).contains("`other`"));
    assert!(broken("/schedules/tile_m", json!([64])).contains("column"));
    assert!(broken("/schedules/tile_m/3", json!(100)).contains("schedule 3 cannot have been measured"));
    assert!(broken("/schedules/stages/0", json!("many")).contains("schedule 0 cannot be read"));
    assert!(broken("/shapes/0/median_us", json!([1.0])).contains("median_us"));
    assert!(broken("/shapes/0/median_us/5", json!(-1.0)).contains("schedule 5"));
    assert!(broken("/shapes/0/failed", json!([[0, 99]])).contains("not listed"));
    let mut unknown = json.clone();
    unknown["colour"] = json!("blue");
    assert!(refusal(&unknown).contains("unknown field `colour`"));
    let mut twice = json.clone();
    for column in twice["schedules"].as_object_mut().unwrap().values_mut() {
        column[1] = column[0].clone();
    }
    assert!(refusal(&twice).contains("schedule 1 is listed twice"));
}

#[test]
fn a_replay_answers_what_was_recorded_and_says_what_was_not() {
    let recording = Arc::new(recording("relu", Layout::Nn, &[cube(1024)]));
    let mut replay = Replay::new(Arc::clone(&recording), "space");
    let target = Target { problem: recording.problem.clone(), arch: recording.arch, shape: cube(1024) };
    let (known, outcome) = recording.shapes[0].rows[7].clone();
    let unknown = target.problem.class().default_schedule(Arch::SM_80);
    assert_eq!(replay.about().environment.gpu, GPU);

    let mut told: Vec<Evaluated> = Vec::new();
    let mut note = |evaluated| {
        told.push(evaluated);
        ControlFlow::Continue(())
    };
    replay.evaluate(&target, &[known, unknown], None, &mut note).unwrap();
    assert_eq!(told[0].outcome, outcome);
    assert_eq!(told[1].outcome, Outcome::Failed(Failure::NotRecorded));

    let rounds = Rounds { count: 1, round_ms: 1.0, warm_up_ms: 0.0 };
    let finals = replay.compare(&target, &[Contender::Cublas, Contender::Schedule(unknown)], rounds).unwrap();
    assert_eq!(finals[0].as_ref().unwrap().measurement, recording.shapes[0].cublas.unwrap());
    assert_eq!(finals[1], Err(Failure::NotRecorded));
    let other = Target { shape: cube(7), ..target };
    assert!(replay.space(&other).is_empty() && replay.hindsight(&other).is_none());
}

#[test]
fn a_batch_ends_when_it_is_told_to() {
    let recording = Arc::new(recording("relu", Layout::Nn, &[cube(1024)]));
    let mut replay = Replay::new(Arc::clone(&recording), "space");
    let target = Target { problem: recording.problem.clone(), arch: recording.arch, shape: cube(1024) };
    let batch: Vec<Schedule> = replay.space(&target).into_iter().take(5).collect();
    let mut count = 0;
    let mut two = |_| {
        count += 1;
        if count == 2 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    replay.evaluate(&target, &batch, None, &mut two).unwrap();
    assert_eq!(count, 2);
}
