//! run.sh in a pack of shell scripts that behave like test programs.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

const PASSES: &str = "echo 'test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured'";
const FAILS: &str = "echo 'test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured'; exit 101";
const SKIPS: &str = "echo 'skipped: a::b: no GPU' >> \"$AUTOKERNEL_SKIP_LOG\"
echo 'test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured'";
/// Reports a sanitize test to --list, and passes.
const SANITIZED: &str = "case \"$*\" in *--list*) echo 'sanitize_small: test';; *) echo \"ran $*\";; esac";
/// Runs the program that follows its own options, and finds no error.
const CLEAN_SANITIZER: &str = "while [ \"${1#tests/}\" = \"$1\" ]; do shift; done; exec \"$@\"";

/// An unpacked pack that holds run.sh and `programs` (path and shell text).
fn pack(programs: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    write_program(dir.path(), "run.sh", super::RUN_SCRIPT);
    for (path, text) in programs {
        write_program(dir.path(), path, &format!("#!/bin/sh\n{text}\n"));
    }
    dir
}

fn write_program(dir: &Path, path: &str, text: &str) {
    let path = dir.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs run.sh, with the pack's own `path` folder first on PATH; returns success and all output.
fn run(pack: &TempDir, arguments: &[&str]) -> (bool, String) {
    let path = format!("{}:{}", pack.path().join("path").display(), std::env::var("PATH").unwrap());
    // Through sh: starting a file that was just written fails with "text file busy" when another
    // thread forks at the wrong moment.
    let output = Command::new("sh")
        .arg(pack.path().join("run.sh"))
        .args(arguments)
        .env("PATH", path)
        .env_remove("AUTOKERNEL_OUT")
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).unwrap())
}

#[test]
fn passing_tests_end_with_their_counts() {
    let (ok, text) = run(&pack(&[("tests/gpu_a", PASSES), ("tests/gpu_b", PASSES)]), &["test"]);
    assert!(ok, "{text}");
    assert!(text.contains("\n6 passed, 0 failed, 2 skipped\n"), "{text}");
}

#[test]
fn a_failing_program_does_not_stop_the_others_and_fails_the_run() {
    let (ok, text) = run(&pack(&[("tests/gpu_a", FAILS), ("tests/gpu_b", PASSES)]), &["test"]);
    assert!(!ok, "{text}");
    assert!(text.contains("\n4 passed, 2 failed, 1 skipped\n"), "{text}");
}

#[test]
fn a_program_that_dies_before_its_report_counts_as_failed() {
    let (ok, text) = run(&pack(&[("tests/gpu_a", "kill -9 $$"), ("tests/gpu_b", PASSES)]), &["test"]);
    assert!(!ok, "{text}");
    assert!(text.contains("\n3 passed, 1 failed, 1 skipped\n"), "{text}");
}

#[test]
fn a_machine_where_every_test_skips_itself_does_not_pass() {
    let (ok, text) = run(&pack(&[("tests/gpu_a", SKIPS)]), &["test"]);
    assert!(!ok, "{text}");
    assert!(text.contains("skipped: a::b: no GPU"), "{text}");
    assert!(text.contains("\n0 passed, 0 failed, 1 skipped\n"), "{text}");
}

#[test]
fn programs_see_the_pack_as_the_root_and_get_the_arguments() {
    let program = format!("echo \"root $AUTOKERNEL_ROOT arguments $*\"; {PASSES}");
    let pack = pack(&[("tests/gpu_a", &program)]);
    let (_, text) = run(&pack, &["test", "ragged", "--test-threads=1"]);
    let root = pack.path().canonicalize().unwrap();
    assert!(text.contains(&format!("root {} arguments ragged --test-threads=1", root.display())), "{text}");
}

#[test]
fn sanitize_runs_both_tools_on_programs_that_have_such_tests() {
    let pack =
        pack(&[("tests/gpu_a", SANITIZED), ("tests/gpu_b", PASSES), ("path/compute-sanitizer", CLEAN_SANITIZER)]);
    let (ok, text) = run(&pack, &["sanitize"]);
    assert!(ok, "{text}");
    assert!(text.contains("2 of 2 sanitizer runs clean"), "{text}");
}

#[test]
fn a_sanitizer_that_reports_errors_fails_the_run() {
    let pack = pack(&[("tests/gpu_a", SANITIZED), ("path/compute-sanitizer", "exit 99")]);
    let (ok, text) = run(&pack, &["sanitize"]);
    assert!(!ok && text.contains("0 of 2 sanitizer runs clean"), "{text}");
}

#[test]
fn sanitize_without_such_tests_does_not_pass() {
    let pack = pack(&[("tests/gpu_b", PASSES), ("path/compute-sanitizer", CLEAN_SANITIZER)]);
    let (ok, text) = run(&pack, &["sanitize"]);
    assert!(!ok && text.contains("nothing was checked"), "{text}");
}

#[test]
fn benches_are_measured_rather_than_tested() {
    let (ok, text) = run(&pack(&[("benches/matmul", "echo \"got $*\"")]), &["bench", "8192"]);
    assert!(ok && text.contains("got --bench 8192"), "{text}");
}

#[test]
fn a_pack_that_lacks_what_is_asked_for_says_so() {
    let pack = pack(&[]);
    for (command, lack) in [("test", "no tests"), ("bench", "no benches"), ("tune", "no tuner")] {
        let (ok, text) = run(&pack, &[command]);
        assert!(!ok && text.contains(lack), "{text}");
    }
}

#[test]
fn all_runs_every_command_and_names_those_that_failed() {
    let pack = pack(&[
        ("tests/gpu_a", SANITIZED),
        ("path/compute-sanitizer", CLEAN_SANITIZER),
        ("benches/matmul", "exit 1"),
        ("bin/tuner", "echo tuned"),
    ]);
    let (ok, text) = run(&pack, &["all"]);
    assert!(!ok, "{text}");
    assert!(text.contains("tuned"), "{text}");
    assert!(text.contains("failed: test bench\n"), "{text}");
}

#[test]
fn an_unknown_command_shows_the_usage() {
    let (ok, text) = run(&pack(&[]), &["tets"]);
    assert!(!ok && text.contains("usage: run.sh") && text.contains("unknown command: tets"), "{text}");
}
