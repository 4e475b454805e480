//! Mutants of `results.json`.

use autokernel_codegen::config::Config;
use serde_json::{Value, json};

use super::journals::trials;
use super::mutate::mutant;
use super::{seeds, watchdog};
use crate::report::{Results, page_of};

/// One of so many mutants that can be read becomes a page, which takes longer.
const PAGES: u64 = 100;

/// What a run with a final would leave of the trials.
fn results() -> Value {
    let trial = &trials()[0];
    let gpu: Value = serde_json::from_str(crate::chosen::tests::H200).unwrap();
    json!({ "version": 1, "targets": [{
        "target": trial.target, "environment": trial.environment, "gpu": gpu, "strategy": "surrogate, seed 0",
        "origin": "measured", "stop": { "reason": "budget_spent", "text": "the budget is spent" },
        "tried": 4, "evaluated": 4, "failures": { "crash": 1 },
        "generations": [{ "generation": 1, "best_ms": 0.25 }, { "generation": 2, "best_ms": 0.25 }],
        "best": { "schedule": trial.schedule, "median_ms": 0.26, "spread_pct": 0.4, "tflops": 1.1, "roofline_pct": 0.1,
            "proposed_by": "surrogate" },
        "default_ms": 0.5, "cublas_ms": 0.3, "optimum": { "schedule": trial.schedule, "median_ms": 0.25 },
        "incumbent": { "schedule": trial.schedule, "origin": "the default", "exact": false, "median_ms": 0.4 },
        "verdict": { "promoted": true, "reason": "it is faster", "finalists": [trial.schedule], "rounds": 25 },
    }]})
}

/// A time of 0, and a memory of no bandwidth, once drew an axis without end.
#[test]
fn whatever_results_say_ends_as_a_page_or_as_a_reason() {
    let text = serde_json::to_vec_pretty(&results()).unwrap();
    assert_eq!(Results::parse(&text).map(|results| results.targets.len()), Ok(1));
    let mut readable = 0;
    watchdog::each(seeds(), |seed| {
        let Ok(results) = Results::parse(&mutant(&text, seed)) else { return };
        readable += 1;
        if readable % PAGES == 1 {
            page_of(trials(), results, Config::default()).unwrap();
        }
    });
    assert!(readable > 0, "no mutant could be read: nothing was tested");
}

#[test]
fn figures_that_a_chart_would_divide_by_are_refused_with_their_name() {
    let changed = |path: &str, value: f64| {
        let mut results = results();
        *results.pointer_mut(path).unwrap() = value.into();
        Results::parse(&serde_json::to_vec(&results).unwrap()).unwrap_err()
    };
    for path in ["best/median_ms", "default_ms", "cublas_ms", "incumbent/median_ms", "optimum/median_ms"] {
        for ms in [0.0, -1.0, 1e300] {
            let reason = changed(&format!("/targets/0/{path}"), ms);
            assert!(reason.contains("a time is "), "{path} {ms}: {reason}");
        }
    }
    for (figure, value) in [("memory_gb_per_s", -1.0), ("matrix_tflops", -1.0), ("matrix_tflops", 1e300)] {
        let reason = changed(&format!("/targets/0/gpu/{figure}"), value);
        assert!(reason.contains(figure), "{reason}");
    }
}
