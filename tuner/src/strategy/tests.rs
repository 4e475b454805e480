//! What holds for every strategy, whatever it is told.

use std::collections::HashSet;

use autokernel_codegen::arch::Arch;
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::matmul::extents;
use autokernel_codegen::problem::{Layout, Problem};
use autokernel_codegen::schedule::space::Space;
use autokernel_codegen::schedule::{Family, Schedule};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::{Brief, Proposal, prior};
use crate::environment::Environment;
use crate::evaluate::Measurable;
use crate::gpu_facts::GpuFacts;
use crate::outcome::{Failure, Measurement, Outcome};
use crate::strategy_name::Builtin;
use crate::target::Target;
use crate::trial::Trial;

/// A brief of 240 schedules without a record.
pub fn brief() -> Brief {
    let problem = Problem::matmul(Dtype::Bf16, Layout::Nn, "leaky_relu".parse().unwrap());
    let space = Space::new(Family::Sm90, &problem.class(), Arch::SM_90A);
    let every = space.schedules().len() / 240;
    let gpu = GpuFacts {
        name: "made up".to_owned(),
        sm_count: 132,
        shared_bytes_per_block: 232_448,
        shared_bytes_per_sm: 233_472,
        registers_per_sm: 65_536,
        l2_bytes: 60 << 20,
        memory_gb_per_s: 4800.0,
        matrix_tflops: 989.0,
    };
    Brief {
        target: Target { problem, arch: Arch::SM_90A, shape: extents(1024, 1024, 1024) },
        gpu,
        group_sizes: Default::default(),
        space: space.schedules().iter().step_by(every).take(240).copied().collect(),
        measurable: Measurable::Space,
        constraints: crate::constraints::Constraints::default(),
        known: Vec::new(),
        history: Vec::new(),
        evaluations: 60,
        generations: 5,
        seed: 3,
    }
}

/// Nowhere in particular.
pub fn environment() -> Environment {
    Environment {
        gpu: String::new(),
        driver: String::new(),
        nvcc: String::new(),
        kernels: String::new(),
        objective: Default::default(),
        group_sizes: Default::default(),
        regime: Default::default(),
    }
}

/// A trial of `schedule` at the brief's target.
pub fn trial(brief: &Brief, schedule: Schedule, outcome: Outcome) -> Trial {
    Trial {
        at: String::new(),
        generation: 1,
        number: 1,
        seed: None,
        proposed_by: "somebody".into(),
        why: None,
        target: brief.target.clone().into(),
        schedule,
        environment: environment().into(),
        outcome,
        seconds: 0.0,
    }
}

fn measured(ms: f64) -> Outcome {
    Outcome::Measured(Measurement::new(ms, 0.1, 10))
}

fn failed() -> Outcome {
    Outcome::Failed(Failure::Crash { detail: "made up".to_owned() })
}

/// Asks and tells in batches of random sizes, with random outcomes; the schedules in the order of the proposals.
fn converse(brief: &Brief, builtin: Builtin, chance: u64) -> Vec<Schedule> {
    let (mut strategy, mut rng) = (builtin.start(brief), Pcg64::seed_from_u64(chance));
    let mut proposed = Vec::new();
    for _ in 0..12 {
        let n = rng.random_range(1..20);
        let proposals = strategy.ask(n);
        assert!(proposals.len() <= n, "{builtin}: {} proposals of {n}", proposals.len());
        let schedules: Vec<Schedule> = proposals.iter().map(|proposal| proposal.schedule).collect();
        let outcome = |rng: &mut Pcg64| {
            if rng.random_bool(0.3) { failed() } else { measured(rng.random_range(0.01..1.0)) }
        };
        let trials: Vec<Trial> = schedules.iter().map(|&schedule| trial(brief, schedule, outcome(&mut rng))).collect();
        strategy.tell(&trials);
        proposed.extend(schedules);
    }
    proposed
}

#[test]
fn whatever_it_is_told_no_strategy_repeats_itself_or_leaves_the_space() {
    let brief = brief();
    let space: HashSet<&Schedule> = brief.space.iter().collect();
    for builtin in Builtin::ALL {
        for chance in 0..8 {
            let proposed = converse(&brief, builtin, chance);
            let distinct: HashSet<&Schedule> = proposed.iter().collect();
            assert_eq!(distinct.len(), proposed.len(), "{builtin}, conversation {chance}");
            assert!(distinct.is_subset(&space), "{builtin}, conversation {chance}");
        }
    }
}

#[test]
fn equal_briefs_and_equal_news_lead_to_equal_proposals() {
    let brief = brief();
    let other = Brief { seed: 4, ..brief.clone() };
    for builtin in Builtin::ALL {
        assert_eq!(converse(&brief, builtin, 1), converse(&brief, builtin, 1), "{builtin}");
        assert_ne!(converse(&brief, builtin, 1), converse(&other, builtin, 1), "{builtin}");
    }
}

