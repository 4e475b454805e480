//! The built-in search on made-up spaces.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

use crate::common::{cube, gpu, recording};
use autokernel_codegen::config::Config;
use autokernel_codegen::matmul::extents;
use autokernel_codegen::problem::Layout;
use autokernel_codegen::schedule::Schedule;
use autokernel_core::Extents;
use rand::SeedableRng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand_pcg::Pcg64;
use rayon::prelude::*;
use tuner::compare::{Arena, Arm, Costs, Standing, courses};
use tuner::constraints::Constraints;
use tuner::evaluate::Measurable;
use tuner::known::Known;
use tuner::outcome::Outcome;
use tuner::replay::{Library, Recording};
use tuner::session::Budget;
use tuner::strategy::Brief;
use tuner::strategy_name::{Builtin, StrategyName};
use tuner::{Target, Trial};

/// Large and small, square and not, with whole and ragged waves.
const CASES: [(Layout, Extents); 7] = [
    (Layout::Nt, extents(1024, 1024, 1024)),
    (Layout::Nt, extents(4096, 4096, 4096)),
    (Layout::Nt, extents(8192, 8192, 8192)),
    (Layout::Nt, extents(4096, 14336, 4096)),
    (Layout::Nn, extents(2048, 2048, 2048)),
    (Layout::Nn, extents(512, 4096, 2048)),
    (Layout::Nn, extents(64, 4096, 4096)),
];

fn trial(recording: &Recording, target: &Target, generation: u32, (schedule, outcome): (Schedule, Outcome)) -> Trial {
    Trial {
        at: String::new(),
        generation,
        number: 0,
        seed: None,
        proposed_by: "".into(),
        why: None,
        target: target.clone().into(),
        schedule,
        environment: recording.environment.clone().into(),
        outcome,
        seconds: 0.0,
    }
}

/// Searches of which a median is taken: an odd number, so that it is one of them.
const SEEDS: u64 = 15;

/// Optimum over the best that `strategy` finds in 60 evaluations: the median of [`SEEDS`] searches.
fn median_reached(strategy: Builtin, recording: &Recording) -> f64 {
    let table = &recording.shapes[0];
    let outcomes: HashMap<Schedule, Outcome> = table.rows.iter().cloned().collect();
    let space: Arc<[_]> = table.rows.iter().map(|(schedule, _)| *schedule).collect();
    let optimum = table.optimum().unwrap().1.median_ms;
    let reached = |seed| optimum / best_of_60(strategy, recording, &outcomes, Arc::clone(&space), seed);
    let mut reached: Vec<f64> = (0..SEEDS).into_par_iter().map(reached).collect();
    reached.sort_by(f64::total_cmp);
    reached[reached.len() / 2]
}

fn best_of_60(
    strategy: Builtin,
    recording: &Recording,
    outcomes: &HashMap<Schedule, Outcome>,
    space: Arc<[Schedule]>,
    seed: u64,
) -> f64 {
    let target = target(recording);
    let mut strategy = strategy.start(&brief(&target, space, seed));
    let (mut best, mut proposed) = (f64::INFINITY, HashSet::new());
    for generation in 1..=5 {
        let proposals = strategy.ask(12).into_iter().map(|proposal| proposal.schedule);
        let tried = |schedule| trial(recording, &target, generation, (schedule, outcomes[&schedule].clone()));
        let trials: Vec<Trial> = proposals.map(tried).collect();
        assert!(trials.iter().all(|trial| proposed.insert(trial.schedule)), "something was proposed twice");
        best = trials.iter().filter_map(Trial::median_ms).fold(best, f64::min);
        strategy.tell(&trials);
    }
    assert_eq!(proposed.len(), 60);
    best
}

fn target(recording: &Recording) -> Target {
    Target { problem: recording.problem.clone(), arch: recording.arch, shape: recording.shapes[0].shape }
}

fn brief(target: &Target, space: Arc<[Schedule]>, seed: u64) -> Brief {
    let default = target.problem.class().default_schedule(target.arch);
    let known = vec![Known { schedule: default, origin: "default".to_owned() }];
    Brief {
        target: target.clone(),
        gpu: gpu(),
        group_sizes: Default::default(),
        space,
        constraints: Constraints::default(),
        measurable: Measurable::Space,
        known,
        history: Vec::new(),
        evaluations: 60,
        generations: 5,
        seed,
    }
}

/// Schedules of a made-up space, so that the time of a test does not grow with the knobs that families gain.
const THOUSANDS: usize = 3000;

/// `recording` with [`THOUSANDS`] of its schedules, the default among them.
fn of_thousands(mut recording: Recording) -> Recording {
    let default = recording.problem.class().default_schedule(recording.arch);
    let rows = &mut recording.shapes[0].rows;
    rows.shuffle(&mut Pcg64::seed_from_u64(0));
    rows.sort_by_key(|(schedule, _)| *schedule != default);
    rows.truncate(THOUSANDS);
    recording
}

