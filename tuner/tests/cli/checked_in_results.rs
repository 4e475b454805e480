//! The README's learning curve is that of the checked-in session: it is drawn anew from its journal.

use std::path::{Path, PathBuf};

use autokernel_codegen::config::Config;
use tuner::journal::{Journal, Start};
use tuner::promote::{Final, FinalPlan};
use tuner::report::{self, Results, TargetResult};
use tuner::session::{Search, StopReason};
use tuner::store::Store;
use tuner::{Target, Trial};

/// Set to anything, it has the curve drawn into the repository.
const REDRAW: &str = "AUTOKERNEL_REDRAW";

fn session() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/results/llm-session")
}

/// The session's targets in their order, each with its search and its final.
fn results(journal: &Journal) -> Vec<TargetResult> {
    let before = Config::load(&session().join("empty.json")).unwrap();
    let documents = Results::load(&session().join("out/results.json")).unwrap().targets;
    let of_document = |document: &report::TargetDocument| {
        let target: &Target = &document.target;
        let mut trials: Vec<Trial> =
            journal.trials().iter().filter(|trial| *trial.target == *target).cloned().collect();
        trials.sort_by_key(|trial| (trial.generation, trial.number));
        let held = journal.records().finals().iter().rfind(|held| held.target == *target).expect("a final was held");
        let plan = FinalPlan::with_finalists(FinalPlan::FINALISTS);
        let promotion = Some(Final::new(plan, target, &trials, &before, &document.gpu).decide(held));
        let stopped = StopReason::GenerationsSpent;
        TargetResult {
            is_of_a_range: false,
            search: Search {
                target: target.clone(),
                trials,
                elsewhere: Vec::new(),
                left_out: None,
                evaluated: document.evaluated,
                stopped,
            },
            strategy: document.strategy.clone(),
            origin: document.origin.clone(),
            environment: document.environment.clone(),
            gpu: document.gpu.clone(),
            promotion,
            optimum: None,
            best_at_random_ms: None,
        }
    };
    documents.iter().map(of_document).collect()
}

#[test]
fn the_readmes_learning_curve_is_drawn_from_the_journal_of_the_models_session() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("history.jsonl");
    std::fs::copy(session().join("out/history.jsonl"), &copy).unwrap();
    let drawn = report::learning_curves(&results(&Journal::open(&copy, Start::Resume).unwrap())).unwrap();
    let path = session().join("out/learning_curve.svg");
    if std::env::var_os(REDRAW).is_some() {
        std::fs::write(&path, &drawn).unwrap();
    }
    let checked_in = std::fs::read_to_string(&path).unwrap();
    assert!(drawn == checked_in, "the curve is out of date: draw it anew with {REDRAW}=1");
}