#[test]
fn a_surrogate_that_is_told_in_another_order_proposes_the_same() {
    let brief = brief();
    let after = |backwards: bool| {
        let mut strategy = Builtin::Surrogate.start(&brief);
        let mut told: Vec<Trial> = strategy
            .ask(12)
            .into_iter()
            .enumerate()
            .map(|(index, proposal)| trial(&brief, proposal.schedule, measured(1.0 + index as f64)))
            .collect();
        if backwards {
            told.reverse();
        }
        strategy.tell(&told);
        strategy.ask(12)
    };
    assert_eq!(after(false), after(true));
}

#[test]
fn a_run_in_which_all_fails_is_proposed_to_until_nothing_is_left() {
    let brief = brief();
    for builtin in Builtin::ALL {
        let mut strategy = builtin.start(&brief);
        let mut count = 0;
        loop {
            let proposals = strategy.ask(17);
            if proposals.is_empty() {
                break;
            }
            count += proposals.len();
            let trials: Vec<Trial> =
                proposals.iter().map(|proposal| trial(&brief, proposal.schedule, failed())).collect();
            strategy.tell(&trials);
        }
        assert_eq!(count, brief.space.len(), "{builtin}");
    }
}

#[test]
fn every_knob_that_a_space_varies_is_proposed_in_all_its_values_and_journalled_by_its_name() {
    let brief = brief();
    for family in brief.target.problem.class().families(brief.target.arch) {
        let space = Space::new(*family, &brief.target.problem.class(), brief.target.arch);
        let brief = Brief { space: space.images().collect(), ..brief.clone() };
        let proposed = Builtin::Random.start(&brief).ask(brief.space.len());
        for (at, knob) in family.knobs().iter().enumerate() {
            let values = |schedules: &mut dyn Iterator<Item = Schedule>| -> HashSet<u16> {
                schedules.map(|schedule| schedule.codes()[at]).collect()
            };
            let tried = values(&mut proposed.iter().map(|proposal| proposal.schedule));
            assert_eq!(tried, values(&mut brief.space.iter().copied()), "{}", knob.name);
            for value in tried {
                let proposal = proposed.iter().find(|proposal| proposal.schedule.codes()[at] == value).unwrap();
                let line = serde_json::to_value(trial(&brief, proposal.schedule, measured(1.0))).unwrap();
                assert_eq!(line["schedule"][knob.name], knob.to_json(value));
                assert_eq!(serde_json::from_value::<Trial>(line).unwrap().schedule, proposal.schedule);
            }
        }
    }
}

/// Failures that no rule foresees: everything with eight stages and more.
#[test]
fn the_surrogate_keeps_away_from_what_fails() {
    let brief = brief();
    let fails = |schedule: &Schedule| schedule.value("stages") >= Some(8);
    let of_seed = |builtin: Builtin, seed: u64| {
        let mut strategy = builtin.start(&Brief { seed, ..brief.clone() });
        let mut last = Vec::new();
        for _ in 0..5 {
            last = strategy.ask(12).into_iter().map(|proposal| proposal.schedule).collect();
            let outcome = |schedule: &Schedule| if fails(schedule) { failed() } else { measured(1.0) };
            let trials: Vec<Trial> = last.iter().map(|schedule| trial(&brief, *schedule, outcome(schedule))).collect();
            strategy.tell(&trials);
        }
        last.iter().filter(|schedule| fails(schedule)).count()
    };
    let in_all = |builtin: Builtin| (0..6).map(|seed| of_seed(builtin, seed)).sum::<usize>();
    let (surrogate, random) = (in_all(Builtin::Surrogate), in_all(Builtin::Random));
    assert!(surrogate < random, "the last generations fail {surrogate} times, and {random} times at random");
}

#[test]
fn the_fastest_of_earlier_searches_come_first_and_the_others_are_left_out() {
    let mut brief = brief();
    let rows = brief.space.iter().take(30).enumerate();
    brief.history =
        rows.map(|(index, &schedule)| trial(&brief, schedule, measured(5.0 - 0.1 * index as f64))).collect();
    for builtin in [Builtin::Local, Builtin::Surrogate] {
        let mut strategy = builtin.start(&brief);
        let proposed: Vec<Schedule> = strategy.ask(240).into_iter().map(|proposal| proposal.schedule).collect();
        assert_eq!(proposed[..3], [brief.space[29], brief.space[28], brief.space[27]], "{builtin}");
        assert_eq!(proposed.len(), 240 - 27, "{builtin}");
    }
}

#[test]
fn what_neighbouring_shapes_showed_of_a_knob_moves_the_prior_and_random_failures_do_not() {
    let mut brief = brief();
    let arithmetic = prior::logs(&brief);
    let neighbour = Target { shape: extents(2048, 2048, 2048), ..brief.target.clone() };
    let slow = |schedule: &Schedule| schedule.value("consumers") == Some(1);
    let told = |schedule: &Schedule| {
        let expected = prior::Prior::new(&neighbour, &brief.gpu).predicted_ms(schedule);
        let outcome = measured(if slow(schedule) { 2.0 * expected } else { expected });
        Trial { target: neighbour.clone().into(), ..trial(&brief, *schedule, outcome) }
    };
    let mut history: Vec<Trial> = brief.space.iter().step_by(3).map(told).collect();
    history.push(Trial { outcome: failed(), ..history[0].clone() });
    brief.history = history;
    let corrected = prior::logs(&brief);
    let moved = |index: usize| corrected[index] - arithmetic[index];
    let (of_slow, of_others): (Vec<usize>, Vec<usize>) =
        (0..brief.space.len()).partition(|&index| slow(&brief.space[index]));
    let mean = |indices: &[usize]| indices.iter().map(|&index| moved(index)).sum::<f64>() / indices.len() as f64;
    assert!(mean(&of_slow) - mean(&of_others) > 0.2, "{} {}", mean(&of_slow), mean(&of_others));
}

