//! The real tuner on a machine whose worker and nvcc are shell scripts: whatever breaks, the run goes on or ends cleanly,
//! nothing measured is lost, and best_config.json is whole.
#![cfg(unix)]

mod gpu_support;

use std::collections::{BTreeMap, HashSet};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use autokernel_codegen::config::Config;
use gpu_support::Machine;
use serde_json::Value;

const SEARCH: [&str; 6] = ["--strategy", "random", "--evaluations", "24", "--generations", "2"];

fn run(machine: &Machine, args: &[&str]) -> Output {
    machine.tuner(&[&SEARCH, args].concat()).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn assert_finished(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}\n{}", text(&output.stdout), text(&output.stderr));
}

/// The lines of the search's journal, of one kind.
fn lines(machine: &Machine, kind: &str) -> Vec<Value> {
    machine.journal("tuner-out", kind)
}

fn outcomes(machine: &Machine) -> BTreeMap<String, usize> {
    let mut kinds = BTreeMap::new();
    for trial in lines(machine, "trial") {
        let outcome = &trial["outcome"];
        let kind = outcome["reason"].as_str().unwrap_or("measured").to_owned();
        *kinds.entry(kind).or_default() += 1;
    }
    kinds
}

fn assert_nothing_twice(machine: &Machine) {
    let schedules: Vec<String> = lines(machine, "trial").iter().map(|line| line["schedule"].to_string()).collect();
    assert_eq!(schedules.iter().collect::<HashSet<_>>().len(), schedules.len(), "something was tried twice");
}

fn config(machine: &Machine) -> Config {
    Config::load(&machine.path("tuner-out/best_config.json")).unwrap()
}

fn start(machine: &Machine, args: &[&str]) -> Child {
    let mut command = machine.tuner(&[&SEARCH, args].concat());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn wait_until(what: &str, mut reached: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !reached() {
        assert!(begun.elapsed() < Duration::from_secs(60), "not in a minute: {what}");
        std::thread::sleep(Duration::from_millis(3));
    }
}

fn exists(path: &Path) -> bool {
    path.exists()
}

fn send(child: &Child, signal: &str) {
    // The process may have ended by itself a moment ago.
    let _ = Command::new("kill").args([signal, &child.id().to_string()]).stderr(Stdio::null()).status().unwrap();
}

/// Each kind of fault by the number of stages, which the search varies.
const FAULTS: &str = r#"
    *'"request":"evaluate"'*'"stages":5'*) kill -KILL $$;;
    *'"request":"evaluate"'*'"stages":6'*) echo '{"reply":"evaluated","outcome":{"status":"failed","reason":"wrong_result","detail":"4 bytes outside the 512x512 result were written"},"fatal":false}';;
    *'"request":"evaluate"'*'"stages":7'*) echo '{"reply":"evaluated","outcome":{"status":"failed","reason":"out_of_memory","detail":"2 GiB"},"fatal":false}';;
    *'"request":"evaluate"'*'"stages":8'*) echo '{"reply":"evaluated","outcome":{"status":"failed","reason":"crash","detail":"CUDA_ERROR_ILLEGAL_ADDRESS"},"fatal":true}'; exit 0;;
"#;

#[test]
fn every_kind_of_fault_is_recorded_with_its_reason_and_the_run_goes_on_to_promote_what_works() {
    let machine = Machine::new(FAULTS);
    let output = run(&machine, &[]);
    assert_finished(&output);
    let kinds = outcomes(&machine);
    assert_eq!(kinds.values().sum::<usize>(), 24, "{kinds:?}");
    for kind in ["crash", "wrong_result", "measured"] {
        assert!(kinds.contains_key(kind), "{kind} is not among {kinds:?}");
    }
    assert_nothing_twice(&machine);
    let crashes = lines(&machine, "trial").iter().filter(|line| line["outcome"]["reason"] == "crash").count();
    let details = text(&std::fs::read(machine.path("tuner-out/history.jsonl")).unwrap());
    assert!(crashes > 0 && details.contains("signal 9"), "{details}");
    assert_eq!(config(&machine).entries.len(), 1, "{}", text(&output.stdout));

    let evaluated = machine.evaluated().len();
    assert_finished(&run(&machine, &[]));
    assert_eq!(machine.evaluated().len(), evaluated, "nothing is tried again, least of all what failed");
}

