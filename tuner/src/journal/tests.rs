use std::sync::Arc;

use super::*;
use crate::environment::Environment;
use crate::outcome::{Failure, Measurement, Outcome};
use crate::target::Target;
use autokernel_codegen::arch::Arch;
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::epilogue::Epilogue;
use autokernel_codegen::matmul::extents;
use autokernel_codegen::problem::{Layout, Problem};

fn trial(edge: u32, outcome: Outcome) -> Trial {
    let problem = Problem::matmul(Dtype::Bf16, Layout::Nt, Epilogue::identity());
    let schedule = problem.class().default_schedule(Arch::SM_90A);
    let text = |text: &str| text.to_owned();
    Trial {
        at: text("2000-01-01T00:00:00Z"),
        generation: 1,
        number: 1,
        seed: None,
        proposed_by: text("local").into(),
        why: None,
        target: Target { problem, arch: Arch::SM_90A, shape: extents(edge, edge, edge) }.into(),
        schedule,
        environment: Environment {
            gpu: text("g"),
            driver: text("d"),
            nvcc: text("n"),
            kernels: text("k"),
            objective: Default::default(),
            group_sizes: Default::default(),
            regime: Default::default(),
        }
        .into(),
        outcome,
        seconds: 0.5,
    }
}

fn measured(edge: u32) -> Trial {
    trial(edge, Outcome::Measured(Measurement::new(0.25, 0.5, 10)))
}

#[test]
fn a_journal_gives_back_what_was_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.jsonl");
    let failed = trial(2, Outcome::Failed(Failure::WrongResult { detail: "C[0, 1] is NaN".to_owned() }));
    let mut journal = Journal::open(&path, Start::Resume).unwrap();
    journal.append(measured(1)).unwrap();
    journal.append(failed.clone()).unwrap();
    drop(journal);
    let journal = Journal::open(&path, Start::Resume).unwrap();
    assert_eq!(journal.trials(), [measured(1), failed]);
    assert_eq!(journal.records.find(&measured(1).key()), Some(&measured(1)));
    assert_eq!(journal.records.find(&measured(3).key()), None);
    assert_eq!(*journal.recovery(), Recovery::default());
}

#[test]
fn trials_finals_and_the_time_of_cublas_stand_in_one_journal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.jsonl");
    let trial = measured(1);
    let (target, environment) = (&*trial.target, &*trial.environment);
    let held = HeldFinal {
        at: trial.at.clone(),
        target: target.clone(),
        environment: environment.clone(),
        finalists: vec![trial.schedule],
        incumbent: trial.schedule,
        legs: Vec::new(),
        promoted: false,
        reason: "nobody met".to_owned(),
    };
    let cublas = Measurement::new(0.5, 0.1, 10);
    let mut journal = Journal::open(&path, Start::Resume).unwrap();
    let reference = Reference { target: target.clone(), environment: environment.clone(), cublas };
    journal.append_reference(reference).unwrap();
    journal.append(trial.clone()).unwrap();
    journal.append_final(held.clone()).unwrap();
    drop(journal);
    assert_eq!(read_trials(&path).unwrap(), std::slice::from_ref(&trial));
    let journal = Journal::open(&path, Start::Resume).unwrap();
    assert_eq!((journal.trials(), journal.records.finals()), (&[measured(1)][..], &[held][..]));
    assert_eq!(journal.records.reference(target, environment), Some(&cublas));
    assert_eq!(journal.records.reference(&measured(2).target, environment), None);
}

#[test]
fn a_line_cut_anywhere_is_dropped_and_the_next_append_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.jsonl");
    let mut journal = Journal::open(&path, Start::Resume).unwrap();
    journal.append(measured(1)).unwrap();
    journal.append(measured(2)).unwrap();
    drop(journal);
    let whole = std::fs::read(&path).unwrap();
    let mut breaks = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at);
    let before_last = breaks.nth(1).unwrap() + 1;
    for cut in before_last + 1..whole.len() - 1 {
        std::fs::write(&path, &whole[..cut]).unwrap();
        let mut journal = Journal::open(&path, Start::Resume).unwrap();
        assert_eq!(journal.trials(), [measured(1)], "cut at {cut}");
        assert_eq!(journal.recovery().dropped_bytes, cut - before_last);
        journal.append(measured(2)).unwrap();
        drop(journal);
        assert_eq!(std::fs::read(&path).unwrap(), whole);
    }
}

#[test]
fn a_last_line_that_lacks_only_its_newline_counts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.jsonl");
    let mut journal = Journal::open(&path, Start::Resume).unwrap();
    journal.append(measured(1)).unwrap();
    drop(journal);
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 1]).unwrap();
    assert_eq!(Journal::open(&path, Start::Resume).unwrap().trials(), [measured(1)]);
    assert_eq!(std::fs::read(&path).unwrap(), whole);
}

#[test]
fn a_damaged_line_in_the_middle_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.jsonl");
    let line = serde_json::to_string(&Line::Trial(measured(1))).unwrap();
    std::fs::write(&path, format!("{line}\n{{\"line\":\"tri\n{line}\n")).unwrap();
    let message = Journal::open(&path, Start::Resume).unwrap_err().to_string();
    assert!(message.contains("history.jsonl:2:") && message.contains("--fresh"), "{message}");
}

