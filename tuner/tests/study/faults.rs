//! What kills workers, servers and connections loses no trial, and counts none twice.

use std::collections::BTreeMap;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use serde_json::Value;

use crate::common::Tuner;
use crate::postgres_server::Server;
use crate::proxy::Proxy;

/// Trials of a round, each of that many milliseconds: some twenty seconds of eight workers.
const TRIALS: usize = 1500;
const TRIAL_MS: &str = "80";
const SEARCH: [&str; 10] =
    ["--shape", "4096x4096x4096", "--strategy", "random", "--seed", "7", "--evaluations", "1500", "--generations", "3"];
/// Rounds of `cargo xtask soak`.
const SOAK_ROUNDS: u64 = 20;

pub fn worker(tuner: &Tuner, url: &str, trial_ms: &str, more: &[&str]) -> Child {
    let args = ["work", "--study", url, "--spaces", "spaces", "--replay-delay-ms", trial_ms];
    let mut command = tuner.plain(&[&args, more].concat());
    command.stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().unwrap()
}

/// What each schedule of a document's journal or study came to.
fn winner(document: &[u8]) -> Value {
    let document: Value = serde_json::from_slice(document).unwrap();
    assert_eq!(document["status"], "finished", "{document}");
    document["targets"][0]["best"].clone()
}

#[test]
fn killed_workers_a_restarted_server_and_a_cut_connection_lose_no_trial_and_count_none_twice() {
    let test = "killed_workers_a_restarted_server_and_a_cut_connection_lose_no_trial_and_count_none_twice";
    let rounds = if std::env::var_os("AUTOKERNEL_SOAK").is_some() { SOAK_ROUNDS } else { 1 };
    let alone = Tuner::new();
    let expected = winner(&alone.run(&[&SEARCH[..], &["--json"]].concat()).stdout);
    let truth: BTreeMap<String, Value> = alone.journaled().iter().map(outcome).collect();
    assert_eq!(truth.len(), TRIALS);
    for round in 0..rounds {
        let Some(server) = Server::start(test) else { return };
        let late = one_round(&server, round, &expected, &truth);
        println!("round {round}: {late} results came too late and were not counted");
    }
}

/// The schedule of a trial's line, and what became of it.
fn outcome(line: &Value) -> (String, Value) {
    (line["schedule"].to_string(), line["outcome"].clone())
}

fn one_round(server: &Server, round: u64, expected: &Value, truth: &BTreeMap<String, Value>) -> i64 {
    let tuner = Tuner::new();
    let url = server.url();
    let made = tuner.sub(&["study", "create", &url, "--lease", "2", "--attempts", "100"]);
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let search = [&SEARCH[..], &["--study", &url, "--json"]].concat();
    let tune = || tuner.command(&search).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let (mut first, second) = (tune(), tune());
    let proxy = Proxy::to(server.port);
    let behind = worker(&tuner, &server.url_at(proxy.port), TRIAL_MS, &[]);
    let mut workers: Vec<Child> = (0..7).map(|_| worker(&tuner, &url, TRIAL_MS, &[])).collect();

    let mut random = Pcg64::seed_from_u64(round);
    let begun = Instant::now();
    let mut at = |seconds: f64| {
        let when = Duration::from_secs_f64(seconds + random.random_range(0.0..1.5));
        std::thread::sleep(when.saturating_sub(begun.elapsed()));
    };
    at(1.0);
    workers.pop().map(|mut worker| (worker.kill(), worker.wait())).unwrap().0.unwrap();
    at(2.5);
    server.restart("fast");
    at(4.0);
    proxy.cut(true);
    first.kill().unwrap();
    first.wait().unwrap();
    at(5.5);
    workers.pop().map(|mut worker| (worker.kill(), worker.wait())).unwrap().0.unwrap();
    at(7.0);
    server.restart("immediate");
    at(8.5);
    workers.pop().map(|mut worker| (worker.kill(), worker.wait())).unwrap().0.unwrap();
    at(10.0);
    proxy.cut(false);

    let output = second.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(winner(&output.stdout), *expected, "another winner than that of one process");
    workers.push(behind);
    for worker in &mut workers {
        let status = std::process::Command::new("kill").arg(worker.id().to_string()).status().unwrap();
        assert!(status.success());
        worker.wait().unwrap();
    }
    assert_eq!(server.count("select count(*) from autokernel.work where result is null"), 0, "something is open");
    let rows = server.query("select request::text, result::text from autokernel.work where kind = 'trial'");
    assert_eq!(rows.len(), truth.len(), "recorded exactly once, and none lost");
    for row in rows {
        let [request, result] = [0, 1].map(|at| serde_json::from_str::<Value>(row.get(at)).unwrap());
        assert_eq!(truth.get(&request["schedule"].to_string()), Some(&result["outcome"]));
    }
    let lost = server.count("select count(*) from autokernel.work where attempt - given_back > 1");
    assert!(lost > 0, "no lease was lost: nothing was tested");
    server.count("select count(*) from autokernel.late")
}
