//! A model that proposes on a GPU, whose worker and nvcc are shell scripts.
#![cfg(unix)]

mod gpu_support;

use std::process::Output;

use autokernel_codegen::config::Config;
use autokernel_codegen::schedule::Schedule;
use gpu_support::Machine;
use serde_json::{Value, json};

/// Legal, of values that are all in the selection of schedules that a search chooses from; as a whole it is not.
fn unselected(stages: u32) -> Value {
    json!({
        "family": "sm90", "tile_m": 128, "tile_n": 128, "stages": stages, "consumers": 2, "mode": "cooperative",
        "cluster_m": 4, "cluster_n": 1, "swap_ab": false, "split_k": 1, "raster": { "order": "along_m", "group": 1 }
    })
}

fn with(schedule: &Value, changes: &Value) -> Value {
    let mut schedule = schedule.clone();
    changes.as_object().unwrap().iter().for_each(|(knob, value)| schedule[knob] = value.clone());
    schedule
}

fn reply(machine: &Machine, number: u32, schedules: &[Value]) {
    let proposals: Vec<Value> =
        schedules.iter().map(|schedule| json!({ "why": "a test", "schedule": schedule })).collect();
    std::fs::create_dir_all(machine.path("model")).unwrap();
    let path = machine.path(&format!("model/reply-{number:03}.md"));
    std::fs::write(path, json!({ "proposals": proposals }).to_string()).unwrap();
}

fn prompt(machine: &Machine, number: u32) -> String {
    std::fs::read_to_string(machine.path(&format!("model/prompt-{number:03}.md"))).unwrap()
}

fn run(machine: &Machine, args: &[&str]) -> Output {
    let output = machine.tuner(args).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(0), "{out}\n{err}");
    output
}

fn schedules(trials: &[Value]) -> Vec<Schedule> {
    trials.iter().map(|trial| serde_json::from_value(trial["schedule"].clone()).unwrap()).collect()
}

const LLM: [&str; 8] = ["--strategy", "llm", "--llm", "file:model", "--evaluations", "6", "--generations", "2"];

/// A session whose model proposes what the selection leaves out: it wins, by the times that the worker makes up.
fn session() -> Machine {
    let machine = Machine::new("");
    let broken = with(&unselected(3), &json!({ "tile_m": 256, "tile_n": 256 }));
    let selected = with(&unselected(5), &json!({ "cluster_m": 1 }));
    reply(&machine, 1, &[unselected(3), selected.clone(), broken]);
    reply(&machine, 2, &[unselected(4), unselected(3)]);
    run(&machine, &LLM);
    machine
}

#[test]
fn a_legal_schedule_that_the_selection_leaves_out_is_measured_and_can_win() {
    let machine = session();
    let tried = machine.journal("tuner-out", "trial");
    let expected = [unselected(3), with(&unselected(5), &json!({ "cluster_m": 1 })), unselected(4)];
    let expected = expected.map(|schedule| serde_json::from_value::<Schedule>(schedule).unwrap());
    let mut found = schedules(&tried);
    found.sort_by_key(|schedule| expected.iter().position(|other| other == schedule));
    assert_eq!(found, expected, "a rule is kept, and nothing is tried twice");
    assert!(tried.iter().all(|trial| trial["outcome"]["median_ms"].is_number()), "{tried:?}");
    let second = prompt(&machine, 2);
    assert!(second.contains("rule `accumulators_fit_registers`"), "{second}");
    let config = Config::load(&machine.path("tuner-out/best_config.json")).unwrap();
    assert!(config.entries.iter().any(|entry| entry.schedule == expected[0]), "the fastest is promoted");
}

#[test]
fn a_resumed_session_and_its_transcript_hold_what_the_selection_leaves_out() {
    let machine = session();
    let evaluated = machine.evaluated();
    run(&machine, &LLM);
    assert_eq!(machine.evaluated(), evaluated, "the journal answers");

    let transcript = ["--llm", "replay:tuner-out/transcript.jsonl", "--out", "again"];
    let output = run(&machine, &[&LLM[..2], &transcript, &LLM[4..]].concat());
    let noted = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!noted.contains("is not the one in"), "{noted}");
    let sorted = |folder| {
        let mut schedules = schedules(&machine.journal(folder, "trial"));
        schedules.sort();
        schedules
    };
    assert_eq!(sorted("again"), sorted("tuner-out"));
}

#[test]
fn a_search_without_the_model_begins_with_what_it_found_outside_the_selection() {
    let machine = session();
    let found: Schedule = serde_json::from_value(unselected(3)).unwrap();
    for strategy in ["local", "surrogate"] {
        let output = run(&machine, &["--strategy", strategy, "--evaluations", "8", "--generations", "2", "--json"]);
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let best = &document["targets"][0]["best"]["schedule"];
        assert_eq!(serde_json::from_value::<Schedule>(best.clone()).unwrap(), found, "{strategy}: {document}");
    }
}

#[test]
fn a_hybrid_goes_on_from_schedules_outside_the_selection_and_tries_nothing_twice() {
    let machine = Machine::new("");
    (1..=3).for_each(|number| reply(&machine, number, &[unselected(number + 2), unselected(3)]));
    run(&machine, &["--llm", "file:model", "--evaluations", "20", "--generations", "4"]);
    let tried = schedules(&machine.journal("tuner-out", "trial"));
    let distinct: std::collections::HashSet<&Schedule> = tried.iter().collect();
    assert_eq!((tried.len(), distinct.len()), (20, 20));
    for stages in 3..=5 {
        let schedule: Schedule = serde_json::from_value(unselected(stages)).unwrap();
        assert!(distinct.contains(&schedule), "{schedule}");
    }
}
