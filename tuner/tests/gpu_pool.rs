//! The pool against workers that hang, crash and talk nonsense: shell scripts that speak the protocol.
#![cfg(unix)]

use std::path::PathBuf;
use std::time::{Duration, Instant};

use autokernel_codegen::arch::Arch;
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::matmul::extents;
use autokernel_codegen::problem::{Layout, Problem};
use tuner::gpu::deadline::Limit;
use tuner::gpu::pool::{Deadlines, GpuPool};
use tuner::gpu::process::WorkerCommand;
use tuner::gpu::protocol::{Candidate, Evaluate, FinalContender, FinalRounds, Kernel, Open};
use tuner::gpu::sampling::Effort;
use tuner::outcome::{Failure, Outcome};

const MEASURED: &str = r#"{"reply":"evaluated","outcome":{"status":"measured","median_ms":0.5,"spread_pct":0.4,"samples":12},"min_ms":0.49,"fatal":false}"#;
const OPENED: &str = r#"{"reply":"opened","buffer_sets":3,"cold_l2":true}"#;

/// A worker that answers `open`, and a candidate by the cases of the script.
fn worker(cases: &str) -> WorkerCommand {
    shell(&format!(
        r#"while read -r line; do case "$line" in
            *'"request":"open"'*) echo '{OPENED}';;
            {cases}
            *) echo '{MEASURED}';;
        esac; done"#
    ))
}

fn shell(script: &str) -> WorkerCommand {
    WorkerCommand { program: "/bin/sh".into(), args: vec!["-c".into(), script.into()] }
}

