//! A batch on several GPUs whose workers, and whose nvcc, are shell scripts.
#![cfg(unix)]

mod gpu_support;

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use autokernel_codegen::arch::Arch;
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::matmul::extents;
use autokernel_codegen::problem::{Layout, Problem};
use autokernel_codegen::schedule::Schedule;
use autokernel_codegen::schedule::space::Space;
use gpu_support::Machine;
use tuner::Target;
use tuner::evaluate::{Contender, Rounds};
use tuner::gpu::Bench;
use tuner::gpu::pool::Deadlines;
use tuner::gpu::sampling::Effort;
use tuner::outcome::Outcome;

fn target() -> Target {
    let problem = Problem::matmul(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap());
    Target { problem, arch: Arch::SM_90A, shape: extents(512, 512, 512) }
}

/// Schedules with an image each.
fn images(count: usize) -> Vec<Schedule> {
    let family = target().problem.class().families(Arch::SM_90A)[0];
    Space::new(family, &target().problem.class(), Arch::SM_90A).images().take(count).collect()
}

fn evaluate(bench: &mut Bench, schedules: &[Schedule]) -> HashMap<Schedule, Outcome> {
    let mut outcomes = HashMap::new();
    let mut done = |evaluated: tuner::evaluate::Evaluated| {
        assert!(outcomes.insert(evaluated.schedule, evaluated.outcome).is_none(), "told twice");
        ControlFlow::Continue(())
    };
    bench.evaluate(&target(), schedules, Effort::QUICK, None, &mut done).unwrap();
    outcomes
}

/// Kernels are compiled by the time they are timed.
fn seconds_with_all_compiled(machine: &Machine, gpus: usize, schedules: &[Schedule]) -> f64 {
    let mut bench = machine.bench(gpus);
    let begun = Instant::now();
    let outcomes = evaluate(&mut bench, schedules);
    assert_eq!(outcomes.len(), schedules.len());
    assert!(outcomes.values().all(|outcome| outcome.median_ms().is_some()));
    begun.elapsed().as_secs_f64()
}

const SLOW: &str = r#"*'"request":"evaluate"'*) sleep 0.1; echo '{"reply":"evaluated","outcome":{"status":"measured","median_ms":0.5,"spread_pct":0.4,"samples":12},"fatal":false}';;"#;

#[test]
fn two_gpus_measure_the_same_list_about_twice_as_fast_as_one() {
    let machine = Machine::new(SLOW);
    let schedules = images(40);
    evaluate(&mut machine.bench(2), &schedules);
    let one = seconds_with_all_compiled(&machine, 1, &schedules);
    let two = seconds_with_all_compiled(&machine, 2, &schedules);
    assert!(one > 4.0, "{one} s for 40 schedules of 0.1 s");
    assert!(one / two > 1.6, "{one} s with one GPU, {two} s with two");
    let of_the_second = machine.evaluated().iter().filter(|line| line.starts_with('1')).count();
    assert!(of_the_second > 20, "GPU 1 measured {of_the_second} of its two lists");
}

#[test]
fn compiling_runs_ahead_while_the_gpu_measures() {
    let machine = Machine::with(SLOW, "sleep 0.1", "Test GPU");
    let schedules = images(30);
    let mut bench = machine.bench(1).with(None, Some(2));
    let begun = Instant::now();
    assert_eq!(evaluate(&mut bench, &schedules).len(), 30);
    let seconds = begun.elapsed().as_secs_f64();
    // One after the other: 30 compiles of 0.1 s and more, then 30 evaluations of 0.1 s.
    assert!(seconds < 4.6, "{seconds} s for 3 s of measuring with 1.5 s of compiling beside it");
}

#[test]
fn a_gpu_whose_worker_cannot_be_brought_back_leaves_its_work_to_the_other() {
    // The worker of GPU 1 opens its problem once, dies of its third candidate, and then never opens another.
    let dying = r#"*'"request":"open"'*)
        if [ "$gpu" = 1 ] && [ -e dead ]; then exit 7; fi; echo '{"reply":"opened","buffer_sets":3,"cold_l2":true}';;
    *'"request":"evaluate"'*) sleep 0.02
        if [ "$gpu" = 1 ] && [ "$(grep -c '^1' evaluated)" -ge 3 ]; then : > dead; exit 9; fi
        echo '{"reply":"evaluated","outcome":{"status":"measured","median_ms":0.5,"spread_pct":0.4,"samples":12},"fatal":false}';;"#;
    let machine = Machine::new(dying);
    let schedules = images(24);
    let mut bench = machine.bench(2);
    let outcomes = evaluate(&mut bench, &schedules);
    assert_eq!(outcomes.len(), 24, "nothing is lost");
    let crashes: Vec<&Outcome> = outcomes.values().filter(|outcome| outcome.median_ms().is_none()).collect();
    assert_eq!(crashes.len(), 1, "only the candidate that took the worker down: {crashes:?}");
    assert_eq!(crashes[0].status(), "crash");
    assert_eq!(bench.ordinals(), [0], "the GPU is left out from then on");
    assert!(bench.replaced() >= 3);
    assert_eq!(evaluate(&mut bench, &images(30)[24..]).len(), 6);
}

