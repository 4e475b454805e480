//! The commands of a study as a person types them.

use std::process::Output;

use serde_json::Value;

use crate::common::Tuner;
use crate::faults::worker;
use crate::postgres_server::{PASSWORD, Server};

const SHAPE: [&str; 4] = ["--shape", "4096x4096x4096", "--evaluations", "24"];

fn text(output: &Output) -> String {
    [output.stdout.as_slice(), &output.stderr].map(String::from_utf8_lossy).concat()
}

#[test]
fn a_study_is_searched_reported_and_moved_like_a_journal_and_never_prints_its_password() {
    let test = "a_study_is_searched_reported_and_moved_like_a_journal_and_never_prints_its_password";
    let Some(server) = Server::start(test) else { return };
    let (tuner, url) = (Tuner::new(), server.url());
    let mut said = String::new();
    let mut run = |args: &[&str], code: i32| {
        let output = tuner.sub(args);
        said += &text(&output);
        assert_eq!(output.status.code(), Some(code), "{args:?}: {}", text(&output));
        text(&output)
    };
    let none = run(&["study", "status", &url], 1);
    assert!(none.contains("holds no study; make one with `tuner study create URL`"), "{none}");
    run(&["study", "create", &url], 0);
    assert!(run(&["study", "create", &url], 1).contains("holds a study already"));
    assert!(run(&["study", "status", &url.replace(PASSWORD, "wrong")], 1).contains("does not let this user in"));
    assert!(
        run(&["study", "status", &url.replace(&server.port.to_string(), "1")], 1).contains("check that the server")
    );

    let working = worker(&tuner, &url, "0", &["--idle", "15"]);
    let search = [&SHAPE[..], &["--study", &url, "--spaces", "spaces"]].concat();
    let first = run(&search, 0);
    assert!(first.contains("24 trials") || first.contains("24 tried"), "{first}");
    assert_eq!(working.wait_with_output().unwrap().stdout, b"24 results recorded, 0 too late\n");
    // All is known: no worker is needed.
    let again = run(&search, 0);
    assert!(again.contains("24 of them known before"), "{again}");
    assert!(run(&["study", "status", &url], 0).contains("24 recorded, 0 being measured, 0 waiting; 0 workers"));
    run(&["report", "--study", &url], 0);
    assert!(std::fs::read_to_string(tuner.out("report.html")).unwrap().contains("4096x4096x4096"));
    run(&["export", "--study", &url, "--out", "t4"], 0);

    run(&["journal", "export", "--study", &url, "--journal", "moved.jsonl"], 0);
    let moved = tuner.folder().join("moved.jsonl");
    assert_eq!(std::fs::read_to_string(&moved).unwrap().lines().count(), 1 + 24);
    let again = run(&["journal", "import", "--study", &url, "--journal", "moved.jsonl"], 0);
    assert!(again.starts_with("0 trials from moved.jsonl into postgres://127.0.0.1:"), "{again}");
    assert!(!said.contains(PASSWORD), "the password was printed: {said}");
}

#[test]
fn a_journal_that_moves_through_a_study_comes_back_the_same() {
    let Some(server) = Server::start("a_journal_that_moves_through_a_study_comes_back_the_same") else { return };
    let (tuner, url) = (Tuner::new(), server.url());
    assert!(tuner.run(&SHAPE).status.success());
    assert!(tuner.sub(&["study", "create", &url]).status.success());
    assert!(tuner.sub(&["journal", "import", "--study", &url]).status.success());
    let back = Tuner::without_spaces();
    std::fs::create_dir(back.out("")).unwrap();
    let export = back.sub(&["journal", "export", "--study", &url]);
    assert!(export.status.success(), "{}", text(&export));
    let sorted = |tuner: &Tuner| {
        let mut lines: Vec<String> = tuner.journaled().iter().map(Value::to_string).collect();
        lines.sort();
        lines
    };
    assert_eq!(sorted(&back), sorted(&tuner));
}

#[test]
fn a_schedule_over_which_as_many_workers_were_lost_as_allowed_is_blamed() {
    let test = "a_schedule_over_which_as_many_workers_were_lost_as_allowed_is_blamed";
    let Some(server) = Server::start(test) else { return };
    let (tuner, url) = (Tuner::new(), server.url());
    assert!(tuner.sub(&["study", "create", &url, "--lease", "1", "--attempts", "2"]).status.success());
    let args = ["--shape", "4096x4096x4096", "--evaluations", "1", "--generations", "1", "--study", &url, "--json"];
    let search = tuner.command(&args).stdout(std::process::Stdio::piped()).spawn().unwrap();
    for _ in 0..2 {
        let mut stuck = worker(&tuner, &url, "600000", &[]);
        let taken = "select count(*) from autokernel.work where lease_until > now()";
        while server.count("select count(*) from pg_namespace where nspname = 'autokernel'") == 0
            || server.count(taken) == 0
        {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        stuck.kill().unwrap();
        stuck.wait().unwrap();
        while server.count(taken) > 0 {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
    // It looks for work, finds that none may be tried again, and says so.
    let other = worker(&tuner, &url, "0", &["--idle", "2"]);
    assert_eq!(other.wait_with_output().unwrap().stdout, b"0 results recorded, 0 too late\n");
    let document: Value = serde_json::from_slice(&search.wait_with_output().unwrap().stdout).unwrap();
    assert_eq!(document["targets"][0]["failures"]["crash"], 1, "{document}");
}

#[test]
fn a_server_whose_certificate_nobody_here_trusts_is_not_told_the_password() {
    let test = "a_server_whose_certificate_nobody_here_trusts_is_not_told_the_password";
    if std::process::Command::new("openssl").arg("version").output().is_err() {
        crate::common::skip(test, "there is no openssl here to make a certificate");
        return;
    }
    let Some(server) = Server::start(test) else { return };
    let (tuner, url) = (Tuner::new(), format!("{}?sslmode=require", server.url()));
    let create = || tuner.plain(&["study", "create", &url]);
    let without = text(&create().output().unwrap());
    assert!(without.contains("server does not support TLS"), "{without}");
    let authority = server.with_tls();
    let stranger = text(&create().output().unwrap());
    assert!(stranger.contains("invalid peer certificate") && stranger.contains("SSL_CERT_FILE"), "{stranger}");
    let trusted = create().env("SSL_CERT_FILE", &authority).output().unwrap();
    assert!(trusted.status.success(), "{}", text(&trusted));
    assert_eq!(server.count("select count(*) from autokernel.study"), 1);
}