#[test]
fn a_schedule_that_hangs_is_stopped_at_a_limit_that_follows_what_was_seen() {
    // The first evaluations are fast, so the limit falls to its floor of 5 s; one schedule then never ends.
    let machine = Machine::new(
        r#"*'"request":"evaluate"'*) if [ "$(grep -c . evaluated)" = 6 ]; then exec sleep 1000; fi
        echo '{"reply":"evaluated","outcome":{"status":"measured","median_ms":0.5,"spread_pct":0.4,"samples":12},"fatal":false}';;"#,
    );
    let begun = Instant::now();
    assert_finished(&run(&machine, &[]));
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let kinds = outcomes(&machine);
    assert_eq!((kinds["timeout"], kinds["measured"]), (1, 23));
    let hung = lines(&machine, "trial").into_iter().find(|line| line["outcome"]["reason"] == "timeout").unwrap();
    assert_eq!(hung["outcome"]["limit_s"], 5.0);
}

#[test]
fn a_tuner_that_is_killed_while_a_schedule_runs_records_that_schedule_and_never_runs_it_again() {
    let machine = Machine::new(
        r#"*'"request":"evaluate"'*) if [ "$(grep -c . evaluated)" = 4 ] && [ ! -e again ]; then : > hanging; sleep 30; fi
        echo '{"reply":"evaluated","outcome":{"status":"measured","median_ms":0.5,"spread_pct":0.4,"samples":12},"fatal":false}';;"#,
    );
    let mut killed = start(&machine, &[]);
    wait_until("the fourth schedule runs", || exists(&machine.path("hanging")));
    killed.kill().unwrap();
    assert_eq!(killed.wait().unwrap().signal(), Some(9));
    assert!(machine.path("tuner-out/history.jsonl.running").exists());
    std::fs::write(machine.path("again"), "").unwrap();
    let before = lines(&machine, "trial").len();

    let output = run(&machine, &[]);
    assert_finished(&output);
    assert!(text(&output.stderr).contains("was running when the last run was cut short; it is not tried again"));
    let trials = lines(&machine, "trial");
    assert_eq!(trials.len(), 24);
    assert_nothing_twice(&machine);
    let blamed = &trials[before];
    assert_eq!(blamed["outcome"]["reason"], "crash");
    let detail = blamed["outcome"]["detail"].as_str().unwrap();
    assert!(detail.contains("went down while this schedule ran on GPU 0"), "{detail}");
    assert_eq!(machine.evaluated().len(), 24, "what was running is not run again");
    assert!(!machine.path("tuner-out/history.jsonl.running").exists());
}

#[test]
fn a_worker_outlives_neither_its_tuner_nor_a_hang() {
    let mut orphaned = Command::new("sh");
    orphaned.args(["-c", "\"$0\" worker & echo $!; exec sleep 0.2", env!("CARGO_BIN_EXE_tuner")]);
    let output = orphaned.stdin(Stdio::inherit()).stderr(Stdio::null()).output().unwrap();
    let pid: u32 = text(&output.stdout).lines().next().unwrap().trim().parse().unwrap();
    let gone = || !Path::new(&format!("/proc/{pid}")).exists();
    wait_until("the worker ends after its parent", gone);
}

#[test]
fn ctrl_c_at_any_moment_leaves_everything_whole_and_the_next_run_ends_as_if_nothing_had_been() {
    let machine = Machine::new(
        r#"*'"request":"evaluate"'*) sleep 0.03
        echo "{\"reply\":\"evaluated\",\"outcome\":{\"status\":\"measured\",\"median_ms\":1.$stage$group,\"spread_pct\":0.4,\"samples\":12},\"fatal\":false}";;"#,
    );
    // Signals at moments that no two runs share: before the first trial, among trials, in the final, while writing.
    for number in 0..12u64 {
        let child = start(&machine, &["--write", "--gpus", "0,1"]);
        std::thread::sleep(Duration::from_millis(5 + (number * 7919) % 500));
        send(&child, "-INT");
        let output = child.wait_with_output().unwrap();
        let code = output.status.code();
        // Before its handler is there, a process ends by the signal itself.
        let fine = matches!(code, Some(0 | 130)) || output.status.signal() == Some(2);
        assert!(fine, "{:?}\n{}", output.status, text(&output.stderr));
        assert_nothing_twice(&machine);
        for path in ["tuner-out/best_config.json", "best_config.json"] {
            if machine.path(path).exists() {
                Config::load(&machine.path(path)).unwrap();
            }
        }
    }
    assert_finished(&run(&machine, &["--write", "--gpus", "0,1"]));
    assert_nothing_twice(&machine);
    assert_eq!(outcomes(&machine), BTreeMap::from([("measured".to_owned(), 24)]), "nobody was blamed for Ctrl-C");
    assert_eq!(Config::load(&machine.path("best_config.json")).unwrap().entries.len(), 1);
    assert_eq!(machine.evaluated().len(), 24, "nothing measured was lost");
}

