//! Searches led by a model, whatever the model does.

use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;

use crate::common::Tuner;
use serde_json::{Value, json};

const SHAPE: [&str; 2] = ["--shape", "4096x4096x4096"];

fn schedule(stages: u32, group: u32) -> Value {
    json!({
        "family": "sm90", "tile_m": 128, "tile_n": 256, "stages": stages, "consumers": 2, "mode": "cooperative",
        "cluster_m": 2, "cluster_n": 1, "raster": { "order": "along_m", "group": group }
    })
}

fn reply(folder: &Path, number: u32, text: &str) {
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join(format!("reply-{number:03}.md")), text).unwrap();
}

fn proposals(schedules: &[Value]) -> String {
    let proposals: Vec<Value> =
        schedules.iter().map(|schedule| json!({ "why": "wide tiles reuse B", "schedule": schedule })).collect();
    json!({ "proposals": proposals }).to_string()
}

fn trials(tuner: &Tuner) -> Vec<Value> {
    tuner.journaled()
}

fn run(tuner: &Tuner, args: &[&str]) -> std::process::Output {
    let output = tuner.run(&[SHAPE.as_slice(), args].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

#[test]
fn the_models_proposals_are_tried_and_it_is_told_what_became_of_them() {
    let tuner = Tuner::new();
    let folder = tuner.folder().join("model");
    let broken = json!({ "family": "sm90", "tile_m": 100 });
    reply(&folder, 1, &proposals(&[schedule(3, 8), schedule(4, 16), broken]));
    reply(&folder, 2, &proposals(&[schedule(4, 16), schedule(4, 8)]));
    run(&tuner, &["--strategy", "llm", "--llm", "file:model", "--evaluations", "6", "--generations", "2"]);

    let trials = trials(&tuner);
    assert_eq!(trials.len(), 3, "two, and one more: the other is a duplicate");
    assert!(trials.iter().all(|trial| trial["why"] == "wide tiles reuse B"));
    assert!(trials.iter().all(|trial| trial["proposed_by"].as_str().unwrap().starts_with("llm ")));
    let second = std::fs::read_to_string(folder.join("prompt-002.md")).unwrap();
    let best = trials[..2].iter().map(|trial| trial["outcome"]["median_ms"].as_f64().unwrap()).fold(9.0, f64::min);
    assert!(second.contains(&format!("{best:.4} ms")), "{second}");
    assert!(second.contains("tile_m"), "the broken proposal must come back with its reason");
}

#[test]
fn a_replay_refuses_a_legal_combination_that_was_not_recorded_and_says_so_beforehand() {
    let tuner = Tuner::new();
    let folder = tuner.folder().join("model");
    let mut unrecorded = schedule(3, 8);
    unrecorded["cluster_m"] = 4.into();
    reply(&folder, 1, &proposals(&[unrecorded.clone(), schedule(3, 8)]));
    reply(&folder, 2, &proposals(&[schedule(4, 8)]));
    run(&tuner, &["--strategy", "llm", "--llm", "file:model", "--evaluations", "4", "--generations", "2"]);

    let tried: Vec<Value> = trials(&tuner).into_iter().map(|trial| trial["schedule"].clone()).collect();
    assert_eq!(tried.len(), 2);
    assert!(tried.iter().all(|schedule| schedule["cluster_m"] == 2), "{tried:?}");
    let prompt = |number| std::fs::read_to_string(folder.join(format!("prompt-{number:03}.md"))).unwrap();
    assert!(prompt(1).contains("only combinations that were recorded can be tried"));
    assert!(prompt(2).contains("this combination is not among those recorded"), "{}", prompt(2));
}

#[test]
fn a_model_that_answers_prose_does_not_end_the_run() {
    let tuner = Tuner::new();
    for number in 1..=4 {
        reply(&tuner.folder().join("model"), number, "I would rather talk about the weather.");
    }
    let output =
        run(&tuner, &["--strategy", "llm", "--llm", "file:model", "--evaluations", "12", "--generations", "3"]);
    let trials = trials(&tuner);
    assert_eq!(trials.len(), 12);
    assert!(trials.iter().all(|trial| trial["proposed_by"] == "llm, local in its place"));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("prose") && told.contains("for the rest of this search"), "{told}");
}

#[test]
fn a_server_that_refuses_the_key_does_not_end_the_run() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let _ = stream.read(&mut [0; 65536]);
            let body = r#"{"error":{"message":"no such key"}}"#;
            let head = "HTTP/1.1 401 Unauthorized\r\nContent-Type: application/json\r\nConnection: close";
            let _ = write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        }
    });
    let tuner = Tuner::new();
    let output =
        run(&tuner, &["--strategy", "llm", "--llm", &url, "--model", "m", "--evaluations", "12", "--generations", "3"]);
    assert_eq!(trials(&tuner).len(), 12);
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("refused the key") && told.contains("for the rest of this search"), "{told}");
}

#[test]
fn a_resumed_search_tells_the_model_what_the_journal_knows() {
    let tuner = Tuner::new();
    let folder = tuner.folder().join("model");
    reply(&folder, 1, &proposals(&[schedule(3, 8), schedule(4, 16)]));
    run(&tuner, &["--strategy", "llm", "--llm", "file:model", "--evaluations", "2", "--generations", "1"]);
    reply(&folder, 2, &proposals(&[schedule(4, 8), schedule(4, 4)]));
    run(&tuner, &["--strategy", "llm", "--llm", "file:model", "--evaluations", "4", "--generations", "2"]);
    assert_eq!(trials(&tuner).len(), 4);
    let second = std::fs::read_to_string(folder.join("prompt-002.md")).unwrap();
    assert!(second.contains("Best so far"), "{second}");
    assert!(second.contains("2 evaluations are left"), "{second}");
}

