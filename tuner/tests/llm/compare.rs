//! A comparison of searches that a model leads.

use crate::common::Tuner;
use crate::llm_support::{Server, says};

#[test]
fn a_comparison_keeps_transcripts_and_asks_nothing_twice_when_it_is_run_again() {
    let tuner = Tuner::new();
    let server = Server::start((0..100).map(|_| says("I have no idea.")));
    let args = |url: &str| {
        let words = [
            "compare",
            "--spaces",
            "spaces",
            "--shape",
            "4096x4096x4096",
            "--strategies",
            "hybrid",
            "--seeds",
            "2",
            "--evaluations",
            "12",
            "--generations",
            "2",
            "--model",
            "m",
            "--llm",
            url,
        ];
        words.map(str::to_owned)
    };
    let run = || {
        let args = args(&server.url);
        let output = tuner.plain(&args.each_ref().map(String::as_str)).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let table = std::fs::read_to_string(tuner.folder().join("compare-out/compare.csv")).unwrap();
        // The last columns have the time that proposing took.
        let found = |line: &str| line.split(',').take(12).map(str::to_owned).collect::<Vec<_>>();
        table.lines().map(found).collect::<Vec<_>>()
    };
    let first = run();
    let asked = server.requests().len();
    assert!(asked > 0);
    let transcripts = tuner.folder().join("compare-out/transcripts/hybrid");
    let target = std::fs::read_dir(transcripts).unwrap().next().unwrap().unwrap().path();
    assert_eq!(std::fs::read_dir(target).unwrap().count(), 2, "one for each seed");
    assert_eq!(run(), first);
    assert_eq!(server.requests().len(), asked, "the transcripts answer");
}
