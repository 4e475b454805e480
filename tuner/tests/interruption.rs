//! The real binary, stopped in every way there is.
#![cfg(unix)]

mod common;

use std::collections::HashSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use autokernel_codegen::config::Config;
use common::Tuner;
use serde_json::Value;

/// A tuner whose trials take a while, running.
fn start(tuner: &Tuner, args: &[&str]) -> Child {
    let slow = [args, &["--replay-delay-ms", "20"]].concat();
    tuner.command(&slow).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Waits until the journal has that many lines.
fn wait_for_trials(journal: &Path, trials: usize) {
    let begin = Instant::now();
    // Trials stand behind the journal's head.
    while std::fs::read(journal).map_or(0, |bytes| bytes.iter().filter(|&&byte| byte == b'\n').count()) <= trials {
        assert!(begin.elapsed() < Duration::from_secs(60), "no {trials} trials in a minute");
        std::thread::sleep(Duration::from_millis(3));
    }
}

fn send(child: &Child, signal: &str) {
    let status = Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}

/// The schedules of the journal, each line of which must be whole.
fn schedules(journal: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(journal).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let trials = lines.filter(|line| line["line"] == "trial");
    trials.map(|line| format!("{} {}", line["target"]["shape"], line["schedule"])).collect()
}

#[test]
fn a_tuner_that_is_killed_in_mid_generation_resumes_and_measures_nothing_twice() {
    let whole = Tuner::new();
    assert!(whole.run(&[]).status.success());

    let killed = Tuner::new();
    let journal = killed.out("history.jsonl");
    // Generations have 12 trials: each of these is in the middle of one, the last in the second target.
    for trials in [5, 17, 30, 31, 77] {
        let mut child = start(&killed, &[]);
        wait_for_trials(&journal, trials);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!killed.out("best_config.json").exists());
    }
    let measured = schedules(&journal).len();
    assert!((77..120).contains(&measured), "{measured}");
    let output = killed.run(&[]);
    assert!(output.status.success());

    let resumed = schedules(&journal);
    assert_eq!(resumed.iter().collect::<HashSet<_>>().len(), resumed.len(), "something was measured twice");
    assert_eq!(resumed, schedules(&whole.out("history.jsonl")));
    let config = |tuner: &Tuner| Config::load(&tuner.out("best_config.json")).unwrap();
    assert_eq!(config(&killed), config(&whole));
    let leftovers = std::fs::read_dir(killed.out("")).unwrap().map(|entry| entry.unwrap().file_name());
    let expected = [
        "best_config.json",
        "history.csv",
        "history.jsonl",
        "history.jsonl.lock",
        "learning_curve.svg",
        "results.json",
        "roofline.svg",
    ];
    let mut leftovers: Vec<String> = leftovers.map(|name| name.into_string().unwrap()).collect();
    leftovers.sort();
    assert_eq!(leftovers, expected);
}

#[test]
fn a_journal_cut_in_the_middle_of_a_line_is_repaired_and_only_that_trial_is_made_again() {
    let tuner = Tuner::new();
    let args = ["--shape", "4096x4096x4096"];
    assert!(tuner.run(&args).status.success());
    let journal = tuner.out("history.jsonl");
    let whole = schedules(&journal);
    let bytes = std::fs::read(&journal).unwrap();
    std::fs::write(&journal, &bytes[..bytes.len() - 100]).unwrap();
    let output = tuner.run(&args);
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).contains("dropped a last line that was cut short"));
    assert!(String::from_utf8_lossy(&output.stdout).contains("59 of them known before"));
    assert_eq!(schedules(&journal), whole);
}

#[test]
fn ctrl_c_finishes_the_trial_writes_the_outputs_and_says_so() {
    for signal in ["-INT", "-TERM"] {
        let tuner = Tuner::new();
        let child = start(&tuner, &[]);
        wait_for_trials(&tuner.out("history.jsonl"), 15);
        send(&child, signal);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130));
        let summary = String::from_utf8(output.stdout).unwrap();
        assert!(summary.contains("interrupted; the same command goes on from here"), "{summary}");
        assert!(summary.contains("not promoted: stopped before the final"), "{summary}");
        assert!(summary.contains(" × the default (") && !summary.contains("has no time"), "{summary}");

        let trials = schedules(&tuner.out("history.jsonl")).len();
        assert!((15..60).contains(&trials), "{trials}");
        let csv = std::fs::read_to_string(tuner.out("history.csv")).unwrap();
        assert_eq!(csv.lines().count(), trials + 1);
        assert_eq!(Config::load(&tuner.out("best_config.json")).unwrap().entries, []);
        assert!(tuner.run(&[]).status.success());
        let all = schedules(&tuner.out("history.jsonl"));
        assert_eq!((all.len(), all.iter().collect::<HashSet<_>>().len()), (120, 120));
    }
}

#[test]
fn an_interrupted_run_with_write_leaves_the_config_in_use_as_it_is() {
    let tuner = Tuner::new();
    let in_use = tuner.folder().join("best_config.json");
    Config::default().save(&in_use).unwrap();
    let before = std::fs::read(&in_use).unwrap();
    let child = start(&tuner, &["--write"]);
    wait_for_trials(&tuner.out("history.jsonl"), 15);
    send(&child, "-INT");
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    assert_eq!(std::fs::read(&in_use).unwrap(), before);
}

#[test]
fn a_second_tuner_in_the_same_folder_is_refused_with_the_first_ones_process() {
    let tuner = Tuner::new();
    let mut first = start(&tuner, &[]);
    wait_for_trials(&tuner.out("history.jsonl"), 3);
    let second = tuner.run(&[]);
    assert_eq!(second.status.code(), Some(3));
    let message = String::from_utf8(second.stderr).unwrap();
    assert!(message.contains(&format!("another tuner (process {})", first.id())), "{message}");
    assert!(message.contains("--out"), "{message}");
    let elsewhere = tuner.run(&["--out", "elsewhere", "--shape", "4096x4096x4096"]);
    assert!(elsewhere.status.success());
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(tuner.run(&[]).status.success(), "the lock must end with its process");
}

#[test]
fn an_output_folder_that_cannot_be_written_is_named() {
    let tuner = Tuner::new();
    std::fs::write(tuner.folder().join("occupied"), "a file").unwrap();
    let output = tuner.run(&["--out", "occupied"]);
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("occupied") && message.contains("check that the folder is writable"), "{message}");
}

/// A limit on file sizes stands for a full disk.
#[test]
fn a_journal_on_a_full_disk_ends_the_run_with_the_reason_and_goes_on_once_there_is_room() {
    let tuner = Tuner::new();
    let args = ["--shape", "4096x4096x4096"];
    let command = tuner.command(&args);
    let mut limited = Command::new("sh");
    limited.current_dir(tuner.folder()).args(["-c", "trap '' XFSZ; ulimit -f 20; exec \"$0\" \"$@\""]);
    let output = limited.arg(command.get_program()).args(command.get_args()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("error: tuner-out/history.jsonl: File too large"), "{message}");
    assert!(message.contains("has room"), "{message}");
    let before = schedules(&tuner.out("history.jsonl"));
    assert!((5..60).contains(&before.len()), "{}", before.len());

    assert!(tuner.run(&args).status.success());
    let after = schedules(&tuner.out("history.jsonl"));
    assert_eq!(after.len(), 60);
    assert_eq!(after[..before.len()], before);
}
