//! Times under load on a chip whose clock falls: by arithmetic, so that the right order is known.

use autokernel_codegen::schedule::Schedule;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use super::*;
use crate::gpu::rounds::{self, Plan, Ran};
use crate::strategy::tests::{brief, trial};
use crate::strategy_name::Builtin;
use crate::trial::Trial;

/// The highest clock, in MHz, and the power limit, in watts.
const BOOST: f64 = 1980.0;
const LIMIT: f64 = 700.0;
const IDLE: f64 = 120.0;
/// How long the power controller looks back, in milliseconds.
const LOOKS_BACK_MS: f64 = 50.0;

/// A kernel: what it computes takes so many milliseconds at the highest clock, what it waits for memory so many at any.
#[derive(Clone, Copy, Debug)]
struct Kernel {
    computes_ms: f64,
    waits_ms: f64,
}

impl Kernel {
    fn ms_at(&self, clock: f64) -> f64 {
        self.computes_ms * BOOST / clock + self.waits_ms
    }
}

/// A chip that lowers its clock until the power of the last while is within the limit.
struct Chip {
    limit: f64,
    clock: f64,
    power: f64,
    noise: Pcg64,
}

impl Chip {
    fn new(seed: u64) -> Self {
        Chip { limit: LIMIT, clock: BOOST, power: IDLE, noise: Pcg64::seed_from_u64(seed) }
    }

    /// Lets time pass at that power.
    fn pass(&mut self, ms: f64, watts: f64) {
        let share = 1.0 - (-ms / LOOKS_BACK_MS).exp();
        self.power += share * (watts - self.power);
        self.clock = (self.clock * (1.0 + 0.5 * share * (self.limit / self.power - 1.0))).clamp(600.0, BOOST);
    }

    fn rest(&mut self) {
        (0..100).for_each(|_| self.pass(5.0, IDLE));
    }

    /// The median time of a launch in a batch of at least so long, with a noise of 0.3 %.
    fn batch(&mut self, kernel: &Kernel, batch_ms: f64) -> Ran {
        let (mut elapsed_ms, mut times) = (0.0, Vec::new());
        while elapsed_ms < batch_ms || times.len() < 3 {
            let ms = kernel.ms_at(self.clock);
            // The busier the matrix units, the more power; as the third power of the clock.
            let busy = kernel.computes_ms * BOOST / self.clock / ms;
            self.pass(ms, IDLE + 1500.0 * busy * (self.clock / BOOST).powi(3));
            elapsed_ms += ms;
            times.push(ms);
        }
        let noise = 1.0 + 0.003 * (self.noise.random_range(-1.0..1.0) + self.noise.random_range(-1.0..1.0));
        Ran { median_ms: median(&times).unwrap() * noise, elapsed_ms, sm_clock_mhz: Some(self.clock) }
    }

    fn after_a_rest(&mut self, kernel: &Kernel) -> f64 {
        self.rest();
        self.batch(kernel, 5.0).median_ms
    }

    /// As a worker: rounds of all, the reference twice.
    fn replies(&mut self, reference: &Kernel, kernels: &[Kernel], rounds: u32) -> (Vec<FinalReply>, bool) {
        self.rest();
        let all: Vec<Kernel> = [*reference; REFERENCES].into_iter().chain(kernels.iter().copied()).collect();
        let plan = Plan { rounds, warm_up_ms: WARM_UP_MS.0, settle_ms: WARM_UP_MS.1, seed: 7 };
        let held = rounds::hold::<()>(all.len(), &plan, &mut |at| Ok(self.batch(&all[at], ROUND_MS))).unwrap();
        let timed = |ran: &Vec<Ran>| FinalReply::Timed {
            round_ms: ran.iter().map(|ran| ran.median_ms).collect(),
            sm_clock_mhz: None,
            energy_mj: None,
            chosen: None,
        };
        (held.batches.iter().map(timed).collect(), held.settled)
    }

    /// The clock that rounds of these settle at.
    fn loaded_clock(&mut self, kernels: &[Kernel]) -> f64 {
        let clock_of = |round: usize| {
            self.batch(&kernels[round % kernels.len()], ROUND_MS);
            self.clock
        };
        let clocks: Vec<f64> = (0..800).map(clock_of).collect();
        clocks[400..].iter().sum::<f64>() / 400.0
    }
}

/// One that computes more and waits less than another: faster after a rest, and slower under load.
const RESTED: Kernel = Kernel { computes_ms: 0.200, waits_ms: 0.000 };
const LOADED: Kernel = Kernel { computes_ms: 0.150, waits_ms: 0.053 };

