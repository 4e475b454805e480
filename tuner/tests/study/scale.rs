//! How a study behaves with many workers and with many trials.

use std::time::{Duration, Instant};

use tuner::stop::Stop;
use tuner::study::{Link, Queue};

use crate::common::Tuner;
use crate::faults::worker;
use crate::postgres_server::Server;

/// Trials a worker makes in the measurement of throughput, of 50 ms each.
const TRIALS_A_WORKER: usize = 200;
/// What a claim may take.
const CLAIM: Duration = Duration::from_millis(5);

#[test]
fn eight_workers_measure_at_least_seven_times_as_much_as_one() {
    let test = "eight_workers_measure_at_least_seven_times_as_much_as_one";
    if std::env::var_os("AUTOKERNEL_SOAK").is_none() {
        crate::common::skip(test, "it measures; `cargo xtask soak` runs it");
        return;
    }
    let Some(server) = Server::start(test) else { return };
    let (tuner, url) = (Tuner::new(), server.url());
    assert!(tuner.sub(&["study", "create", &url]).status.success());
    let mut one = None;
    for workers in [1, 2, 4, 8] {
        let evaluations = (workers * TRIALS_A_WORKER).to_string();
        server.query("truncate autokernel.work, autokernel.late");
        let search = tuner
            .command(&[
                "--shape",
                "4096x4096x4096",
                "--strategy",
                "random",
                "--evaluations",
                &evaluations,
                "--generations",
                "1",
                "--study",
                &url,
                "--out",
                &format!("out-{workers}"),
            ])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        while server.count("select count(*) from autokernel.work") < evaluations.parse().unwrap() {
            std::thread::sleep(Duration::from_millis(20));
        }
        let working: Vec<_> = (0..workers).map(|_| worker(&tuner, &url, "50", &["--idle", "1"])).collect();
        assert!(search.wait_with_output().unwrap().status.success());
        for worker in working {
            worker.wait_with_output().unwrap();
        }
        // From the first result to the last: how long a process takes to begin is not in it.
        let rows =
            server.query("select extract(epoch from max(recorded_at) - min(recorded_at))::float8 from autokernel.work");
        let rate = (workers * TRIALS_A_WORKER - 1) as f64 / rows[0].get::<_, f64>(0);
        let single = *one.get_or_insert(rate);
        let linear = rate / single / workers as f64;
        println!("{workers} workers: {rate:.1} trials/s, {linear:.3} of linear");
        assert!(linear >= 0.9, "{workers} workers: {linear:.3} of linear");
    }
}

#[test]
fn a_million_trials_are_claimed_from_in_milliseconds_and_reported_in_seconds() {
    let test = "a_million_trials_are_claimed_from_in_milliseconds_and_reported_in_seconds";
    if std::env::var_os("AUTOKERNEL_SOAK").is_none() {
        crate::common::skip(test, "it measures; `cargo xtask soak` runs it");
        return;
    }
    let Some(server) = Server::start(test) else { return };
    let (tuner, url) = (Tuner::new(), server.url());
    assert!(tuner.run(&["--shape", "4096x4096x4096", "--evaluations", "200", "--strategy", "random"]).status.success());
    assert!(tuner.sub(&["study", "create", &url]).status.success());
    assert!(tuner.sub(&["journal", "import", "--study", &url]).status.success());
    // 5000 targets, each with these 200 trials: a row's keys are made up, all else is as a worker writes it.
    server.query(
        "insert into autokernel.task (key, target, environment)
         select decode(md5('task' || n), 'hex'), json_build_object('problem', target->'problem', 'arch', target->'arch',
            'shape', json_build_object('m', 128 + n, 'n', 4096, 'k', 4096)), environment
         from autokernel.task, generate_series(1, 5000) n",
    );
    server.query(
        "insert into autokernel.work (task, key, kind, request, result, recorded_at)
         select task.id, decode(md5(task.id || ' ' || work.id), 'hex'), kind, request, result, now()
         from autokernel.work, autokernel.task where task.id > 1",
    );
    // And a hundred thousand that are still open.
    server.query(
        "insert into autokernel.work (task, key, kind, request)
         select 1, decode(md5('open ' || n), 'hex'), 'trial', (select request from autokernel.work limit 1)
         from generate_series(1, 100000) n",
    );
    server.query("analyze");
    let trials = server.count("select count(*) from autokernel.work where result is not null");
    assert!(trials >= 1_000_000, "{trials}");

    let mut queue = Queue::open(Link::open(&url.parse().unwrap(), &Stop::default()).unwrap()).unwrap();
    let link = queue.link();
    let write = "update autokernel.study set attempts = attempts";
    let write = median(|| assert_eq!(link.run(|client| client.execute(write, &[])).unwrap(), 1));
    println!("a write of one row: median {write:?}");
    // A claim is on the disk when it comes back: on one that other programs keep busy nothing is fast.
    let limit = CLAIM.max(2 * write);
    assert_claims("none of them compiled", limit, || queue.claim(1, "test", 1).unwrap().len());
    assert_claims("to compile", limit, || queue.claim_uncompiled(1, 1).unwrap().len());
    server.query("update autokernel.work set compiled = true where result is null and id % 2 = 0");
    assert_claims("half of them compiled", limit, || queue.claim(1, "test", 1).unwrap().len());

    // Whoever is idle looks for open tasks twice a second.
    let look = median(|| assert_eq!(queue.open_tasks().unwrap().len(), 1));
    println!("a look for open tasks: median {look:?}");
    assert!(look <= limit, "{look:?}");

    let begun = Instant::now();
    let report = tuner.sub(&["report", "--study", &url]);
    let took = begun.elapsed();
    assert!(report.status.success(), "{}", String::from_utf8_lossy(&report.stderr));
    let bytes = std::fs::metadata(tuner.out("report.html")).unwrap().len();
    println!("report of {trials} trials: {took:?}, {bytes} bytes");
    if !cfg!(debug_assertions) {
        assert!(took <= Duration::from_secs(10), "{took:?}");
    }

    // A search whose trials are all known: it reads those of its own target.
    let whole = took;
    let begun = Instant::now();
    let args = ["--shape", "4096x4096x4096", "--evaluations", "200", "--strategy", "random", "--study", &url];
    let again = tuner.run(&args);
    let took = begun.elapsed();
    let said = String::from_utf8_lossy(&again.stdout);
    assert!(again.status.success() && said.contains("200 of them known before"), "{said}");
    println!("a search of 200 trials that are known among {trials}: {took:?}");
    assert!(4 * took < whole, "{took:?}, and {whole:?} to read all of them");
}

/// Claims one after the other, and holds the median time of one against what it may take.
fn assert_claims(what: &str, limit: Duration, mut claim: impl FnMut() -> usize) {
    let took = median(|| assert_eq!(claim(), 1));
    println!("claim, {what}: median {took:?}");
    assert!(took <= limit, "{what}: {took:?}");
}

/// The median time of two hundred runs.
fn median(mut run: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..200)
        .map(|_| {
            let begun = Instant::now();
            run();
            begun.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}