#[test]
fn a_second_ctrl_c_ends_a_hanging_run_at_once_and_blames_nobody() {
    let machine = Machine::new(r#"*'"request":"evaluate"'*) : > hanging; sleep 30;;"#);
    let child = start(&machine, &[]);
    wait_until("a schedule hangs", || exists(&machine.path("hanging")));
    send(&child, "-INT");
    std::thread::sleep(Duration::from_millis(200));
    send(&child, "-INT");
    let begun = Instant::now();
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(130));
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert!(!machine.path("tuner-out/history.jsonl.running").exists());
    assert!(lines(&machine, "trial").is_empty());
}

#[test]
fn a_full_disk_ends_the_run_with_the_reason_and_keeps_what_was_measured() {
    let machine = Machine::new("");
    let search = ["--strategy", "random", "--evaluations", "80", "--generations", "2"];
    let command = machine.tuner(&search);
    // A limit on file sizes stands for a full disk; kernels and their headers fit below it.
    let mut limited = Command::new("sh");
    limited.args(["-c", "trap '' XFSZ; ulimit -f 60; exec \"$0\" \"$@\""]).arg(command.get_program());
    limited.args(command.get_args()).current_dir(machine.path(""));
    limited.env("AUTOKERNEL_NVCC", machine.path("nvcc"));
    let output = limited.output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("has room"), "{}", text(&output.stderr));
    let before = lines(&machine, "trial");
    assert!((1..80).contains(&before.len()), "{}", before.len());
    assert_finished(&machine.tuner(&search).output().unwrap());
    assert_eq!(lines(&machine, "trial")[..before.len()], before);
    assert_nothing_twice(&machine);
}

#[test]
fn a_final_is_journaled_and_the_same_schedules_meet_again_only_if_asked() {
    // Times are near each other but for those of two numbers of stages, so that how many meet is not for the draw to say.
    let machine = Machine::new(
        r#"
    *'"request":"evaluate"'*'"stages":'[56]*) echo '{"reply":"evaluated","outcome":{"status":"measured","median_ms":2.0,"spread_pct":0.4,"samples":12},"fatal":false}';;
    *'"request":"evaluate"'*) echo "{\"reply\":\"evaluated\",\"outcome\":{\"status\":\"measured\",\"median_ms\":1.0$tenths$group,\"spread_pct\":0.4,\"samples\":12},\"fatal\":false}";;
"#,
    );
    assert_finished(&run(&machine, &[]));
    let finals = lines(&machine, "final");
    assert_eq!(finals.len(), 1);
    let held = &finals[0];
    let finalists = held["finalists"].as_array().unwrap().len();
    assert!((9..=24).contains(&finalists), "{finalists}: more than eight, as the kernels take more than 0.1 ms");
    let times: Vec<f64> =
        lines(&machine, "trial").iter().filter_map(|line| line["outcome"]["median_ms"].as_f64()).collect();
    let near = times.iter().filter(|&&ms| ms < 1.15).count();
    assert!(near < times.len(), "all are near the fastest");
    assert_eq!(finalists, near);
    let legs = held["legs"].as_array().unwrap();
    assert_eq!((legs.len(), legs[0]["entrants"].as_array().unwrap().len()), (2, finalists));
    assert!(legs[1]["entrants"].as_array().unwrap().len() <= 9, "six, what is in use, the default and cuBLAS");
    assert!(legs[1]["entrants"].as_array().unwrap().iter().any(|entrant| entrant["contender"] == "cublas"));
    assert!(held["reason"].as_str().unwrap().contains("in interleaved rounds"), "{held}");
    assert_eq!(machine.legs(), 2);
    let entry = config(&machine);

    assert_finished(&run(&machine, &[]));
    assert_eq!((machine.legs(), lines(&machine, "final").len()), (2, 1), "not held again");
    assert_eq!(config(&machine), entry);
    assert_finished(&run(&machine, &["--final-again"]));
    assert_eq!((machine.legs(), lines(&machine, "final").len()), (4, 2));
    assert_finished(&run(&machine, &["--finalists", "1"]));
    assert_eq!((machine.legs(), lines(&machine, "final").len()), (5, 3), "six schedules or fewer need one leg only");
}

#[test]
fn an_entry_that_holds_its_place_with_other_kernels_is_measured_anew_and_has_their_sources() {
    let machine = Machine::new("");
    assert_finished(&run(&machine, &["--write"]));
    let in_use = machine.path("best_config.json");
    let mut stale = Config::load(&in_use).unwrap();
    let [won] = stale.entries.as_slice() else { panic!("{:?}", stale.entries) };
    let won = won.clone();
    let mut old = won.clone();
    old.provenance.sources = Some("0123456789ab".to_owned());
    old.provenance.final_rounds = 1;
    stale.upsert(old);
    stale.save(&in_use).unwrap();

    assert_finished(&run(&machine, &["--write"]));
    let confirmed = Config::load(&in_use).unwrap();
    let [entry] = confirmed.entries.as_slice() else { panic!("{:?}", confirmed.entries) };
    assert_eq!((entry.schedule, entry.extents), (won.schedule, won.extents));
    assert_eq!(entry.provenance.sources, won.provenance.sources);
    assert_eq!(entry.provenance.proposed_by, won.provenance.proposed_by);
    assert!(entry.provenance.final_rounds > 1, "{:?}", entry.provenance);
}