fn reference_schedule() -> Schedule {
    brief().space[0]
}

fn times(chip: &mut Chip, standard: &Standard, kernels: &[Kernel]) -> Vec<Measurement> {
    times_by(&RESTED, chip, standard, kernels)
}

fn times_by(reference: &Kernel, chip: &mut Chip, standard: &Standard, kernels: &[Kernel]) -> Vec<Measurement> {
    let (replies, settled) = chip.replies(reference, kernels, ROUNDS);
    let told = standard.told(reference_schedule(), replies, settled).unwrap();
    told.into_iter().map(Result::unwrap).collect()
}

#[test]
fn what_is_first_after_a_rest_and_last_under_load_is_told_by_the_load() {
    let mut chip = Chip::new(1);
    assert!(chip.after_a_rest(&RESTED) < chip.after_a_rest(&LOADED));
    let clock = chip.loaded_clock(&[RESTED, LOADED]);
    assert!(clock < 0.85 * BOOST, "{clock}: the chip must meet its limit");
    let told = times(&mut chip, &Standard::default(), &[RESTED, LOADED]);
    let expected = LOADED.ms_at(clock) / RESTED.ms_at(clock);
    assert!(expected < 0.97, "{expected}");
    let ratio = told[1].median_ms / told[0].median_ms;
    assert!((ratio / expected - 1.0).abs() < 0.005, "{ratio}, not {expected}");
    assert!((told[0].load.unwrap().ratio - 1.0).abs() < 0.003, "the reference against itself: {told:?}");
    assert!(told.iter().all(|time| time.load.unwrap().settled));
}

#[test]
fn batches_of_gpus_that_hold_other_clocks_are_on_one_scale() {
    let standard = Standard::default();
    let of_limit = |limit: f64| {
        let mut chip = Chip { limit, ..Chip::new(2) };
        let clock = chip.loaded_clock(&[RESTED, LOADED]);
        (clock, times(&mut chip, &standard, &[LOADED, RESTED, LOADED]))
    };
    let ((fast_clock, first), (slow_clock, second)) = (of_limit(700.0), of_limit(640.0));
    assert!(slow_clock < 0.97 * fast_clock, "{slow_clock} and {fast_clock}: the same launches take longer");
    for (first, second) in first.iter().zip(&second) {
        assert!((second.median_ms / first.median_ms - 1.0).abs() < 0.01, "{first:?} and {second:?}");
    }
}

#[test]
fn a_reference_that_mostly_waits_lets_times_wander_with_the_clock_and_one_like_the_candidates_does_not() {
    let slow = Kernel { computes_ms: 0.06, waits_ms: 0.2 };
    let wander = |reference: &Kernel| {
        let standard = Standard::default();
        let of_limit = |limit: f64| {
            times_by(reference, &mut Chip { limit, ..Chip::new(6) }, &standard, &[LOADED, RESTED, RESTED])[1].median_ms
        };
        let (first, second) = (of_limit(700.0), of_limit(600.0));
        (second / first - 1.0).abs()
    };
    assert!(wander(&slow) > 0.03, "{}", wander(&slow));
    assert!(wander(&RESTED) < 0.005, "{}", wander(&RESTED));
}

#[test]
fn the_reference_is_what_arithmetic_expects_to_be_fastest_in_the_defaults_order_of_tiles_and_the_same_each_time() {
    let brief = brief();
    let target = Target { shape: autokernel_codegen::matmul::extents(900, 5120, 5120), ..brief.target.clone() };
    let standard = Standard::new(&target, &brief.gpu);
    let default = target.problem.class().default_schedule(target.arch);
    assert_eq!(standard.wanted.last(), Some(&default), "where the first does not compile");
    let [expected, _] = standard.wanted[..] else { panic!("{:?}", standard.wanted) };
    let ms = |schedule: &Schedule| {
        let class = target.problem.class();
        let forecast = class.forecast(schedule, None, brief.gpu.machine(class.multiplies()));
        forecast.unwrap().predicted_ms(&target.shape)
    };
    assert!(ms(&expected) < 0.9 * ms(&default), "{expected}");
    assert_eq!(expected.value("raster_group"), default.value("raster_group"));
    assert_eq!(Standard::new(&target, &brief.gpu).wanted, standard.wanted);
}

/// What the load makes of the schedules of a space: those with few stages compute, those with many wait.
fn kernel(schedule: &Schedule, at: usize) -> Kernel {
    let stages = f64::from(schedule.value("stages").unwrap_or(4).min(8)) / 8.0;
    let quality = 1.0 + 0.002 * (at % 17) as f64;
    Kernel { computes_ms: quality * (0.2 - 0.06 * stages), waits_ms: quality * 0.068 * stages }
}