#[test]
fn when_every_gpu_is_lost_the_batch_ends_with_the_reason() {
    let machine = Machine::new(r#"*'"request":"open"'*) echo 'no memory left in the universe' >&2; exit 7;;"#);
    let mut done = |_| ControlFlow::Continue(());
    let mut bench = machine.bench(2);
    let error = bench.evaluate(&target(), &images(50), Effort::QUICK, None, &mut done).unwrap_err().to_string();
    assert!(error.contains("no memory left in the universe") && error.contains("nvidia-smi"), "{error}");
    assert!(machine.evaluated().is_empty());
}

#[test]
fn gpus_of_another_kind_than_the_first_are_refused_by_name() {
    let (first, second) = (Machine::new(""), Machine::with("", "", "Other GPU"));
    let pools = vec![first.pool(0, Deadlines::default()), second.pool(3, Deadlines::default())];
    let Err(error) = Bench::new(pools, first.compiler()) else { panic!("their times cannot be compared") };
    let error = error.to_string();
    assert!(error.contains("GPU 3 is Other GPU") && error.contains("GPU 0 is Test GPU"), "{error}");
    assert!(error.contains("leave 3 out of --gpus"), "{error}");
}

#[test]
fn a_batch_that_is_told_to_end_begins_nothing_further_and_tells_of_what_was_under_way() {
    let machine = Machine::new(SLOW);
    let schedules = images(60);
    let mut told = 0;
    let mut three = |_| {
        told += 1;
        if told == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut bench = machine.bench(2);
    bench.evaluate(&target(), &schedules, Effort::QUICK, None, &mut three).unwrap();
    assert_eq!(told, machine.evaluated().len(), "what ran counts");
    // Of each GPU what was under way, and on a busy machine what it was handed before the word came.
    assert!(machine.evaluated().len() <= 3 + 2 * 2, "few more on each GPU: {:?}", machine.evaluated());
}

#[test]
fn every_check_draws_its_inputs_from_a_seed_of_its_own() {
    let machine = Machine::new(
        r#"*'"request":"evaluate"'*) echo "$line" >> requests
        echo '{"reply":"evaluated","outcome":{"status":"measured","median_ms":0.5,"spread_pct":0.4,"samples":12},"fatal":false}';;"#,
    );
    let outcomes = evaluate(&mut machine.bench(1), &images(8));
    let mut journaled: Vec<u64> =
        outcomes.values().map(|outcome| outcome.measurement().unwrap().check_seed.unwrap()).collect();
    let requests = std::fs::read_to_string(machine.path("requests")).unwrap();
    let seed = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["seed"].as_u64().unwrap();
    let mut asked: Vec<u64> = requests.lines().map(seed).collect();
    asked.sort_unstable();
    journaled.sort_unstable();
    assert_eq!(asked, journaled);
    asked.dedup();
    assert_eq!(asked.len(), 8);
}

#[test]
fn a_contender_that_takes_the_final_down_is_found_and_the_others_meet_again() {
    // Whatever has 4 stages kills the worker.
    let machine = Machine::new(r#"*'"stages":4'*) kill -SEGV $$;;"#);
    let schedules = images(200);
    let stages = |wanted: u16| {
        let has = move |schedule: &&Schedule| schedule.value("stages") == Some(wanted);
        *schedules.iter().find(has).unwrap()
    };
    let contenders = [Contender::Schedule(stages(3)), Contender::Schedule(stages(4)), Contender::Cublas];
    let rounds = Rounds { count: 3, round_ms: 1.0, warm_up_ms: 0.0 };
    let finals = machine.bench(1).compare(&target(), &contenders, rounds).unwrap();
    assert!(finals[0].is_ok() && finals[2].is_ok());
    assert_eq!(finals[1].as_ref().unwrap_err().kind(), "crash");
}

#[test]
fn an_nvcc_that_does_not_start_ends_the_batch_and_is_no_schedules_failure() {
    let machine = Machine::new("");
    let (schedules, mut bench) = (images(8), machine.bench(2));
    // Then what all schedules share is in the cache.
    assert_eq!(evaluate(&mut bench, &schedules[..1]).len(), 1);
    std::fs::remove_file(machine.path("nvcc")).unwrap();
    let mut told = Vec::new();
    let mut done = |evaluated: tuner::evaluate::Evaluated| {
        told.push(evaluated.outcome);
        ControlFlow::Continue(())
    };
    let error = bench.evaluate(&target(), &schedules[1..], Effort::QUICK, None, &mut done).unwrap_err().to_string();
    assert!(told.is_empty(), "recorded for good: {told:?}");
    assert!(error.contains("nothing can be compiled here") && error.contains("tuner doctor"), "{error}");
    assert_eq!(evaluate(&mut bench, &schedules[..1]).len(), 1, "what is compiled is measured without it");
}

#[test]
fn a_compiler_that_never_ends_is_one_schedules_failure() {
    let nvcc = r#"case "$(cat kernel.cu)" in *'kStages = 4'*) exec sleep 1000;; esac"#;
    let machine = Machine::with("", nvcc, "Test GPU");
    let schedules = images(200);
    let stages = |wanted: u16| {
        let has = move |schedule: &&Schedule| schedule.value("stages") == Some(wanted);
        *schedules.iter().find(has).unwrap()
    };
    let batch = [stages(3), stages(4)];
    let mut bench = machine.bench(1).with_compile_limit(Duration::from_secs(2));
    let outcomes = evaluate(&mut bench, &batch);
    assert!(outcomes[&batch[0]].median_ms().is_some());
    assert_eq!(outcomes[&batch[1]].status(), "compile_timeout");
}
