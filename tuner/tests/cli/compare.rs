//! `tuner compare` as a command.

use crate::common::Tuner;
use autokernel_codegen::matmul::sizes;
use serde_json::{Value, json};

const SMALL: [&str; 9] =
    ["compare", "--spaces", "spaces", "--seeds", "4", "--evaluations", "24", "--shape", "512x4096x2048"];

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn comparison(tuner: &Tuner) -> Value {
    let bytes = std::fs::read(tuner.folder().join("compare-out/compare.json")).unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

fn run(tuner: &Tuner, more: &[&str]) -> String {
    let output = tuner.run(&[&SMALL, more].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout)
}

#[test]
fn a_comparison_leaves_table_figures_and_charts_behind_and_repeats_to_the_digit() {
    let tuner = Tuner::new();
    let table = run(&tuner, &[]);
    for name in ["random", "local", "surrogate"] {
        assert!(table.contains(&format!("| {name} |")), "{table}");
    }
    let first = comparison(&tuner);
    let standings = first["standings"].as_array().unwrap();
    assert_eq!(standings.len(), 3, "one shape, three strategies");
    for standing in standings {
        let reached: Vec<f64> = standing["reached"]
            .as_array()
            .unwrap()
            .iter()
            .map(|checkpoint| checkpoint["optimum_pct"]["median"].as_f64().unwrap())
            .collect();
        assert_eq!(reached.len(), 3, "after 10, 20 and 24 evaluations");
        assert!(reached.is_sorted() && reached.iter().all(|pct| (1.0..=100.0).contains(pct)), "{reached:?}");
    }
    let folder = tuner.folder().join("compare-out");
    let mut csv = csv::Reader::from_path(folder.join("compare.csv")).unwrap();
    assert_eq!(csv.records().filter_map(Result::ok).count(), 9);
    for chart in ["regret_evaluations.svg", "regret_seconds.svg"] {
        let svg = std::fs::read_to_string(folder.join(chart)).unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("surrogate"), "{chart}");
        let curves = first["standings"].as_array().unwrap().len();
        assert_eq!(svg.matches("<polygon").count(), curves, "{chart}: each curve lies in a band of its quartiles");
    }
    run(&tuner, &[]);
    let reached = |comparison: &Value| -> Vec<Value> {
        comparison["standings"].as_array().unwrap().iter().map(|standing| standing["reached"].clone()).collect()
    };
    assert_eq!(reached(&comparison(&tuner)), reached(&first));
}

#[test]
fn without_replies_the_arms_of_a_model_are_left_out_with_the_reason() {
    let tuner = Tuner::new();
    let table = run(&tuner, &["--strategies", "random,llm,hybrid"]);
    assert!(table.contains("Left out: llm: it needs a model") && table.contains("Left out: hybrid"), "{table}");
    assert_eq!(comparison(&tuner)["left_out"].as_array().unwrap().len(), 2);

    let output = tuner.run(&[&SMALL[..], &["--strategies", "llm"]].concat());
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("--replies"), "{}", text(&output.stderr));
}

#[test]
fn recorded_replies_are_given_to_every_search_from_the_first_on() {
    let tuner = Tuner::new();
    let folder = tuner.folder().join("replies/matmul_leaky_relu_bf16_bf16_nt_512x4096x2048");
    std::fs::create_dir_all(&folder).unwrap();
    let schedule = json!({
        "family": "sm90", "tile_m": 128, "tile_n": 256, "stages": 3, "consumers": 2, "mode": "cooperative",
        "cluster_m": 1, "cluster_n": 1, "raster": { "order": "along_m", "group": 8 }
    });
    let reply = json!({ "proposals": [{ "why": "wide tiles", "schedule": schedule }] }).to_string();
    std::fs::write(folder.join("reply-001.md"), reply).unwrap();
    let table = run(&tuner, &["--strategies", "llm,hybrid,surrogate", "--replies", "replies"]);
    assert!(table.contains("| hybrid |") && table.contains("| llm |"), "{table}");
    assert!(table.contains("Said by the strategies") && table.contains("reply-002.md"), "the replies end: {table}");
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1, "nothing is written beside the replies");

    let output = tuner.run(&[&SMALL[..], &["--strategies", "llm", "--replies", "elsewhere"]].concat());
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("elsewhere"), "{}", text(&output.stderr));
}