#[test]
fn a_flipped_bit_anywhere_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.jsonl");
    let mut journal = Journal::open(&path, Start::Resume).unwrap();
    for edge in 1..=3 {
        journal.append(measured(edge)).unwrap();
    }
    drop(journal);
    let whole = std::fs::read(&path).unwrap();
    let trials = read_trials(&path).unwrap();
    for bit in (0..whole.len() * 8).step_by(7) {
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        std::fs::write(&path, &flipped).unwrap();
        // The last line may count as cut short; what is read is what was written.
        let read = read_trials(&path).unwrap_or_default();
        assert!(trials.starts_with(&read), "bit {bit} of {} changed a trial", whole.len() * 8);
    }
}

#[test]
fn a_journal_without_checksums_is_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.jsonl");
    let line = serde_json::to_string(&Line::Trial(measured(1))).unwrap();
    std::fs::write(&path, format!("{line}\n")).unwrap();
    Journal::open(&path, Start::Resume).unwrap().append(measured(2)).unwrap();
    assert_eq!(Journal::open(&path, Start::Resume).unwrap().trials(), [measured(1), measured(2)]);
}

#[test]
fn times_that_cannot_be_are_refused_with_their_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.jsonl");
    let whole = serde_json::to_string(&Line::Trial(measured(1))).unwrap();
    for ms in ["0.0", "-1.0", "1e300", "1e-300"] {
        std::fs::write(&path, format!("{whole}\n{}\n", whole.replace("0.25", ms))).unwrap();
        let message = read_trials(&path).unwrap_err().to_string();
        assert!(message.contains("history.jsonl:2: ") && message.contains("median_ms is "), "{message}");
    }
}

#[test]
fn a_journal_of_a_newer_tuner_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.jsonl");
    let head = checksum::seal(serde_json::to_vec(&Line::Journal { version: 3 }).unwrap());
    std::fs::write(&path, [head, b"\n".to_vec()].concat()).unwrap();
    let message = Journal::open(&path, Start::Resume).unwrap_err().to_string();
    assert!(message.contains("version 3") && message.contains("update the tuner"), "{message}");
}

#[test]
fn lines_of_another_version_are_kept_but_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.jsonl");
    std::fs::write(&path, "{\"line\":\"final\",\"ms\":1}\n").unwrap();
    let mut journal = Journal::open(&path, Start::Resume).unwrap();
    assert_eq!(journal.recovery().foreign_lines, 1);
    journal.append(measured(1)).unwrap();
    assert!(std::fs::read_to_string(&path).unwrap().starts_with("{\"line\":\"final\""));
}

#[test]
fn a_second_tuner_is_refused_with_the_first_ones_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.jsonl");
    let first = Journal::open(&path, Start::Resume).unwrap();
    let message = Journal::open(&path, Start::Resume).unwrap_err().to_string();
    assert!(message.contains(&format!("process {}", std::process::id())), "{message}");
    assert!(message.contains("--out"), "{message}");
    drop(first);
    Journal::open(&path, Start::Resume).unwrap();
}

#[test]
fn starting_over_puts_the_old_journal_aside() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.jsonl");
    Journal::open(&path, Start::Resume).unwrap().append(measured(1)).unwrap();
    assert!(Journal::open(&path, Start::Fresh).unwrap().trials().is_empty());
    let old = folder.path().join("history.jsonl.old");
    assert_eq!(Journal::open(&old, Start::Resume).unwrap().trials(), [measured(1)]);

    Journal::open(&path, Start::Resume).unwrap().append(measured(2)).unwrap();
    assert!(Journal::open(&path, Start::Fresh).unwrap().trials().is_empty());
    assert_eq!(Journal::open(&old, Start::Resume).unwrap().trials(), [measured(1)], "the first is still there");
    let second = folder.path().join("history.jsonl.old.2");
    assert_eq!(Journal::open(&second, Start::Resume).unwrap().trials(), [measured(2)]);
}

#[test]
fn every_part_of_the_key_tells_trials_apart() {
    let base = measured(1);
    let changes: [fn(&mut Trial); 7] = [
        |trial| Arc::make_mut(&mut trial.target).shape = extents(1, 1, 7),
        |trial| {
            Arc::make_mut(&mut trial.target).problem = Problem::matmul(Dtype::Bf16, Layout::Nt, "gelu".parse().unwrap())
        },
        |trial| Arc::make_mut(&mut trial.target).arch = Arch::SM_80,
        |trial| Arc::make_mut(&mut trial.environment).gpu = "other".to_owned(),
        |trial| Arc::make_mut(&mut trial.environment).driver = "other".to_owned(),
        |trial| Arc::make_mut(&mut trial.environment).nvcc = "other".to_owned(),
        |trial| Arc::make_mut(&mut trial.environment).kernels = "other".to_owned(),
    ];
    for change in changes {
        let mut other = base.clone();
        change(&mut other);
        assert_ne!(other.key(), base.key(), "{other:?}");
    }
    let other = Trial { seconds: 9.0, generation: 4, ..base.clone() };
    assert_eq!(other.key(), base.key());
}