#[test]
fn every_schedule_that_was_tried_is_in_the_next_prompt_so_that_none_is_proposed_twice() {
    let tuner = Tuner::new();
    let folder = tuner.folder().join("model");
    let pair = |group| proposals(&[schedule(3, group), schedule(4, group)]);
    (1..=3).zip([4, 8, 16]).for_each(|(number, group)| reply(&folder, number, &pair(group)));
    run(&tuner, &["--strategy", "hybrid", "--llm", "file:model", "--evaluations", "40", "--generations", "4"]);

    let third = std::fs::read_to_string(folder.join("prompt-003.md")).unwrap();
    let (_, news) = third.rsplit_once("# Best so far").unwrap();
    let before: Vec<Value> =
        trials(&tuner).into_iter().filter(|trial| trial["generation"].as_u64() < Some(3)).collect();
    assert_eq!(before.len(), 20);
    let lines = |title: &str| {
        let (_, section) = news.split_once(title).unwrap_or_else(|| panic!("no {title} in:\n{news}"));
        section.lines().skip(1).take_while(|line| line.starts_with("- ")).map(str::to_owned).collect::<Vec<_>>()
    };
    let fastest = lines("# Next fastest");
    let (others, last) = (lines("# Also tried"), lines("# Your last proposals"));
    assert_eq!(fastest.len(), 12);
    let schedule = |line: &String| line.split_once(": ").unwrap().0.to_owned();
    let told: HashSet<String> = fastest.iter().chain(&others).chain(&last).map(schedule).collect();
    let best = usize::from(!told.contains("- the best itself"));
    assert_eq!(told.len() + best, 20, "each as its difference from the best:\n{news}");
}

#[test]
fn a_url_without_a_model_is_refused_with_the_option_that_is_missing() {
    let output = Tuner::new().run(&["--llm", "http://localhost:1/v1"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--model"));
}

#[test]
fn a_name_of_no_model_is_refused_before_its_model_is_asked_for_and_a_model_without_a_name_too() {
    for (args, told) in [
        (&["--llm", "foo"][..], "--llm names no language model"),
        (&["--llm", "file:"], "--llm file: names no folder"),
        (&["--llm", "http://localhost:1/v1", "--model", ""], "--model"),
    ] {
        let output = Tuner::new().run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(said.contains(told) && !said.contains("needs --model"), "{said}");
    }
}

#[test]
fn with_a_model_the_hybrid_is_the_default_and_both_minds_propose() {
    let tuner = Tuner::new();
    let folder = tuner.folder().join("model");
    reply(&folder, 1, &proposals(&[schedule(3, 8), schedule(4, 16)]));
    reply(&folder, 2, &proposals(&[schedule(4, 8)]));
    reply(&folder, 3, &proposals(&[schedule(3, 16)]));
    let output = run(&tuner, &["--llm", "file:model", "--evaluations", "30", "--generations", "5"]);
    let trials = trials(&tuner);
    assert_eq!(trials.len(), 30, "the surrogate spends what the model leaves");
    let by = |who: &str| trials.iter().filter(|trial| trial["proposed_by"].as_str().unwrap().starts_with(who)).count();
    assert_eq!((by("hybrid, llm "), by("hybrid, surrogate")), (4, 26));
    assert!(!folder.join("prompt-004.md").exists(), "three rounds are the model's");
    let second = std::fs::read_to_string(folder.join("prompt-002.md")).unwrap();
    let fastest = trials[..6].iter().filter_map(|trial| trial["outcome"]["median_ms"].as_f64()).fold(9.0, f64::min);
    assert!(second.contains(&format!("{fastest:.4} ms")), "the model is told of the surrogate's trials too");
    assert!(String::from_utf8(output.stdout).unwrap().contains("hybrid files in model"));
}

#[test]
fn a_hybrid_whose_model_is_silent_goes_on_with_the_surrogate_and_says_so() {
    let tuner = Tuner::new();
    for number in 1..=4 {
        reply(&tuner.folder().join("model"), number, "I would rather talk about the weather.");
    }
    let output = run(&tuner, &["--llm", "file:model", "--evaluations", "12", "--generations", "3"]);
    let trials = trials(&tuner);
    assert_eq!(trials.len(), 12);
    assert!(trials.iter().all(|trial| trial["proposed_by"] == "hybrid, surrogate"));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("The surrogate proposes for the rest of this search"), "{told}");
}

#[test]
fn a_hybrid_goes_on_from_its_journal_and_tries_nothing_twice() {
    let tuner = Tuner::new();
    let folder = tuner.folder().join("model");
    reply(&folder, 1, &proposals(&[schedule(3, 8), schedule(4, 16)]));
    run(&tuner, &["--llm", "file:model", "--evaluations", "6", "--generations", "1"]);
    reply(&folder, 2, &proposals(&[schedule(4, 8), schedule(3, 8)]));
    run(&tuner, &["--llm", "file:model", "--evaluations", "12", "--generations", "2"]);
    let trials = trials(&tuner);
    let mut schedules: Vec<String> = trials.iter().map(|trial| trial["schedule"].to_string()).collect();
    schedules.sort();
    schedules.dedup();
    assert_eq!((trials.len(), schedules.len()), (12, 12));
    let by_model = trials.iter().filter(|trial| trial["proposed_by"].as_str().unwrap().starts_with("hybrid, llm"));
    assert_eq!(by_model.count(), 3);
}