#[test]
fn finals_are_repeated_from_the_journal_with_the_regret_of_each() {
    let machine = Machine::new("");
    assert_finished(&run(&machine, &[]));
    let mut command = Command::new(env!("CARGO_BIN_EXE_tuner"));
    command.current_dir(machine.path("")).env("AUTOKERNEL_NVCC", machine.path("nvcc"));
    let output = command.args(["final", "--worker", "./worker", "--repeat", "5"]).output().unwrap();
    assert_finished(&output);
    let said = text(&output.stdout);
    for number in 1..=5 {
        assert!(said.contains(&format!("final {number}")) && said.contains(&format!("regret {number}")), "{said}");
    }
    assert!(said.contains("regret       0.00 % at most, over 5 finals"), "{said}");
    assert_eq!(lines(&machine, "final").len(), 6);
}

#[test]
fn a_long_final_tells_what_the_first_of_a_search_hold_and_how_its_order_correlates_with_that_under_load() {
    let machine = Machine::new("");
    assert_finished(&run(&machine, &[]));
    let mut command = Command::new(env!("CARGO_BIN_EXE_tuner"));
    command.current_dir(machine.path("")).env("AUTOKERNEL_NVCC", machine.path("nvcc"));
    let output = command.args(["final", "--worker", "./worker", "--long", "4"]).output().unwrap();
    assert_finished(&output);
    let said = text(&output.stdout);
    assert!(said.contains("  first "), "{said}");
    assert!(said.contains("ranks        4 drawn: 1.000 of search and long, 1.000 of long and long again"), "{said}");
    assert_eq!(lines(&machine, "final").len(), 1, "it is no final");
}

#[test]
fn gpus_that_were_asked_for_and_cannot_measure_end_the_run_instead_of_a_replay() {
    let machine = Machine::new(
        r#"*'"request":"gpu"'*) echo '{"reply":"failed","failure":{"reason":"crash","detail":"no driver"},"fatal":false}';;"#,
    );
    let output = run(&machine, &["--gpus", "0,1"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("no driver"), "{}", text(&output.stderr));
    assert!(!machine.path("tuner-out").join("history.jsonl").exists());
}

#[test]
fn gpus_that_were_asked_for_are_not_left_idle_for_a_replay() {
    let machine = Machine::new("");
    let output = run(&machine, &["--gpus", "0", "--arch", "sm_100"]);
    assert_eq!(output.status.code(), Some(1));
    let message = text(&output.stderr);
    assert!(message.contains("does not run kernels for sm_100") && message.contains("leave out --arch"), "{message}");
    assert_eq!(run(&machine, &["--gpus", "0", "--spaces", "spaces"]).status.code(), Some(2));
    assert!(machine.evaluated().is_empty());
}

#[test]
fn an_earlier_arch_is_measured_on_the_gpu_where_its_images_run() {
    let machine = Machine::new("");
    assert_finished(&run(&machine, &["--arch", "sm_80"]));
    let trials = lines(&machine, "trial");
    assert!(!trials.is_empty() && trials.iter().all(|trial| trial["target"]["arch"] == "sm_80"));
    assert_eq!(machine.evaluated().len(), trials.len());
}

#[test]
fn what_a_program_launched_is_measured_on_every_gpu_and_told_as_json() {
    let machine = Machine::new("");
    let log = r#"{"kernel":"up","problem":{"operation":"matmul","input":"bf16","output":"f32","layout":"nn","epilogue":"gelu","known_n":512,"known_k":512},"shape":{"m":512,"n":512,"k":512},"arch":null,"entry":null,"count":3}"#;
    std::fs::write(machine.path("shapes.jsonl"), format!("{log}\n")).unwrap();
    let output = run(&machine, &["--shapes-from", "shapes.jsonl", "--gpus", "0,1", "--json"]);
    assert_finished(&output);
    let trials = lines(&machine, "trial");
    let wanted = |trial: &Value| {
        let problem = &trial["target"]["problem"];
        (problem["epilogue"].as_str(), problem["layout"].as_str()) == (Some("gelu"), Some("nn"))
    };
    assert!(!trials.is_empty() && trials.iter().all(wanted), "{trials:?}");
    let gpus: HashSet<String> = machine.evaluated().iter().map(|line| line[..1].to_owned()).collect();
    assert_eq!(gpus, ["0", "1"].map(str::to_owned).into());
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&document["status"], &document["targets"][0]["tried"]), (&"finished".into(), &trials.len().into()));
}
