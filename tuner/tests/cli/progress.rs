//! What a person is told while something runs, where standard error is no terminal.

use crate::common::Tuner;

fn told(output: &std::process::Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn a_run_tells_what_it_begins_before_the_first_trial_and_how_far_each_generation_came() {
    let output = Tuner::new().run(&["--shape", "4096x4096x4096", "--evaluations", "20", "--generations", "4"]);
    let told = told(&output);
    let begun = told.find("4096x4096x4096: 20 evaluations").unwrap_or_else(|| panic!("{told}"));
    let generations: Vec<usize> = (1..=4).map(|it| told.find(&format!("generation {it}: ")).unwrap()).collect();
    assert!(begun < generations[0] && generations.is_sorted(), "{told}");
    assert!(told.contains("5 of 20 tried, best "), "{told}");
}

#[test]
fn a_comparison_counts_its_searches() {
    let args = ["compare", "--spaces", "spaces", "--seeds", "2", "--evaluations", "12", "--shape", "512x4096x2048"];
    let output = Tuner::new().run(&args);
    let told = told(&output);
    assert!(output.status.success(), "{told}");
    assert!(
        told.contains("1 of 6 searches") && told.contains("6 of 6 searches"),
        "two seeds of three strategies: {told}"
    );
}

#[test]
fn a_strategy_that_asks_no_model_says_so_beside_one() {
    let args = ["--strategy", "random", "--llm", "http://127.0.0.1:9/v1", "--model", "m", "--evaluations", "10"];
    let output = Tuner::new().run(&args);
    let told = told(&output);
    assert!(output.status.success() && told.contains("--strategy random asks no model; --llm is not used"), "{told}");
}

#[test]
fn of_many_generations_a_few_are_told_and_the_last() {
    let args = ["--shape", "4096x4096x4096", "--evaluations", "60", "--generations", "58", "--strategy", "random"];
    let output = Tuner::new().run(&args);
    let summary = String::from_utf8(output.stdout).unwrap();
    let line = summary.lines().find(|line| line.starts_with("  generations")).unwrap();
    let (counts, times) = line.rsplit_once(": ").unwrap();
    assert!(counts.contains("best after every "), "{line}");
    assert!((2..=11).contains(&times.split(", ").count()), "{line}");
    let best = summary.lines().find(|line| line.starts_with("  best")).unwrap();
    assert!(best.contains(times.rsplit(", ").next().unwrap()), "the last is the best of all: {summary}");
}
