//! Exchanges written down, and sessions made from them again.

use std::path::Path;
use std::sync::Arc;

use crate::common::Tuner;
use serde_json::{Value, json};
use tuner::llm::{Caps, Guard, JsonSchema, LlmError, Message, Provider, Recorder, Replayed, Reply, Usage, prompt_hash};
use tuner::stop::Stop;

/// A model that repeats the last words it was told, and fails when these are "fail".
struct Echo;

impl Provider for Echo {
    fn name(&self) -> String {
        "echo at home".to_owned()
    }

    fn complete(&self, messages: &[Message], _: Option<&JsonSchema>) -> Result<Reply, LlmError> {
        let text = messages.last().unwrap().content.clone();
        if text == "fail" {
            return Err(LlmError::Empty { detail: "tired".to_owned() });
        }
        let usage = Usage { input_tokens: 100, output_tokens: 20 };
        Ok(Reply { text, model: "echo-1".to_owned(), usage, retried: vec!["HTTP 500".to_owned()], cut_short: false })
    }
}

fn say(provider: &dyn Provider, words: &str) -> Result<String, LlmError> {
    provider.complete(&[Message::user(words)], None).map(|reply| reply.text)
}

fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn every_exchange_is_on_disk_as_soon_as_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("below/transcript.jsonl");
    let recorder = Recorder::new(Arc::new(Echo), &path).unwrap();
    recorder.begin("a target");
    say(&recorder, "one").unwrap();
    assert_eq!(lines(&path).len(), 1);
    say(&recorder, "fail").unwrap_err();
    let lines = lines(&path);
    assert_eq!((&lines[0]["topic"], &lines[0]["position"]), (&json!("a target"), &json!(1)));
    assert_eq!((&lines[0]["provider"], &lines[0]["model"]), (&json!("echo at home"), &json!("echo-1")));
    assert_eq!(lines[0]["messages"], json!([{"role": "user", "content": "one"}]));
    assert_eq!((&lines[0]["reply"], &lines[0]["repair"]), (&json!("one"), &json!(false)));
    assert_eq!(lines[0]["usage"], json!({"input_tokens": 100, "output_tokens": 20}));
    assert_eq!((&lines[0]["retried"], lines[0]["seconds"].is_f64()), (&json!(["HTTP 500"]), true));
    assert_eq!(lines[0]["prompt_hash"], prompt_hash(&[Message::user("one")]));
    assert!(lines[1]["error"]["text"].as_str().unwrap().contains("tired"), "{}", lines[1]);
}

#[test]
fn a_transcript_answers_by_position_and_says_when_the_prompt_is_another() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("transcript.jsonl");
    let recorder = Recorder::new(Arc::new(Echo), &path).unwrap();
    recorder.begin("a");
    say(&recorder, "one").unwrap();
    say(&recorder, "fail").unwrap_err();
    recorder.begin("b");
    say(&recorder, "two").unwrap();
    // What a crash cut short does not count, and what follows is not lost with it.
    std::fs::OpenOptions::new()
        .append(true)
        .open(&path)
        .and_then(|mut file| std::io::Write::write_all(&mut file, b"{\"at\": \"20"))
        .unwrap();
    let later = Recorder::new(Arc::new(Echo), &path).unwrap();
    later.begin("b");
    say(&later, "three").unwrap();

    let replayed = Replayed::open(&path).unwrap();
    replayed.begin("b");
    assert_eq!([say(&replayed, "two").unwrap(), say(&replayed, "three").unwrap()], ["two", "three"]);
    assert!(replayed.notices().is_empty());
    replayed.begin("a");
    assert_eq!(say(&replayed, "something else").unwrap(), "one");
    let notices = replayed.notices();
    assert!(notices.len() == 1 && notices[0].contains("prompt 1 is not the one in"), "{notices:?}");
    let error = say(&replayed, "fail").unwrap_err();
    assert!(!error.is_transient() && error.to_string().contains("tired"), "{error}");
    let error = say(&replayed, "more").unwrap_err();
    assert!(error.to_string().contains("holds no exchange 3 about a"), "{error}");
    assert!(replayed.name().contains("echo at home, replayed from"));
}

#[test]
fn a_file_that_is_no_transcript_is_refused_with_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("notes.txt");
    assert!(Replayed::open(&path).err().unwrap().to_string().contains("notes.txt"));
    std::fs::write(&path, "hello\n").unwrap();
    let error = Replayed::open(&path).err().unwrap().to_string();
    assert!(error.contains("notes.txt holds no exchange"), "{error}");
}

