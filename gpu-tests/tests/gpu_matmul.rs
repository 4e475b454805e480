//! Every declared kernel, and every compiled variant of it, on random and edge shapes.
//!
//! `AUTOKERNEL_CASES` sets the number of random shapes (240), `AUTOKERNEL_SEED` draws others.

use autokernel::{Device, Extents, matmul};
use gpu_tests::check::Case;
use gpu_tests::compiled::Variants;
use gpu_tests::host::Values;
use gpu_tests::kernels::{Declared, catalogue, shipped};
use gpu_tests::place::Place;
use gpu_tests::{settings, shapes, skip};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// A declared kernel with its variants loaded.
struct Loaded {
    kernel: Declared,
    variants: Variants,
}

/// What ran, for the last line of a test.
#[derive(Default)]
struct Tally {
    cases: usize,
    launches: usize,
    reports: Vec<String>,
}

/// The declared kernels that `wanted` selects; `None`, logged, without a GPU or without images.
fn load(test: &str, wanted: impl Fn(&Declared) -> bool) -> Option<(Device, Vec<Loaded>)> {
    load_all(test, catalogue().into_iter().filter(wanted))
}

fn load_all(test: &str, kernels: impl Iterator<Item = Declared>) -> Option<(Device, Vec<Loaded>)> {
    let device = skip::gpu(test)?;
    let load = |kernel: Declared| {
        let descriptor = kernel.descriptor();
        let variants =
            Variants::load(&device, descriptor).unwrap_or_else(|error| panic!("{}: {error}", descriptor.name));
        Loaded { kernel, variants }
    };
    let loaded: Vec<Loaded> = kernels.map(load).collect();
    if let Some(reason) = loaded.iter().find_map(|loaded| loaded.kernel.descriptor().not_compiled.as_ref()) {
        skip::log(test, reason);
        return None;
    }
    Some((device, loaded))
}

impl Tally {
    fn run(&mut self, device: &Device, loaded: &Loaded, shape: Extents, values: Values, rng: &mut StdRng) {
        let problem = &loaded.kernel.problem();
        let shape = shapes::with_known(&shape, problem);
        let place = |rows, columns| Place::random(rng, rows, columns);
        let placements = shapes::placements(&shape, problem, place);
        let seed = rng.random();
        let case = Case { device, problem, epilogue: &loaded.kernel.epilogue, shape, placements, seed };
        self.cases += 1;
        match loaded.kernel.check(&case, values, &loaded.variants) {
            Ok(launches) => self.launches += launches,
            Err(report) => self.reports.push(report),
        }
    }

    /// Panics with the first reports if any case failed.
    fn finish(self, test: &str) {
        let Tally { cases, launches, reports } = self;
        println!("{test}: {cases} shapes, {launches} launches, {} failures", reports.len());
        let shown = reports.iter().take(8).cloned().collect::<Vec<_>>().join("\n\n");
        assert!(reports.is_empty(), "{} of {cases} cases failed:\n{shown}", reports.len());
    }
}

fn seed() -> u64 {
    settings::number("AUTOKERNEL_SEED", 2026)
}

#[test]
fn random_shapes_agree_with_the_fp64_reference() {
    let test = "gpu_matmul::random_shapes_agree_with_the_fp64_reference";
    let Some((device, kernels)) = load(test, |_| true) else { return };
    let cases = settings::number("AUTOKERNEL_CASES", 240) as usize;
    let mut rng = StdRng::seed_from_u64(seed());
    let mut tally = Tally::default();
    for loaded in kernels.iter().cycle().take(cases) {
        let shape = shapes::random(&mut rng, 3000);
        tally.run(&device, loaded, shape, Values::Uniform, &mut rng);
    }
    tally.finish(test);
}

