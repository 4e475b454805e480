//! Mutants of recorded spaces.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::journals::trials;
use super::mutate::mutant;
use super::{seeds, watchdog};
use crate::gpu_facts::GpuFacts;
use crate::outcome::{Measurement, Outcome};
use crate::replay::{Method, RecordedShape, Recording};

fn recording() -> Recording {
    let trials = trials();
    let first = trials[0].clone();
    let gpu: GpuFacts = serde_json::from_str(crate::chosen::tests::H200).unwrap();
    let rows = trials.into_iter().map(|trial| (trial.schedule, trial.outcome)).collect();
    let text = |text: &str| text.to_owned();
    Recording {
        problem: first.target.problem.clone(),
        arch: first.target.arch,
        environment: (*first.environment).clone(),
        gpu,
        method: Method {
            data: text("none"),
            cache: text("cold"),
            samples: 8,
            date: text("2000-01-01"),
            command: text("tests"),
            coverage: None,
        },
        shapes: vec![RecordedShape { shape: first.target.shape, rows, cublas: Some(Measurement::new(0.3, 0.5, 10)) }],
    }
}

/// What a recording lets a search divide by or add up.
fn check(recording: &Recording) {
    recording.gpu.check().unwrap();
    let outcomes = recording.shapes.iter().flat_map(|shape| &shape.rows).map(|(_, outcome)| outcome);
    outcomes.filter_map(Outcome::measurement).try_for_each(Measurement::check).unwrap();
}

#[test]
fn whatever_a_recording_says_ends_as_one_that_can_be_searched_or_as_an_error() {
    let text = recording().to_json();
    assert!(Recording::parse(text.as_slice()).is_ok());
    let mut readable = 0;
    watchdog::each(seeds(), |seed| {
        if let Ok(recording) = Recording::parse(mutant(&text, seed).as_slice()) {
            readable += 1;
            check(&recording);
        }
    });
    assert!(readable > 0, "no mutant could be read: nothing was tested");
}

/// A GPU of no SMs ended the tuner with a panic.
#[test]
fn a_recording_of_a_gpu_that_there_is_not_or_of_a_time_that_rounds_to_nothing_is_refused() {
    let text = String::from_utf8(recording().to_json()).unwrap();
    for (from, to, named) in [
        ("\"sm_count\":132", "\"sm_count\":0", "sm_count"),
        ("\"memory_gb_per_s\":4800.0", "\"memory_gb_per_s\":-1", "memory_gb_per_s"),
        ("[250.0,", "[1e-300,", "median_ms"),
        ("[250.0,", "[1e300,", "median_ms"),
    ] {
        assert!(text.contains(from), "{from}: {text}");
        let error = Recording::parse(text.replacen(from, to, 1).as_bytes()).unwrap_err();
        assert!(error.contains(named), "{to}: {error}");
    }
}

/// What is unpacked counts: 400 KB of this are 400 MB.
#[test]
fn a_recording_that_unpacks_without_end_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bomb.json.gz");
    let mut gzip = GzEncoder::new(std::fs::File::create(&path).unwrap(), Compression::fast());
    let blank = vec![b' '; 1 << 20];
    for _ in 0..20 {
        gzip.write_all(&blank).unwrap();
    }
    gzip.finish().unwrap();
    let error = Recording::load_within(&path, 16 << 20).unwrap_err();
    assert!(error.to_string().contains("unpacks to more than 16 MiB"), "{error}");
}