/// What the search reaches on spaces that were measured is for them to say. This holds it to what it has to cope with:
/// tiles that differ by chance, ragged waves, thousands of schedules.
#[test]
fn sixty_steps_of_the_built_in_search_find_98_percent_of_the_optimum_at_most_shapes_and_beat_chance_at_all() {
    let mut found = [0; 2];
    for (layout, shape) in CASES {
        let recording = of_thousands(recording("leaky_relu", layout, &[shape]));
        let [random, local, surrogate] = Builtin::ALL.map(|builtin| median_reached(builtin, &recording));
        println!("{layout} {shape}: local {local:.4}, surrogate {surrogate:.4}, random {random:.4}");
        for ((name, reached), found) in [("local", local), ("surrogate", surrogate)].into_iter().zip(&mut found) {
            assert!(reached >= 0.96 && reached > random, "{layout} {shape}: {name} {reached}, random {random}");
            *found += usize::from(reached >= 0.98);
        }
    }
    assert!(found.iter().all(|&found| found + 1 >= CASES.len()), "{found:?} of {}", CASES.len());
}

#[test]
fn a_search_proposes_every_schedule_once_and_then_nothing() {
    let recording = recording("gelu", Layout::Nn, &[cube(512)]);
    let table = &recording.shapes[0];
    let target = target(&recording);
    let space: Arc<[_]> = table.rows.iter().map(|(schedule, _)| *schedule).take(200).collect();
    for builtin in Builtin::ALL {
        let mut strategy = builtin.start(&brief(&target, Arc::clone(&space), 1));
        let mut proposed = HashSet::new();
        loop {
            let proposals = strategy.ask(7);
            if proposals.is_empty() {
                break;
            }
            assert!(proposals.iter().all(|proposal| proposed.insert(proposal.schedule)), "{builtin}: proposed twice");
        }
        assert_eq!(proposed.len(), 200, "{builtin}");
    }
}

#[test]
fn what_an_earlier_run_tried_is_not_proposed_again() {
    let recording = recording("gelu", Layout::Nn, &[cube(512)]);
    let table = &recording.shapes[0];
    let target = target(&recording);
    let space: Arc<[_]> = table.rows.iter().map(|(schedule, _)| *schedule).take(50).collect();
    let told: Vec<Trial> = table.rows.iter().take(20).map(|row| trial(&recording, &target, 1, row.clone())).collect();
    for builtin in Builtin::ALL {
        let mut strategy = builtin.start(&brief(&target, Arc::clone(&space), 1));
        strategy.tell(&told);
        let proposed: HashSet<Schedule> = strategy.ask(50).iter().map(|proposal| proposal.schedule).collect();
        assert_eq!(proposed.len(), 30, "{builtin}");
        assert!(told.iter().all(|trial| !proposed.contains(&trial.schedule)), "{builtin}");
    }
}

/// The spaces that come with the tuner were measured. What the default search reaches on them from nothing but the
/// default schedule is what a fresh machine can be promised.
#[test]
fn the_default_search_finds_98_percent_of_every_recorded_optimum_in_25_evaluations_in_the_median_of_30_seeds() {
    let library = Library::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("spaces")).unwrap();
    let recordings = library.recordings.iter();
    let arenas: Vec<Arena> = recordings.flat_map(|(name, of)| Arena::all(name, of, &Config::default())).collect();
    assert!(!arenas.is_empty());
    let arms = [Arm { name: StrategyName::Builtin(Builtin::DEFAULT), models: None }];
    let costs = Costs { nvcc_s: 0.0, compile_jobs: 1, overhead_s: 0.0 };
    let courses = courses(&arenas, &arms, Budget { evaluations: 25, generations: 5 }, &costs, 30, &|| ()).unwrap();
    for (arena, courses) in arenas.iter().zip(&courses) {
        let standing = Standing::of(arena, "default", &courses[0], 25);
        let reached = standing.reached.last().unwrap().optimum_pct;
        println!("{} {}: {reached:?}", arena.space, arena.target.shape);
        assert!(reached.median >= 98.0, "{} {}: {reached:?}", arena.space, arena.target.shape);
    }
}

#[test]
fn the_median_of_random_draws_is_that_of_many_random_searches() {
    let recording = recording("relu", Layout::Nn, &[cube(1024)]);
    let table = &recording.shapes[0];
    let optimum = table.optimum().unwrap().1.median_ms;
    for draws in [1, 10, 60] {
        let exact = optimum / table.median_of_best_at_random(draws).unwrap();
        let mut rng = Pcg64::seed_from_u64(draws as u64);
        let mut sampled: Vec<f64> = (0..8001)
            .map(|_| {
                let drawn = table.rows.sample(&mut rng, draws).filter_map(|(_, outcome)| outcome.median_ms());
                optimum / drawn.fold(f64::INFINITY, f64::min)
            })
            .collect();
        sampled.sort_by(f64::total_cmp);
        assert!((sampled[4000] - exact).abs() < 0.01, "{draws} draws: {exact}, sampled {}", sampled[4000]);
    }
    assert_eq!(table.median_of_best_at_random(table.rows.len()), Some(optimum));
    assert_eq!(table.median_of_best_at_random(0), None);
}
