//! `AUTOKERNEL_RECORD`: what is in the file after a program has run, ended or been killed.
//!
//! The variable is read once in a process, so each test runs itself again as a child that launches.

mod common;

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use autokernel_runtime::__private::matmul_on_cpu;
use autokernel_runtime::matmul::{extents, sizes};
use autokernel_runtime::{Device, Embedded, Extents, Kernel, Matrix, matmul};
use serde_json::Value;

const CHILD: &str = "AUTOKERNEL_TEST_CHILD";

/// What a build embeds, without images.
const JSON: &str = r#"{
    "name": "linear", "about": "a product", "problem": "{\"operation\":\"matmul\"}",
    "signature": {
        "dims": [{"name": "m"}, {"name": "n"}, {"name": "k"}],
        "operands": [
            {"name": "a", "role": "input", "dtype": "f32", "axes": [0, 2]},
            {"name": "b", "role": "input", "dtype": "f32", "axes": [2, 1]},
            {"name": "out", "role": "output", "dtype": "f32", "axes": [0, 1]}
        ]
    },
    "variants": [], "not_compiled": null
}"#;

static KERNEL: Kernel<f32, f32> = {
    let cpu: autokernel_runtime::CpuFunction = |arguments| matmul_on_cpu(arguments, matmul::Layout::Nn, |_| ());
    // SAFETY: there are no images.
    unsafe { Kernel::new(Embedded { json: JSON, images: &[], cpu }) }
};

fn launch(shape: Extents) {
    let zeros =
        |rows: u32, columns: u32| Matrix::<f32>::zeros(&Device::cpu(), rows as usize, columns as usize).unwrap();
    let [m, n, k] = sizes(&shape);
    let (a, b, mut c) = (zeros(m, k), zeros(k, n), zeros(m, n));
    KERNEL.launch(&a, &b, &mut c).unwrap();
}

/// Whether this process is the child that launches.
fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// The test `name` again, as a child that records in `file`.
fn child(name: &str, file: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture", "--test-threads=1"]);
    command.env(CHILD, "1").env("AUTOKERNEL_RECORD", file).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

fn warnings(output: &Output) -> usize {
    String::from_utf8_lossy(&output.stderr).matches("launches are not recorded").count()
}

/// (shape, count) of each line.
fn lines(file: &Path) -> Vec<(Extents, u64)> {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let line = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let extent = |name: &str| u32::try_from(line["shape"][name].as_u64().unwrap()).unwrap();
        (extents(extent("m"), extent("n"), extent("k")), line["count"].as_u64().unwrap())
    };
    text.lines().map(line).collect()
}

fn total(lines: &[(Extents, u64)], shape: Extents) -> u64 {
    lines.iter().filter(|(other, _)| *other == shape).map(|(_, count)| count).sum()
}

#[test]
fn launches_of_many_threads_are_counted_by_shape_and_written_at_exit() {
    if is_child() {
        std::thread::scope(|scope| {
            for m in 1..=8 {
                scope.spawn(move || {
                    for _ in 0..100 {
                        launch(extents(m, 2, 3));
                        launch(extents(9, 9, 9));
                    }
                });
            }
        });
        launch(extents(0, 2, 3));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shapes.jsonl");
    let name = "launches_of_many_threads_are_counted_by_shape_and_written_at_exit";
    assert!(child(name, &file).status().unwrap().success());
    let lines = lines(&file);
    assert_eq!(total(&lines, extents(9, 9, 9)), 800);
    for m in 1..=8 {
        assert_eq!(total(&lines, extents(m, 2, 3)), 100);
    }
    assert!(lines.iter().all(|(shape, _)| sizes(shape)[0] > 0), "an empty product is not tuned: {lines:?}");
}

#[test]
fn processes_that_share_a_file_add_up_and_none_tears_a_line() {
    if is_child() {
        for m in 1..=300 {
            launch(extents(m, 1, 1));
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shapes.jsonl");
    let name = "processes_that_share_a_file_add_up_and_none_tears_a_line";
    let children: Vec<_> = (0..6).map(|_| child(name, &file).spawn().unwrap()).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let lines = lines(&file);
    assert!((1..=300).all(|m| total(&lines, extents(m, 1, 1)) == 6), "{lines:?}");
}

#[test]
fn a_process_that_is_killed_has_written_what_is_older_than_a_second() {
    if is_child() {
        launch(extents(5, 6, 7));
        std::thread::sleep(Duration::from_secs(60));
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shapes.jsonl");
    let mut child = child("a_process_that_is_killed_has_written_what_is_older_than_a_second", &file).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while total(&lines(&file), extents(5, 6, 7)) == 0 && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(50));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(lines(&file), [(extents(5, 6, 7), 1)]);
}

#[test]
fn a_panic_loses_no_launch() {
    if is_child() {
        launch(extents(5, 6, 7));
        panic!("the program's own");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("shapes.jsonl");
    let output = child("a_panic_loses_no_launch", &file).output().unwrap();
    assert!(!output.status.success());
    assert_eq!(lines(&file), [(extents(5, 6, 7), 1)]);
}

#[test]
fn a_file_that_cannot_be_written_costs_one_warning_and_no_launch() {
    if is_child() {
        for m in 1..=3 {
            launch(extents(m, 1, 1));
        }
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("no such folder").join("shapes.jsonl");
    let output = child("a_file_that_cannot_be_written_costs_one_warning_and_no_launch", &file).output().unwrap();
    assert!(output.status.success());
    assert_eq!(warnings(&output), 1, "{}", String::from_utf8_lossy(&output.stderr));
}

#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_full_costs_one_warning_and_no_launch() {
    if is_child() {
        launch(extents(1, 1, 1));
        std::thread::sleep(Duration::from_millis(2500));
        launch(extents(2, 1, 1));
        return;
    }
    let output = child("a_disk_that_is_full_costs_one_warning_and_no_launch", Path::new("/dev/full")).output().unwrap();
    assert!(output.status.success());
    assert_eq!(warnings(&output), 1, "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn an_empty_name_records_nothing_and_says_nothing() {
    if is_child() {
        return launch(extents(1, 1, 1));
    }
    let output = child("an_empty_name_records_nothing_and_says_nothing", Path::new("")).output().unwrap();
    assert!(output.status.success());
    assert_eq!(warnings(&output), 0);
}
