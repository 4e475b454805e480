//! A session with a model behind a folder, ended at every unanswered prompt and gone on with later.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Output;
use std::time::{Duration, Instant};

use crate::common::Tuner;
use serde_json::{Value, json};

const SESSION: [&str; 14] = [
    "--shape",
    "4096x4096x4096",
    "--strategy",
    "llm",
    "--llm",
    "file:model",
    "--llm-patience",
    "0",
    "--llm-unanswered",
    "stop",
    "--evaluations",
    "8",
    "--generations",
    "4",
];

/// What the model says, round by round; the third reply has to be mended.
fn replies() -> Vec<String> {
    let schedule = |stages: u32, group: u32| {
        json!({
            "family": "sm90", "tile_m": 128, "tile_n": 256, "stages": stages, "consumers": 2, "mode": "cooperative",
            "cluster_m": 2, "cluster_n": 1, "raster": { "order": "along_m", "group": group }
        })
    };
    let proposals = |schedules: &[Value]| {
        let proposals: Vec<Value> =
            schedules.iter().map(|schedule| json!({ "why": "a guess", "schedule": schedule })).collect();
        json!({ "proposals": proposals }).to_string()
    };
    vec![
        proposals(&[schedule(3, 8), schedule(4, 8)]),
        proposals(&[schedule(4, 8), schedule(4, 16)]),
        "Larger tiles, I suppose.".to_owned(),
        proposals(&[schedule(4, 4), json!({ "family": "sm90", "tile_m": 7 })]),
        proposals(&[schedule(4, 2), schedule(3, 2)]),
    ]
}

fn answer(folder: &Path, number: usize) {
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join(format!("reply-{number:03}.md")), &replies()[number - 1]).unwrap();
}

/// The journal without what differs from run to run.
fn journal(tuner: &Tuner) -> Vec<Value> {
    let mut lines = tuner.journaled();
    for line in &mut lines {
        line.as_object_mut().unwrap().remove("at");
    }
    lines
}

/// The files of the model's folder.
fn files(folder: &Path) -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read_to_string(entry.path()).unwrap()))
        .collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn assert_awaits(output: &Output, reply: &str) {
    assert_eq!(output.status.code(), Some(4), "{}", text(&output.stderr));
    let last = text(&output.stdout).lines().last().unwrap().to_owned();
    assert!(last.contains(reply) && last.contains("the same command then goes on"), "{last}");
}

#[test]
fn a_session_in_several_runs_leaves_what_one_uninterrupted_run_leaves() {
    let whole = Tuner::new();
    (1..=5).for_each(|number| answer(&whole.folder().join("model"), number));
    let output = whole.run(&SESSION);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));

    let parts = Tuner::new();
    let folder = parts.folder().join("model");
    let mut before = 0;
    for number in 1..=5 {
        let output = parts.run(&SESSION);
        assert_awaits(&output, &format!("reply-{number:03}.md"));
        assert!(parts.out("history.csv").exists(), "the outputs are written");
        let trials = parts.journaled().len();
        assert!(trials >= before);
        before = trials;
        // Asking again changes nothing.
        let asked = files(&folder);
        assert_awaits(&parts.run(&SESSION), &format!("reply-{number:03}.md"));
        assert_eq!(files(&folder), asked);
        answer(&folder, number);
    }
    let output = parts.run(&SESSION);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));

    assert_eq!(journal(&parts), journal(&whole));
    assert_eq!(journal(&parts).len(), 6, "two duplicates or refusals among eight");
    assert_eq!(files(&folder), files(&whole.folder().join("model")));
    let config = |tuner: &Tuner| std::fs::read_to_string(tuner.out("best_config.json")).unwrap();
    assert_eq!(config(&parts), config(&whole));
    assert!(text(&output.stdout).contains("of them known before"), "{}", text(&output.stdout));
}

#[test]
fn a_hybrid_session_in_several_runs_leaves_what_one_uninterrupted_run_leaves() {
    let hybrid = SESSION.map(|arg| if arg == "llm" { "hybrid" } else { arg });
    let whole = Tuner::new();
    (1..=4).for_each(|number| answer(&whole.folder().join("model"), number));
    let output = whole.run(&hybrid);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));

    let parts = Tuner::new();
    for number in 1..=4 {
        assert_awaits(&parts.run(&hybrid), &format!("reply-{number:03}.md"));
        answer(&parts.folder().join("model"), number);
    }
    let output = parts.run(&hybrid);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(journal(&parts), journal(&whole));
    assert_eq!(journal(&parts).len(), 8, "the surrogate spends what the model leaves");
}