/// Of each kernel what a launch takes, which no other test has alone: images, heights of tiles, splits of K and copies as the model chooses.
#[test]
fn what_a_launch_chooses_agrees_with_the_fp64_reference() {
    let test = "gpu_matmul::what_a_launch_chooses_agrees_with_the_fp64_reference";
    let Some(device) = skip::gpu(test) else { return };
    let kernels: Vec<Loaded> =
        catalogue().into_iter().map(|kernel| Loaded { kernel, variants: Variants::none() }).collect();
    if let Some(reason) = kernels.iter().find_map(|loaded| loaded.kernel.descriptor().not_compiled.as_ref()) {
        return skip::log(test, reason);
    }
    let cases = settings::number("AUTOKERNEL_CASES", 240) as usize;
    let mut rng = StdRng::seed_from_u64(seed() + 3);
    let mut tally = Tally::default();
    for (at, loaded) in kernels.iter().cycle().take(cases).enumerate() {
        let is_exact = at / kernels.len() % 2 == 1 && loaded.kernel.is_exact_on_integers();
        let values = if is_exact { Values::Integers } else { Values::Uniform };
        let shape = shapes::random(&mut rng, 1200);
        tally.run(&device, loaded, shape, values, &mut rng);
    }
    tally.finish(test);
}

#[test]
fn shipped_kernels_agree_with_the_fp64_reference_in_every_tuned_schedule() {
    let test = "gpu_matmul::shipped_kernels_agree_with_the_fp64_reference_in_every_tuned_schedule";
    let Some((device, kernels)) = load_all(test, shipped().into_iter()) else { return };
    let mut rng = StdRng::seed_from_u64(seed() + 2);
    let mut tally = Tally::default();
    for loaded in kernels.iter().cycle().take(8 * kernels.len()) {
        let shape = shapes::random(&mut rng, 2000);
        tally.run(&device, loaded, shape, Values::Uniform, &mut rng);
    }
    tally.finish(test);
}

#[test]
fn small_integers_are_exact_on_random_shapes() {
    let test = "gpu_matmul::small_integers_are_exact_on_random_shapes";
    let Some((device, kernels)) = load(test, Declared::is_exact_on_integers) else { return };
    let mut rng = StdRng::seed_from_u64(!seed());
    let mut tally = Tally::default();
    for loaded in kernels.iter().cycle().take(120) {
        let shape = shapes::random(&mut rng, 2000);
        tally.run(&device, loaded, shape, Values::Integers, &mut rng);
    }
    tally.finish(test);
}

#[test]
fn small_integers_are_exact_at_the_edges_of_tiles() {
    let test = "gpu_matmul::small_integers_are_exact_at_the_edges_of_tiles";
    let Some((device, kernels)) = load(test, Declared::is_exact_on_integers) else { return };
    let mut rng = StdRng::seed_from_u64(seed().rotate_left(32));
    let mut tally = Tally::default();
    for (at, loaded) in kernels.iter().enumerate() {
        for &(m, n, k) in shapes::EDGES.iter().skip(at % 2).step_by(2) {
            tally.run(&device, loaded, matmul::extents(m, n, k), Values::Integers, &mut rng);
        }
    }
    tally.finish(test);
}

#[test]
fn an_empty_sum_gives_the_epilogue_of_zero() {
    let test = "gpu_matmul::an_empty_sum_gives_the_epilogue_of_zero";
    let Some((device, kernels)) = load(test, |kernel| kernel.problem().known_k.is_none()) else { return };
    let mut rng = StdRng::seed_from_u64(seed() + 1);
    let mut tally = Tally::default();
    for loaded in &kernels {
        tally.run(&device, loaded, matmul::extents(131, 77, 0), Values::Uniform, &mut rng);
    }
    tally.finish(test);
}

#[test]
fn both_families_run_on_a_hopper_gpu() {
    let test = "gpu_matmul::both_families_run_on_a_hopper_gpu";
    let Some(device) = skip::gpu(test) else { return };
    let gpu = device.info().unwrap();
    if gpu.compute_capability != autokernel::ComputeCapability::new(9, 0) {
        return skip::log(test, &format!("{} has compute capability {}", gpu.name, gpu.compute_capability));
    }
    let served_by_both = |kernel: &Declared| kernel.is_exact_on_integers() && kernel.problem().input.bytes() == 2;
    let Some((_, kernels)) = load(test, served_by_both) else { return };
    for loaded in kernels {
        // Only the sm90 family's kernels wait for the one before them.
        let waiting: Vec<bool> = loaded.variants.plans().map(|plan| plan.kernels[0].overlaps_previous).collect();
        assert!(waiting.contains(&false) && waiting.contains(&true), "{waiting:?}");
    }
}