#[test]
fn times_that_are_all_longer_by_one_factor_as_under_load_lead_to_the_same_schedules() {
    let brief = brief();
    let search = |factor: f64| {
        let (mut strategy, mut proposed) = (Builtin::Surrogate.start(&brief), Vec::new());
        for _ in 0..4 {
            let batch: Vec<Schedule> = strategy.ask(12).into_iter().map(|proposal| proposal.schedule).collect();
            let ms = |schedule: &Schedule| prior::Prior::new(&brief.target, &brief.gpu).predicted_ms(schedule);
            let told = |schedule: &Schedule| trial(&brief, *schedule, measured(factor * ms(schedule)));
            strategy.tell(&batch.iter().map(told).collect::<Vec<_>>());
            proposed.extend(batch);
        }
        proposed
    };
    let (one, other): (HashSet<Schedule>, HashSet<Schedule>) =
        (search(1.0).into_iter().collect(), search(1.3).into_iter().collect());
    // Rounding decides between equals.
    assert!(one.intersection(&other).count() >= 44, "{} of 48", one.intersection(&other).count());
}

/// A schedule that keeps the rules and is not in the space of the brief, though each of its knobs' values is.
fn outside(brief: &Brief) -> Vec<Schedule> {
    let space: HashSet<&Schedule> = brief.space.iter().collect();
    let whole = Space::new(Family::Sm90, &brief.target.problem.class(), Arch::SM_90A);
    whole.schedules().iter().filter(|schedule| !space.contains(schedule)).copied().step_by(401).take(6).collect()
}

#[test]
fn what_others_measured_outside_the_space_is_learned_from_and_never_proposed() {
    let brief = Brief { measurable: Measurable::Legal, ..brief() };
    let outside = outside(&brief);
    let closed = Brief { measurable: Measurable::Space, ..brief.clone() };
    for builtin in [Builtin::Local, Builtin::Surrogate] {
        let after = |brief: &Brief, elsewhere: &[Schedule]| {
            let mut strategy = builtin.start(brief);
            let first: Vec<Proposal> = strategy.ask(20);
            let own = first.iter().map(|proposal| trial(brief, proposal.schedule, measured(1.0)));
            let others = elsewhere.iter().map(|schedule| trial(brief, *schedule, measured(0.1)));
            strategy.tell(&own.chain(others).collect::<Vec<_>>());
            let rest: Vec<Schedule> = strategy.ask(240).into_iter().map(|proposal| proposal.schedule).collect();
            assert_eq!(first.len() + rest.len(), brief.space.len(), "{builtin}: the whole space and no more");
            assert!(rest.iter().all(|schedule| brief.space.contains(schedule)), "{builtin}");
            rest
        };
        let alone = after(&brief, &[]);
        assert_eq!(alone, after(&closed, &[]), "{builtin}: nothing was told from outside");
        assert_eq!(alone, after(&closed, &outside), "{builtin}: what a replay cannot hold is passed over");
        assert_ne!(alone, after(&brief, &outside), "{builtin}: a fast schedule leads to others");
    }
}

#[test]
fn a_surrogate_told_from_outside_the_space_in_another_order_proposes_the_same() {
    let brief = Brief { measurable: Measurable::Legal, ..brief() };
    let after = |backwards: bool| {
        let mut told: Vec<Trial> = outside(&brief)
            .into_iter()
            .enumerate()
            .map(|(index, schedule)| trial(&brief, schedule, measured(1.0 + index as f64)))
            .collect();
        if backwards {
            told.reverse();
        }
        let mut strategy = Builtin::Surrogate.start(&brief);
        told.chunks(2).for_each(|told| strategy.tell(told));
        strategy.ask(40)
    };
    assert_eq!(after(false), after(true));
}

#[test]
fn a_brief_takes_in_what_can_be_measured_and_nothing_that_breaks_a_rule() {
    let brief = Brief { measurable: Measurable::Legal, ..brief() };
    let legal = outside(&brief)[0];
    let broken = legal.with("stages", 99).unwrap();
    let sm80 = Space::new(Family::Sm80, &brief.target.problem.class(), Arch::SM_90A).schedules()[0];
    let others = [legal, broken, sm80, legal, brief.space[0]];
    let widened = brief.clone().widened(others);
    assert_eq!(widened.space[..brief.space.len()], brief.space[..], "indices stay");
    assert_eq!(widened.space[brief.space.len()..], [legal]);
    let replay = Brief { measurable: Measurable::Space, ..brief.clone() };
    assert_eq!(replay.widened(others).space, brief.space);
}