#[test]
fn an_answered_prompt_is_never_written_again_and_an_unanswered_one_is_brought_up_to_date() {
    let tuner = Tuner::new();
    let folder = tuner.folder().join("model");
    assert_awaits(&tuner.run(&SESSION), "reply-001.md");
    answer(&folder, 1);
    assert_awaits(&tuner.run(&SESSION), "reply-002.md");
    let before = files(&folder);
    // A larger budget changes every prompt's text.
    let longer = SESSION.map(|arg| if arg == "8" { "16" } else { arg });
    assert_awaits(&tuner.run(&longer), "reply-002.md");
    let after = files(&folder);
    assert_eq!(after["prompt-001.md"], before["prompt-001.md"]);
    assert_ne!(after["prompt-002.md"], before["prompt-002.md"]);
    assert_eq!(after.len(), 3, "{:?}", after.keys());
}

#[test]
fn a_duplicate_comes_back_with_its_time_and_cublas_is_named() {
    let tuner = Tuner::new();
    let folder = tuner.folder().join("model");
    (1..=2).for_each(|number| answer(&folder, number));
    assert_awaits(&tuner.run(&SESSION), "reply-003.md");
    let files = files(&folder);
    let times: Vec<f64> = journal(&tuner).iter().filter_map(|line| line["outcome"]["median_ms"].as_f64()).collect();
    assert!(files["prompt-001.md"].contains("# To be beaten\ncuBLAS"), "{}", files["prompt-001.md"]);
    let third = &files["prompt-003.md"];
    assert!(third.contains(&format!("duplicate: already tried: {:.4} ms", times[1])), "{third}");
    assert!(third.contains(" x cuBLAS, ") && third.contains(" tiles in "), "{third}");
    assert!(third.contains("(default for sm_90a): "), "{third}");
}

#[test]
fn several_targets_are_asked_about_side_by_side() {
    let tuner = Tuner::new();
    let folder = tuner.folder().join("model");
    let both = &SESSION[2..];
    let output = tuner.run(both);
    assert_awaits(&output, "reply-001.md");
    assert!(text(&output.stdout).lines().last().unwrap().contains("reply-002.md"));
    let headings: Vec<String> =
        files(&folder).values().map(|prompt| prompt.lines().next().unwrap().to_owned()).collect();
    assert!(headings[0].contains("4096x4096x4096") && headings[1].contains("512x4096x2048"), "{headings:?}");
    std::fs::write(folder.join("reply-002.md"), &replies()[0]).unwrap();
    let output = tuner.run(both);
    let last = text(&output.stdout).lines().last().unwrap().to_owned();
    assert!(last.contains("reply-001.md") && last.contains("reply-003.md") && !last.contains("002"), "{last}");
    assert!(journal(&tuner).iter().all(|line| line["target"]["shape"]["m"] == 512));
    assert_eq!(journal(&tuner).len(), 2);
}

#[test]
fn without_stop_an_unanswered_prompt_leaves_the_search_to_the_built_in_strategy() {
    let tuner = Tuner::new();
    let mut args = SESSION.to_vec();
    let at = args.iter().position(|arg| *arg == "--llm-unanswered").unwrap();
    args.drain(at..at + 2);
    let output = tuner.run(&args);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("The built-in search proposes for the rest of this search"));
    assert_eq!(journal(&tuner).len(), 8);
}

/// Sends SIGINT to a tuner that waits for its model, and returns what it leaves.
#[cfg(unix)]
fn interrupted(tuner: &Tuner, args: &[&str], waits: impl Fn() -> bool) -> (Output, Duration) {
    use std::process::{Command, Stdio};
    let mut child = tuner.command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let begin = Instant::now();
    while !waits() {
        assert!(begin.elapsed() < Duration::from_secs(60), "the tuner asks nothing");
        assert!(child.try_wait().unwrap().is_none(), "the tuner ended");
        std::thread::sleep(Duration::from_millis(10));
    }
    let sent = Instant::now();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    (child.wait_with_output().unwrap(), sent.elapsed())
}

#[cfg(unix)]
fn assert_ended_at_once(output: &Output, took: Duration) {
    assert_eq!(output.status.code(), Some(130), "{}", text(&output.stderr));
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert!(text(&output.stdout).contains("interrupted; the same command goes on from here"));
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_the_wait_for_a_server_that_hangs_at_once() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let asked = std::sync::Arc::new(AtomicBool::new(false));
    let noted = asked.clone();
    std::thread::spawn(move || {
        let connections: Vec<_> = listener.incoming().inspect(|_| noted.store(true, Ordering::SeqCst)).collect();
        drop(connections);
    });
    let tuner = Tuner::new();
    let args = ["--shape", "4096x4096x4096", "--llm", &url, "--model", "m"];
    let (output, took) = interrupted(&tuner, &args, || asked.load(Ordering::SeqCst));
    assert_ended_at_once(&output, took);
    assert!(tuner.out("best_config.json").exists() && tuner.out("history.csv").exists());
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_the_wait_for_a_reply_file_at_once() {
    let tuner = Tuner::new();
    let prompt = tuner.folder().join("model/prompt-001.md");
    let args = ["--shape", "4096x4096x4096", "--llm", "file:model"];
    let (output, took) = interrupted(&tuner, &args, || prompt.exists());
    assert_ended_at_once(&output, took);
    assert!(text(&output.stderr).contains("prompt-001.md awaits its reply in"));
}
