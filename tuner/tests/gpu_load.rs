//! Times under load on GPUs whose workers, and whose nvcc, are shell scripts: what is last after a rest is first under load.
#![cfg(unix)]

mod gpu_support;

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::process::Output;
use std::time::{Duration, Instant};

use autokernel_codegen::arch::Arch;
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::matmul::extents;
use autokernel_codegen::problem::{Layout, Problem};
use autokernel_codegen::schedule::Schedule;
use autokernel_codegen::schedule::space::Space;
use gpu_support::Machine;
use serde_json::Value;
use tuner::Target;
use tuner::gpu::Bench;
use tuner::gpu::pool::Deadlines;
use tuner::gpu::sampling::Effort;
use tuner::outcome::{Failure, Outcome};
use tuner::regime::RegimeChoice;

/// A worker whose schedules take longer after a rest, and less long under load, the more stages they have. `settled` says whether the
/// clock had settled.
const LOAD: &str = r#"*'"request":"final"'*)
        @FAULT@
        echo x >> finals
        times=$(echo "$line" | sed 's/"schedule"/\n"schedule"/g; s/"cublas"/\n"cublas"/g' | sed -n '
            s/^"schedule".*"stages":\([0-9]*\).*"raster_group":\([0-9]*\).*/\1 \2/p
            s/^"cublas".*/1 0/p' | while read -r stages group; do echo "1.$((900 - 50 * stages + group))"; done)
        final "$times";;"#;

fn machine(fault: &str) -> Machine {
    Machine::new(&LOAD.replace("@FAULT@", fault))
}

fn search(machine: &Machine, args: &[&str]) -> Output {
    let usual = ["--strategy", "random", "--evaluations", "24", "--generations", "2", "--seed", "1"];
    let output = machine.tuner_at("4096x4096x4096", &[&usual, args].concat()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert_eq!(output.status.code(), Some(0), "{}\n{}", text(&output.stdout), text(&output.stderr));
    output
}

/// The stages of the schedules that were tried in a state of the GPU, and what each took.
fn tried(machine: &Machine, regime: Option<&str>) -> Vec<(u64, f64)> {
    let trials = machine.journal("tuner-out", "trial");
    let of_regime = trials.iter().filter(|trial| trial["environment"]["regime"].as_str() == regime);
    of_regime
        .map(|trial| (trial["schedule"]["stages"].as_u64().unwrap(), trial["outcome"]["median_ms"].as_f64().unwrap()))
        .collect()
}

fn stages_of_the_fastest(tried: &[(u64, f64)]) -> u64 {
    tried.iter().min_by(|(_, a), (_, b)| a.total_cmp(b)).unwrap().0
}

fn last_final(machine: &Machine) -> Value {
    machine.journal("tuner-out", "final").last().unwrap().clone()
}

#[test]
fn a_search_ranks_as_the_final_does_and_its_only_finalist_is_promoted() {
    let machine = machine("");
    search(&machine, &["--finalists", "1"]);
    let tried = tried(&machine, Some("load"));
    assert_eq!(tried.len(), 24);
    let most = tried.iter().map(|(stages, _)| *stages).max().unwrap();
    assert_eq!(stages_of_the_fastest(&tried), most);
    let held = last_final(&machine);
    assert_eq!(held["finalists"].as_array().unwrap().len(), 1);
    assert_eq!((held["finalists"][0]["stages"].as_u64(), held["promoted"].as_bool()), (Some(most), Some(true)));
    // One final of a single leg, and one meeting a generation of those near the fastest; those that are not meet apart.
    assert!((3..=5).contains(&machine.legs()), "{}", machine.legs());
}

#[test]
fn trials_after_a_rest_answer_for_none_under_load_and_lead_to_another_schedule() {
    let machine = machine("");
    search(&machine, &["--regime", "rest", "--finalists", "1"]);
    let rested = tried(&machine, None);
    let fewest = rested.iter().map(|(stages, _)| *stages).min().unwrap();
    assert_eq!((rested.len(), stages_of_the_fastest(&rested)), (24, fewest));
    search(&machine, &["--finalists", "1"]);
    assert_eq!((tried(&machine, None).len(), tried(&machine, Some("load")).len()), (24, 24));
    assert!(stages_of_the_fastest(&tried(&machine, Some("load"))) > fewest);
    search(&machine, &["--finalists", "1"]);
    assert_eq!(tried(&machine, Some("load")).len(), 24, "the journal answers for what was tried alike");
}

#[test]
fn each_time_under_load_says_what_it_met_and_whether_the_clock_had_settled() {
    let machine = machine("");
    search(&machine, &[]);
    for trial in machine.journal("tuner-out", "trial") {
        let load = &trial["outcome"]["load"];
        assert_eq!(load["settled"], false, "this worker does not say so");
        assert_eq!(load["reference"]["family"], "sm90");
        let settled_ms = trial["outcome"]["median_ms"].as_f64().unwrap() / load["ratio"].as_f64().unwrap();
        let knob = |name: &str| load["reference"][name].as_f64().unwrap();
        let expected = 1.9 - 0.05 * knob("stages") + 0.001 * knob("raster_group");
        assert!((settled_ms - expected).abs() < 1e-9, "{settled_ms}, not {expected}");
        assert!(trial["outcome"]["check_seed"].is_u64() && trial["outcome"]["resources"].is_object());
    }
}

#[test]
fn who_takes_the_worker_down_under_load_is_found_alone_and_the_others_keep_their_times() {
    let machine = machine(r#"case "$line" in *'"stages":6'*) kill -KILL $$;; esac"#);
    search(&machine, &["--finalists", "1"]);
    let mut kinds: BTreeMap<(bool, String), usize> = BTreeMap::new();
    for trial in machine.journal("tuner-out", "trial") {
        let kind = trial["outcome"]["reason"].as_str().unwrap_or("measured").to_owned();
        *kinds.entry((trial["schedule"]["stages"] == 6, kind)).or_default() += 1;
    }
    assert_eq!(kinds.len(), 2, "{kinds:?}");
    assert!(kinds[&(true, "crash".to_owned())] > 0 && kinds[&(false, "measured".to_owned())] > 12, "{kinds:?}");
}

fn target() -> Target {
    let problem = Problem::matmul(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap());
    Target { problem, arch: Arch::SM_90A, shape: extents(4096, 4096, 4096) }
}

/// Schedules with an image each.
fn images(count: usize) -> Vec<Schedule> {
    let family = target().problem.class().families(Arch::SM_90A)[0];
    Space::new(family, &target().problem.class(), Arch::SM_90A).images().step_by(7).take(count).collect()
}

fn evaluate(bench: Bench, schedules: &[Schedule]) -> HashMap<Schedule, Outcome> {
    let mut outcomes = HashMap::new();
    let mut done = |evaluated: tuner::evaluate::Evaluated| {
        assert!(outcomes.insert(evaluated.schedule, evaluated.outcome).is_none(), "told twice");
        ControlFlow::Continue(())
    };
    bench.timing(RegimeChoice::Auto).evaluate(&target(), schedules, Effort::THOROUGH, None, &mut done).unwrap();
    outcomes
}

#[test]
fn who_hangs_under_load_is_stopped_at_its_limit_and_told_as_a_timeout() {
    let machine = machine(r#"case "$line" in *'"stages":3'*) exec sleep 1000;; esac"#);
    let deadlines = Deadlines { load: Duration::from_millis(200), ..Deadlines::default() };
    let bench = Bench::new(vec![machine.pool(0, deadlines)], machine.compiler()).unwrap();
    let schedules = images(6);
    let begun = Instant::now();
    let outcomes = evaluate(bench, &schedules);
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    for schedule in &schedules {
        let hangs = schedule.value("stages") == Some(3);
        let is_timeout = matches!(outcomes[schedule], Outcome::Failed(Failure::Timeout { .. }));
        assert_eq!(is_timeout, hangs, "{schedule}: {:?}", outcomes[schedule]);
    }
    assert!(schedules.iter().any(|schedule| schedule.value("stages") == Some(3)));
}

#[test]
fn several_gpus_share_a_batch_and_every_schedule_is_told_once() {
    let machine = machine("sleep 0.02");
    let schedules = images(60);
    let outcomes = evaluate(machine.bench(3), &schedules);
    assert_eq!(outcomes.len(), 60);
    assert!(outcomes.values().all(|outcome| outcome.measurement().is_some_and(|time| time.load.is_some())));
    let gpus: std::collections::HashSet<_> = machine.evaluated().iter().map(|line| line[..1].to_owned()).collect();
    assert_eq!(gpus.len(), 3, "{gpus:?}");
}

#[test]
fn a_gpu_that_is_lost_under_load_leaves_what_it_had_to_the_others() {
    let good = machine("");
    // It opens nothing any more once it fell.
    let bad = Machine::new(
        r#"*'"request":"final"'*) touch gone; exit 1;;
        *'"request":"open"'*) if [ -e gone ]; then exit 1; fi; echo '{"reply":"opened","buffer_sets":3,"cold_l2":true}';;"#,
    );
    let pools = vec![bad.pool(0, Deadlines::default()), good.pool(1, Deadlines::default())];
    let bench = Bench::new(pools, good.compiler()).unwrap();
    let schedules = images(40);
    let outcomes = evaluate(bench, &schedules);
    assert_eq!(outcomes.len(), 40);
    assert!(!bad.evaluated().is_empty(), "the other had its share");
    assert!(outcomes.values().all(|outcome| outcome.measurement().is_some()), "{outcomes:?}");
}
