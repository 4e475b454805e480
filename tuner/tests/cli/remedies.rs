//! What is said when a command cannot go on helps with that, and with nothing else.

use std::process::Command;

use crate::common::{GPU, Tuner};

const SHAPE: [&str; 4] = ["--shape", "4096x4096x4096", "--evaluations", "6"];

fn refused(tuner: &Tuner, args: &[&str]) -> String {
    let output = tuner.plain(args).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{args:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_named_config_that_is_not_there_is_not_to_be_made_by_the_same_command() {
    let tuner = Tuner::new();
    let message = refused(&tuner, &["--spaces", "spaces", "--config", "nowhere.json"]);
    assert!(
        message.contains("nowhere.json does not exist; name a config that does, or leave --config out"),
        "{message}"
    );
    assert!(!message.contains("cargo run"), "{message}");
}

#[test]
fn an_import_makes_its_folder_and_refuses_a_name_that_spaces_would_not_see() {
    let tuner = Tuner::new();
    assert!(tuner.run(&SHAPE).status.success());
    assert!(tuner.sub(&["export", "--out", "t4"]).status.success());
    let file = std::fs::read_dir(tuner.folder().join("t4")).unwrap().flatten().map(|entry| entry.path());
    let file = file.into_iter().find(|path| path.to_string_lossy().ends_with(".t4.json")).unwrap();
    let metadata = file.with_extension("metadata.json");
    let text = std::fs::read_to_string(&metadata).unwrap();
    std::fs::write(&metadata, text.replace(GPU, "NVIDIA H200")).unwrap();
    let file = file.to_str().unwrap();
    let message = refused(&tuner, &["import", file, "--out", "spaces.json"]);
    assert!(message.contains("let the name of --out end in .json.gz"), "{message}");
    let made = tuner.sub(&["import", file, "--out", "new/folder/space.json.gz"]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    assert!(tuner.folder().join("new/folder/space.json.gz").is_file());
}

/// A limit on file sizes stands for a full disk: the journal fits in it, the config that is in use does not.
#[cfg(unix)]
#[test]
fn a_config_that_finds_no_room_is_not_to_be_restored_and_files_that_were_not_written_are_not_listed() {
    let tuner = Tuner::new();
    // Portfolios and entries that the output is written with.
    let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../best_config.json");
    std::fs::copy(shipped, tuner.folder().join("best_config.json")).unwrap();
    let command = tuner.command(&SHAPE);
    let mut limited = Command::new("sh");
    limited.current_dir(tuner.folder()).args(["-c", "trap '' XFSZ; ulimit -f 24; exec \"$0\" \"$@\""]);
    let output = limited.arg(command.get_program()).args(command.get_args()).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let (said, message) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    assert!(message.contains("best_config.json: File too large") && message.contains("has room"), "{message}");
    assert!(!message.contains("restore") && !said.contains("roofline.svg"), "{message}{said}");
}

#[cfg(not(feature = "study"))]
#[test]
fn commands_of_a_study_name_the_feature_that_has_them_and_repeat_nothing() {
    for command in [["study", "status", "env:STUDY"], ["work", "--study", "postgres://ann:s3cret@host/data"]] {
        let output = Tuner::without_spaces().plain(&command).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.contains("--features study") && !message.contains("s3cret"), "{message}");
    }
}

#[test]
fn a_url_that_cannot_be_used_is_not_repeated_with_its_password() {
    let output = Tuner::without_spaces().plain(&["--study", "mysql://ann:s3cret@host/data"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("postgres://USER") || message.contains("--features study"), "{message}");
    assert!(!message.contains("s3cret") && !message.contains("ann"), "{message}");
}