/// A case for the candidate whose raster group is 13.
fn at_13(action: &str) -> String {
    format!(r#"*'"raster_group":13}}'*) {action};;"#)
}

fn deadlines() -> Deadlines {
    let evaluate = Duration::from_millis(700);
    Deadlines { open: Duration::from_secs(20), evaluate: Limit::fixed(evaluate), finals: evaluate, load: evaluate }
}

fn problem() -> Problem {
    Problem::matmul(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap())
}

fn kernel() -> Kernel {
    Kernel { symbol: "kernel".into(), image: PathBuf::from("kernel.cubin") }
}

fn open() -> Open {
    let shape = extents(64, 64, 64);
    Open {
        problem: problem(),
        shape,
        group_sizes: Default::default(),
        reference: kernel(),
        instruments: kernel(),
        seed: 1,
    }
}

fn candidate(group: u16) -> Candidate {
    let schedule = problem().class().default_schedule(Arch::SM_90A);
    Candidate { schedule: schedule.with("raster_group", group).unwrap(), kernel: kernel() }
}

fn evaluate(pool: &mut GpuPool, group: u16) -> Outcome {
    let request = Evaluate { candidate: candidate(group), effort: Effort::QUICK, seed: 1 };
    pool.evaluate(&request).unwrap().outcome
}

fn opened(cases: &str) -> GpuPool {
    let mut pool = GpuPool::new(worker(cases), deadlines());
    assert!(pool.open(&open()).unwrap().cold_l2);
    pool
}

fn assert_measures_on(pool: &mut GpuPool, replaced: u32) {
    assert_eq!(evaluate(pool, 8).median_ms(), Some(0.5));
    assert_eq!(pool.replaced(), replaced);
}

fn crash(pool: &mut GpuPool) -> String {
    match evaluate(pool, 13) {
        Outcome::Failed(Failure::Crash { detail }) => detail,
        other => panic!("not a crash: {other:?}"),
    }
}

#[test]
fn a_candidate_that_hangs_is_a_timeout_and_the_next_gets_a_new_worker() {
    let mut pool = opened(&at_13("exec sleep 1000"));
    let begun = Instant::now();
    assert_eq!(evaluate(&mut pool, 13), Outcome::Failed(Failure::Timeout { limit_s: 0.7 }));
    assert!(begun.elapsed() < Duration::from_secs(10));
    assert_measures_on(&mut pool, 1);
}

#[test]
fn a_candidate_that_kills_the_worker_is_a_crash_with_the_signal_and_the_last_words() {
    let mut pool = opened(&at_13("echo 'a dying word' >&2; sleep 0.2; kill -SEGV $$"));
    let detail = crash(&mut pool);
    assert!(detail.contains("signal 11") && detail.contains("a dying word"), "{detail}");
    assert_measures_on(&mut pool, 1);
}

#[test]
fn a_worker_that_ends_in_silence_is_a_crash_with_its_exit_code() {
    let mut pool = opened(&at_13("exit 3"));
    let detail = crash(&mut pool);
    assert!(detail.contains("code 3"), "{detail}");
    assert_measures_on(&mut pool, 1);
}

#[test]
fn garbage_instead_of_a_reply_is_a_crash_that_shows_it() {
    let mut pool = opened(&at_13("echo 'CUDA error: something'"));
    let detail = crash(&mut pool);
    assert!(detail.contains("CUDA error: something"), "{detail}");
    assert_measures_on(&mut pool, 1);
}

#[test]
fn a_lost_cuda_context_keeps_its_reason_and_replaces_the_worker() {
    let reply = r#"{"reply":"evaluated","outcome":{"status":"failed","reason":"crash","detail":"CUDA_ERROR_ILLEGAL_ADDRESS"},"fatal":true}"#;
    let mut pool = opened(&at_13(&format!("echo '{reply}'")));
    assert_eq!(crash(&mut pool), "CUDA_ERROR_ILLEGAL_ADDRESS");
    assert_measures_on(&mut pool, 1);
}

#[test]
fn a_wrong_result_and_too_little_memory_leave_the_worker_alive() {
    for reason in ["wrong_result", "out_of_memory"] {
        let outcome = format!(r#"{{"status":"failed","reason":"{reason}","detail":"c[0, 1]"}}"#);
        let reply = format!(r#"{{"reply":"evaluated","outcome":{outcome},"fatal":false}}"#);
        let mut pool = opened(&at_13(&format!("echo '{reply}'")));
        assert_eq!(evaluate(&mut pool, 13).status(), reason);
        assert_measures_on(&mut pool, 0);
    }
}

#[test]
fn a_worker_that_cannot_start_is_an_error_with_a_remedy() {
    let command = WorkerCommand { program: "/nonexistent/tuner".into(), args: vec![] };
    let error = GpuPool::new(command, deadlines()).open(&open()).unwrap_err();
    assert!(error.to_string().contains("run the same command again"), "{error}");
}

#[test]
fn a_worker_that_never_opens_the_problem_ends_the_run_after_two_chances() {
    let mut pool = GpuPool::new(shell("exit 1"), deadlines());
    assert!(pool.open(&open()).is_err());
    assert_eq!(pool.replaced(), 2);
}

#[test]
fn the_same_problem_is_opened_once() {
    let folder = tempfile::tempdir().unwrap();
    let count = folder.path().join("opened");
    let script = format!("while read -r line; do echo x >> {}; echo '{OPENED}'; done", count.display());
    let mut pool = GpuPool::new(shell(&script), deadlines());
    pool.open(&open()).unwrap();
    pool.open(&open()).unwrap();
    pool.open(&Open { seed: 2, ..open() }).unwrap();
    assert_eq!(std::fs::read_to_string(&count).unwrap().lines().count(), 2);
}

#[test]
fn a_final_that_takes_the_worker_down_is_an_error_and_not_a_result() {
    let mut pool = opened(r#"*'"request":"final"'*) exit 1;;"#);
    let contenders = vec![FinalContender::Candidate(candidate(8)), FinalContender::Cublas];
    assert!(
        pool.finals(&FinalRounds {
            contenders,
            rounds: 3,
            round_ms: 1.0,
            warm_up_ms: 1.0,
            settle_ms: 0.0,
            check_again: false,
            energy_ms: 0.0,
            seed: 1,
        })
        .is_err()
    );
    assert_measures_on(&mut pool, 1);
}

#[test]
fn the_real_worker_says_what_is_missing() {
    let args = ["worker", "--device", "9999"].map(Into::into).to_vec();
    let command = WorkerCommand { program: env!("CARGO_BIN_EXE_tuner").into(), args };
    let error = GpuPool::new(command, deadlines()).gpu().unwrap_err().to_string();
    assert!(error.contains("no CUDA driver") || error.contains("no GPU 9999"), "{error}");
}