#[test]
fn the_transcript_of_a_run_is_given_to_every_search() {
    let tuner = Tuner::new();
    let folder = tuner.folder().join("model");
    std::fs::create_dir_all(&folder).unwrap();
    let schedule = json!({
        "family": "sm90", "tile_m": 128, "tile_n": 256, "stages": 3, "consumers": 2, "mode": "cooperative",
        "cluster_m": 1, "cluster_n": 1, "raster": { "order": "along_m", "group": 8 }
    });
    std::fs::write(folder.join("reply-001.md"), json!({ "proposals": [{ "schedule": schedule }] }).to_string())
        .unwrap();
    let search = ["--shape", "512x4096x2048", "--strategy", "llm", "--llm", "file:model"];
    let output = tuner.run(&[&search[..], &["--evaluations", "1", "--generations", "1"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let trial = tuner.journaled().remove(0);

    let replay = format!("replay:{}", tuner.out("transcript.jsonl").display());
    let one = ["compare", "--spaces", "spaces", "--shape", "512x4096x2048", "--evaluations", "1", "--generations", "1"];
    let output = tuner.run(&[&one[..], &["--seeds", "4", "--strategies", "llm", "--llm", &replay]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let first = comparison(&tuner)["standings"][0]["reached"][0]["optimum_pct"].clone();
    let recording = tuner::replay::Recording::load(&tuner.folder().join("spaces/leaky_relu.json.gz")).unwrap();
    let shape = recording.shapes.iter().find(|recorded| sizes(&recorded.shape)[0] == 512).unwrap();
    let share = 100.0 * shape.optimum().unwrap().1.median_ms / trial["outcome"]["median_ms"].as_f64().unwrap();
    for quartile in ["lower", "median", "upper"] {
        assert!((first[quartile].as_f64().unwrap() - share).abs() < 1e-9, "{first}, not {share}");
    }

    let output = tuner.run(&[&SMALL[..], &["--strategies", "llm", "--llm", "replay:nowhere.jsonl"]].concat());
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("nowhere.jsonl"), "{}", text(&output.stderr));
}

#[test]
fn a_live_model_that_refuses_the_key_is_given_up_and_that_is_said() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let (count, asked) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = std::io::Read::read(&mut stream, &mut [0; 65536]);
            let refusal = "HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}";
            let _ = std::io::Write::write_all(&mut stream, refusal.as_bytes());
            let _ = count.send(());
        }
    });
    let tuner = Tuner::new();
    let table = run(&tuner, &["--strategies", "llm", "--llm", &url, "--model", "m"]);
    assert!(table.contains("Said by the strategies") && table.contains("refused"), "{table}");
    let asked = asked.try_iter().count();
    assert!((1..=4).contains(&asked), "{asked}: four searches begin at once, and none asks again");

    let output = tuner.run(&[&SMALL[..], &["--strategies", "llm", "--llm", &url]].concat());
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("--model"), "{}", text(&output.stderr));
}

#[test]
fn a_space_that_is_not_there_is_named() {
    let output = Tuner::new().run(&["compare", "--spaces", "spaces", "--space", "nowhere"]);
    assert!(!output.status.success());
    assert!(text(&output.stderr).contains("nowhere"), "{}", text(&output.stderr));
    let output = Tuner::new().run(&["compare", "--spaces", "spaces", "--space", "leaky_relu", "--shape", "1x1x1"]);
    assert!(text(&output.stderr).contains("512x4096x2048"), "{}", text(&output.stderr));
}

#[test]
fn a_folder_that_cannot_be_made_is_told_before_anything_is_searched() {
    let tuner = Tuner::new();
    std::fs::write(tuner.folder().join("taken"), "").unwrap();
    let output = tuner.run(&[&SMALL[..], &["--out", "taken"]].concat());
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(told.contains("taken: ") && !told.contains("searches"), "{told}");
}
