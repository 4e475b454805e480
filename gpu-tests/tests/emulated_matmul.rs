//! The declared kernels on emulated GPUs, by the launch path of a GPU: what every machine with nvcc can check.
//!
//! `AUTOKERNEL_EMULATED_ROUNDS` sets how often each kernel runs (1), `AUTOKERNEL_SEED` draws other shapes and orders.

use autokernel::{Arch, Device, EmulatedKernel, Emulation, Extents, Plan, matmul};
use gpu_tests::check::{Case, Launch, check};
use gpu_tests::compiled::Variants;
use gpu_tests::host::Values;
use gpu_tests::kernels::{Declared, catalogue, shipped};
use gpu_tests::place::Place;
use gpu_tests::{settings, shapes, skip};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const ARCHS: [Arch; 2] = [Arch::SM_80, Arch::SM_90A];

/// The declared kernels; none, logged, where the build had no nvcc.
fn compiled(test: &str, kernels: Vec<Declared>) -> Vec<Declared> {
    let missing = kernels.iter().find_map(|kernel| kernel.descriptor().not_compiled.as_ref());
    if let Some(reason) = missing {
        skip::log(test, reason);
        return Vec::new();
    }
    kernels
}

/// Exact values where the epilogue keeps them so.
fn values(kernel: &Declared) -> Values {
    if kernel.is_exact_on_integers() { Values::Integers } else { Values::Uniform }
}

fn run(device: &Device, kernel: &Declared, shape: Extents, rng: &mut StdRng, launches: &[(String, Launch<'_>)]) {
    let problem = &kernel.problem();
    let shape = shapes::with_known(&shape, problem);
    let placements = shapes::placements(&shape, problem, |rows, columns| Place::random(rng, rows, columns));
    let case = Case { device, problem, epilogue: &kernel.epilogue, shape, placements, seed: rng.random() };
    let ran = if launches.is_empty() {
        kernel.check(&case, values(kernel), &Variants::none())
    } else {
        check(&case, values(kernel), launches)
    };
    ran.unwrap_or_else(|report| panic!("{report}"));
}

/// Small enough for an interpreter, with edges that tiles and vectors do not divide.
fn shape(rng: &mut StdRng) -> Extents {
    matmul::extents(rng.random_range(1..=150), rng.random_range(1..=150), rng.random_range(0..=200))
}

#[test]
fn every_declared_kernel_agrees_with_the_reference_on_an_emulated_gpu_of_each_arch() {
    let test = "emulated_matmul::every_declared_kernel_agrees_with_the_reference_on_an_emulated_gpu_of_each_arch";
    let mut rng = StdRng::seed_from_u64(settings::number("AUTOKERNEL_SEED", 31));
    for _ in 0..settings::number("AUTOKERNEL_EMULATED_ROUNDS", 1) {
        for kernel in compiled(test, catalogue()) {
            for arch in ARCHS {
                let emulation = Emulation::new(arch).seed(rng.random_range(0..4));
                let device = Device::emulated_with(emulation).unwrap();
                if kernel.serves(&device) {
                    let shape = shape(&mut rng);
                    run(&device, &kernel, shape, &mut rng, &[]);
                }
            }
        }
    }
}

#[test]
fn every_schedule_that_is_shipped_agrees_with_the_reference_on_an_emulated_gpu() {
    let test = "emulated_matmul::every_schedule_that_is_shipped_agrees_with_the_reference_on_an_emulated_gpu";
    let mut rng = StdRng::seed_from_u64(settings::number("AUTOKERNEL_SEED", 32));
    for kernel in compiled(test, shipped()) {
        let descriptor = kernel.descriptor();
        for variant in &descriptor.variants {
            let emulation = Emulation::new(variant.arch).seed(rng.random_range(0..4));
            let images = variant.image.expect("what was compiled has an image");
            let loaded = EmulatedKernel::load(&emulation, &descriptor.signature, &variant.plan, images.ptx);
            let loaded = loaded.unwrap_or_else(|error| panic!("{error}"));
            let launch: Launch<'_> = Box::new(|_, arguments| loaded.launch(arguments).map(drop));
            let device = Device::emulated_with(emulation).unwrap();
            let shape = shape(&mut rng);
            run(&device, &kernel, shape, &mut rng, &[(format!("{} {}", variant.arch, variant.schedule), launch)]);
        }
    }
}

#[test]
fn an_emulated_gpu_plans_as_the_real_one_would_and_computes_what_it_planned() {
    let test = "emulated_matmul::an_emulated_gpu_plans_as_the_real_one_would_and_computes_what_it_planned";
    for kernel in compiled(test, catalogue()) {
        let hopper = Device::emulated(Arch::SM_90A).unwrap();
        let extents = shapes::with_known(&matmul::extents(512, 512, 512), &kernel.problem());
        let plan = kernel.kernel.plan(&hopper, &extents).unwrap();
        let Plan::Gpu { variant, .. } = plan else { panic!("{plan}") };
        assert_eq!(variant.arch, Arch::SM_90A);
    }
    assert!(Device::emulated("sm_120".parse().unwrap()).unwrap_err().to_string().contains("sm_90a"));
    assert_eq!(Device::emulated(Arch::SM_80).unwrap().to_string(), "an emulated sm_80 GPU");
}