fn guarded(caps: Caps) -> Guard {
    Guard::new(Arc::new(Echo), caps, Stop::default())
}

#[test]
fn the_request_that_passes_a_cap_is_the_last() {
    let tokens = guarded(Caps { tokens: Some(240), ..Caps::default() });
    assert!(say(&tokens, "one").is_ok() && say(&tokens, "two").is_ok());
    let error = say(&tokens, "three").unwrap_err();
    assert!(error.to_string().contains("--llm-max-tokens 240: 240 tokens"), "{error}");

    // 100 tokens at 2 and 20 at 10, a million: 0.0004 a request.
    let prices = Caps { input_price: 2.0, output_price: 10.0, ..Caps::default() };
    let cost = guarded(Caps { cost: Some(0.0005), ..prices });
    assert!(say(&cost, "one").is_ok() && say(&cost, "two").is_ok());
    assert!(say(&cost, "three").unwrap_err().to_string().contains("--llm-max-cost 0.0005: 0.0008"));
    assert_eq!((cost.spent().requests, cost.spent().usage.input_tokens), (2, 200));
    assert!((cost.spent().cost - 0.0008).abs() < 1e-12);

    let time = guarded(Caps { time: Some(std::time::Duration::ZERO), ..Caps::default() });
    assert!(matches!(say(&time, "one"), Err(LlmError::Capped { .. })));
}

/// A session with canned replies in files, and its transcript.
fn session(tuner: &Tuner) -> Vec<String> {
    let folder = tuner.folder().join("model");
    std::fs::create_dir_all(&folder).unwrap();
    let schedule = |group: u32| {
        json!({ "schedule": {
            "family": "sm90", "tile_m": 128, "tile_n": 256, "stages": 4, "consumers": 2, "mode": "cooperative",
            "cluster_m": 2, "cluster_n": 1, "raster": { "order": "along_m", "group": group }
        } })
    };
    for (number, groups) in [(1, [1, 2]), (2, [4, 8])] {
        let reply = json!({ "proposals": groups.map(schedule) }).to_string();
        std::fs::write(folder.join(format!("reply-{number:03}.md")), reply).unwrap();
    }
    run(tuner, &["--llm", "file:model"])
}

/// The schedules of the journal after a run with these arguments.
fn run(tuner: &Tuner, args: &[&str]) -> Vec<String> {
    let shape = ["--shape", "4096x4096x4096", "--strategy", "llm", "--evaluations", "4", "--generations", "2"];
    let output = tuner.run(&[shape.as_slice(), args].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    tuner.journaled().iter().map(|line| line["schedule"].to_string()).collect()
}

#[test]
fn a_session_is_made_again_from_its_transcript() {
    let first = Tuner::new();
    let tried = session(&first);
    let transcript = first.out("transcript.jsonl");
    let exchanges = lines(&transcript);
    assert_eq!((tried.len(), exchanges.len()), (4, 2));
    // The same command answers from the files again, and writes nothing twice.
    assert_eq!(session(&first), tried);
    assert_eq!(lines(&transcript), exchanges);

    let again = Tuner::new();
    let replay = format!("replay:{}", transcript.display());
    assert_eq!(run(&again, &["--llm", &replay]), tried);
    let hashes = |lines: &[Value]| lines.iter().map(|line| line["prompt_hash"].to_string()).collect::<Vec<_>>();
    assert_eq!(hashes(&lines(&again.out("transcript.jsonl"))), hashes(&exchanges));
}

#[test]
fn a_capped_run_goes_on_without_the_model_and_says_so() {
    let tuner = Tuner::new();
    session(&tuner);
    let replay = format!("replay:{}", tuner.out("transcript.jsonl").display());
    let capped = Tuner::new();
    let search = ["--shape", "4096x4096x4096", "--strategy", "llm", "--evaluations", "4", "--generations", "2"];
    let args = [search.as_slice(), &["--llm", &replay]].concat();
    let output = capped.run(&[args.as_slice(), &["--llm-max-tokens", "10"]].concat());
    assert!(output.status.success());
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.contains("--llm-max-tokens 10") && told.contains("for the rest of this search"), "{told}");
    let by: Vec<Value> = capped.journaled().iter().map(|line| line["proposed_by"].clone()).collect();
    assert_eq!(by.len(), 4);
    assert!(by[0].as_str().unwrap().starts_with("llm files in model, replayed") && by[3] == "llm, local in its place");
    assert!(String::from_utf8(output.stdout).unwrap().contains("model         1 requests"));
    let output = capped.run(&["--llm", &replay, "--llm-max-cost", "1"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--llm-input-price"));
}
