//! The built-in search on made-up spaces.

mod common;

use std::sync::Arc;

use autokernel_codegen::problem::Layout;
use autokernel_codegen::shape::Shape;
use common::{cube, gpu, recording};
use tuner::environment::timestamp;
use tuner::replay::{RecordedShape, Recording};
use tuner::strategy::{Brief, Builtin};
use tuner::{Target, Trial};

fn shapes() -> Vec<Shape> {
    vec![
        cube(1024),
        cube(2048),
        cube(4096),
        cube(8192),
        Shape { m: 512, n: 4096, k: 2048 },
        Shape { m: 4096, n: 14336, k: 4096 },
        Shape { m: 64, n: 4096, k: 4096 },
    ]
}

/// Optimum over the best that `strategy` finds in 60 evaluations.
fn reached(strategy: Builtin, recording: &Recording, table: &RecordedShape, seed: u64) -> f64 {
    let target = Target { problem: recording.problem.clone(), arch: recording.arch, shape: table.shape };
    let outcomes: std::collections::HashMap<_, _> = table.rows.iter().cloned().collect();
    let space: Arc<[_]> = table.rows.iter().map(|(schedule, _)| *schedule).collect();
    let brief =
        Brief { target: target.clone(), gpu: gpu(), space, known: vec![], evaluations: 60, generations: 5, seed };
    let mut strategy = strategy.start(&brief);
    let mut best = f64::INFINITY;
    let mut proposed = std::collections::HashSet::new();
    for generation in 1..=5 {
        let trials: Vec<Trial> = strategy
            .ask(12)
            .into_iter()
            .map(|proposal| {
                let schedule = proposal.schedule;
                assert!(proposed.insert(schedule), "proposed twice: {schedule}");
                Trial {
                    at: timestamp(),
                    generation,
                    number: 0,
                    proposed_by: String::new(),
                    why: None,
                    target: target.clone(),
                    schedule,
                    environment: recording.environment.clone(),
                    outcome: outcomes[&schedule].clone(),
                    seconds: 0.0,
                }
            })
            .collect();
        best = trials.iter().filter_map(Trial::median_ms).fold(best, f64::min);
        strategy.tell(&trials);
    }
    table.optimum().unwrap().1.median_ms / best
}

fn median_of_30_seeds(strategy: Builtin, recording: &Recording, table: &RecordedShape) -> f64 {
    let mut reached: Vec<f64> = (0..30).map(|seed| reached(strategy, recording, table, seed)).collect();
    reached.sort_by(f64::total_cmp);
    reached[15]
}

#[test]
fn sixty_steps_of_the_built_in_search_find_98_percent_of_the_optimum() {
    let mut bad = false;
    for layout in [Layout::Nt, Layout::Nn] {
        let recording = recording("leaky_relu", layout, &shapes());
        for table in &recording.shapes {
            let local = median_of_30_seeds(Builtin::Local, &recording, table);
            let random = median_of_30_seeds(Builtin::Random, &recording, table);
            println!("{layout} {}: local {local:.4}, random {random:.4}, {} schedules", table.shape, table.rows.len());
            bad |= local < 0.98 || local <= random;
        }
    }
    assert!(!bad);
}
