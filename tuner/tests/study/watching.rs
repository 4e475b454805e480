//! Whoever watches a study searches what is demanded of it.

use std::process::{Child, Stdio};

use serde_json::Value;

use crate::common::Tuner;
use crate::elsewhere::{SCRIPT, end, work};
use crate::gpu_support::Machine;
use crate::postgres_server::Server;

const DONE: &str = "select count(*) from autokernel.search where done_at is not null";

fn watch(here: &Tuner, url: &str, more: &[&str]) -> Child {
    let args = ["tune", "--study", url, "--watch", "--evaluations", "8", "--generations", "2"];
    here.plain(&[&args, more].concat()).stdout(Stdio::null()).stderr(Stdio::inherit()).spawn().unwrap()
}

#[test]
fn what_is_demanded_is_searched_once_for_each_kind_of_gpu_whoever_dies_over_it() {
    let test = "what_is_demanded_is_searched_once_for_each_kind_of_gpu_whoever_dies_over_it";
    let Some(server) = Server::start(test) else { return };
    let (here, url) = (Tuner::without_spaces(), server.url());
    assert!(here.sub(&["study", "create", &url, "--lease", "3"]).status.success());
    let nothing = here.sub(&["study", "demand", &url]);
    assert_eq!(nothing.status.code(), Some(1));
    let demand = |shapes: &[&str]| {
        let shapes: Vec<&str> = shapes.iter().flat_map(|shape| ["--shape", shape]).collect();
        String::from_utf8(here.sub(&[&["study", "demand", &url], &shapes[..]].concat()).stdout).unwrap()
    };
    assert!(demand(&["512x512x512", "256x512x512"]).starts_with("2 demanded, 2 of them new"));
    assert!(demand(&["512x512x512"]).starts_with("1 demanded, 0 of them new"));
    let machines = [Machine::with("", "sleep 0.1", "Test GPU"), Machine::with("", "sleep 0.1", "Other GPU")];
    let workers = machines.each_ref().map(|machine| work(machine, &url, &SCRIPT));
    server.wait_for("select count(*) from autokernel.worker where role = 'measure'", 2);

    // Who is killed in the middle of a search leaves it to another.
    let mut killed = watch(&here, &url, &["--out", "killed"]);
    server.wait_for("select count(*) from autokernel.work where result is not null", 1);
    killed.kill().unwrap();
    killed.wait().unwrap();
    let mut watching = ["one", "two"].map(|out| watch(&here, &url, &["--out", out]));
    server.wait_for(DONE, 4);
    // What is demanded while they watch is searched as well.
    assert!(demand(&["128x512x512"]).starts_with("1 demanded, 1 of them new"));
    server.wait_for(DONE, 6);
    for process in &mut watching {
        assert!(std::process::Command::new("kill").arg(process.id().to_string()).status().unwrap().success());
        assert_eq!(process.wait().unwrap().code(), Some(130));
    }
    let evaluated = machines.each_ref().map(|machine| machine.evaluated().len());
    assert_eq!(evaluated, [24, 24], "three searches of eight schedules on each kind of GPU, and nothing twice");
    let finals = "select count(distinct task) from autokernel.line where body->>'line' = 'final'";
    assert_eq!(server.count(finals), 6, "each has a final");
    let status = String::from_utf8(here.sub(&["study", "status", &url]).stdout).unwrap();
    assert!(status.contains("48 recorded") || status.contains("3 demanded, 6 searches done"), "{status}");

    // Who wants the winners finds all of it known: nobody measures.
    let _ = workers.map(end);
    let mut late = work(&machines[0], &url, &SCRIPT);
    server.wait_for("select count(*) from autokernel.worker where role = 'measure'", 1);
    let args = ["--study", &url, "--shape", "512x512x512", "--evaluations", "8", "--generations", "2", "--json"];
    let known = here.plain(&args).output().unwrap();
    let document: Value = serde_json::from_slice(&known.stdout).unwrap();
    assert_eq!(document["targets"][0]["evaluated"], 0, "{document}");
    assert!(document["targets"][0]["verdict"]["reason"].is_string(), "{document}");
    assert_eq!(machines[0].evaluated().len(), 24);
    late.kill().unwrap();
    late.wait().unwrap();
}

#[test]
fn who_watches_ends_when_nothing_was_demanded_for_so_long() {
    let Some(server) = Server::start("who_watches_ends_when_nothing_was_demanded_for_so_long") else { return };
    let (here, url) = (Tuner::without_spaces(), server.url());
    assert!(here.sub(&["study", "create", &url]).status.success());
    let mut watching = watch(&here, &url, &["--idle", "0.5"]);
    assert_eq!(watching.wait().unwrap().code(), Some(0));
    let without = here.sub(&["tune", "--watch"]);
    assert_eq!(without.status.code(), Some(2), "it watches a study");
}