#[test]
fn a_search_under_load_holds_the_best_of_a_long_final_and_one_after_rests_does_not() {
    let brief = brief();
    let space: Vec<Kernel> = brief.space.iter().enumerate().map(|(at, schedule)| kernel(schedule, at)).collect();
    let of = |schedule: &Schedule| space[brief.space.iter().position(|known| known == schedule).unwrap()];
    let search = |under_load: bool| {
        let (mut chip, standard, mut strategy) = (Chip::new(3), Standard::default(), Builtin::Surrogate.start(&brief));
        let mut tried: Vec<(f64, Schedule)> = Vec::new();
        for _ in 0..5 {
            let batch: Vec<Schedule> = strategy.ask(12).into_iter().map(|proposal| proposal.schedule).collect();
            let kernels: Vec<Kernel> = batch.iter().map(of).collect();
            let measured: Vec<Measurement> = if under_load {
                times(&mut chip, &standard, &kernels)
            } else {
                kernels.iter().map(|kernel| Measurement::new(chip.after_a_rest(kernel), 0.1, 10)).collect()
            };
            let trials: Vec<Trial> = batch
                .iter()
                .zip(&measured)
                .map(|(&schedule, &time)| trial(&brief, schedule, crate::outcome::Outcome::Measured(time)))
                .collect();
            strategy.tell(&trials);
            tried.extend(measured.iter().zip(&batch).map(|(time, &schedule)| (time.cost(), schedule)));
        }
        tried.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        tried
    };
    let clock = Chip::new(4).loaded_clock(&space);
    let under_load = |schedule: &Schedule| of(schedule).ms_at(clock);
    let best = |tried: &[(f64, Schedule)]| {
        tried.iter().map(|(_, schedule)| under_load(schedule)).fold(f64::INFINITY, f64::min)
    };
    let first_8 = |tried: &[(f64, Schedule)]| best(&tried[..8]) / best(tried) - 1.0;
    let (loaded, rested) = (search(true), search(false));
    assert_eq!((loaded.len(), rested.len()), (60, 60));
    assert!(first_8(&loaded) < 0.005, "{}", first_8(&loaded));
    assert!(first_8(&rested) > 0.01, "{}", first_8(&rested));
    assert!(best(&loaded[..8]) < 0.99 * best(&rested[..8]), "what a final of eight promotes is faster in use");
}

#[test]
fn the_pace_of_a_round_is_in_nobodys_level_however_many_meet_and_whoever_is_slower() {
    let mut random = Pcg64::seed_from_u64(5);
    for _ in 0..200 {
        let count = random.random_range(2..16);
        let own: Vec<f64> = (0..count).map(|_| random.random_range(0.1..3.0)).collect();
        let paces: Vec<f64> = (0..9).map(|_| random.random_range(0.7..1.4)).collect();
        let rounds: Vec<Vec<f64>> = own.iter().map(|ms| paces.iter().map(|pace| ms * pace).collect()).collect();
        let levels: Vec<Level> = levels(&rounds).into_iter().map(Option::unwrap).collect();
        for (level, ms) in levels.iter().zip(&own) {
            let ratio = level.ms / levels[0].ms;
            assert!((ratio / (ms / own[0]) - 1.0).abs() < 1e-9, "{levels:?} of {own:?}");
            assert!(level.spread_pct < 1e-6);
        }
    }
}

#[test]
fn who_has_no_rounds_has_no_level_and_a_reference_without_any_ends_it_with_a_remedy() {
    assert_eq!(levels(&[vec![], vec![2.0, 2.0]])[0], None);
    let timed = |round_ms| FinalReply::Timed { round_ms, sm_clock_mhz: None, energy_mj: None, chosen: None };
    let failed = || FinalReply::Failed { failure: Failure::WrongResult { detail: "4 of 9".to_owned() } };
    let standard = Standard::default();
    let told = standard.told(reference_schedule(), vec![timed(vec![1.0; 3]), failed(), timed(vec![1.0; 3])], true);
    let error = told.unwrap_err().to_string();
    assert!(error.contains("4 of 9") && error.contains("--regime rest"), "{error}");
    let replies = vec![timed(vec![1.0; 3]), timed(vec![1.0; 3]), failed(), timed(vec![])];
    let told = standard.told(reference_schedule(), replies, true).unwrap();
    assert!(matches!(told[..], [Err(Failure::WrongResult { .. }), Err(Failure::Crash { .. })]), "{told:?}");
}
