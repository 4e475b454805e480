//! The declared kernels on the CPU backend, which every machine has.

use autokernel::{Datasheet, Device, Extents, Plan, Reason, Target, matmul, plan_for};
use gpu_tests::check::Case;
use gpu_tests::compiled::Variants;
use gpu_tests::host::Values;
use gpu_tests::kernels::{Declared, catalogue, f32_out};
use gpu_tests::place::Place;
use gpu_tests::{shapes, skip};
use rand::SeedableRng;
use rand::rngs::StdRng;

fn check_on_cpu(kernel: Declared, shape: Extents, values: Values, rng: &mut StdRng, seed: u64) {
    let problem = &kernel.problem();
    let shape = shapes::with_known(&shape, problem);
    let placements = shapes::placements(&shape, problem, |rows, columns| Place::random(rng, rows, columns));
    let device = Device::cpu();
    let case = Case { device: &device, problem, epilogue: &kernel.epilogue, shape, placements, seed };
    kernel.check(&case, values, &Variants::none()).unwrap_or_else(|report| panic!("{report}"));
}

#[test]
fn every_kernel_agrees_with_the_reference_on_random_shapes() {
    let mut rng = StdRng::seed_from_u64(11);
    for (seed, kernel) in (0..).zip(catalogue()) {
        let shape = shapes::random(&mut rng, 200);
        check_on_cpu(kernel, shape, Values::Uniform, &mut rng, seed);
    }
}

#[test]
fn small_integers_are_exact_at_every_edge() {
    let mut rng = StdRng::seed_from_u64(12);
    let exact: Vec<_> = catalogue().into_iter().filter(Declared::is_exact_on_integers).collect();
    let edges = shapes::EDGES.iter().filter(|(m, n, k)| m * n * (k + 1) < 1 << 22);
    for (seed, (kernel, &(m, n, k))) in (0..).zip(exact.iter().cycle().zip(edges)) {
        check_on_cpu(*kernel, matmul::extents(m, n, k), Values::Integers, &mut rng, seed);
    }
}

#[test]
fn the_shape_that_was_tuned_gets_its_schedule_on_a_hopper_gpu() {
    let kernel = f32_out::f16_nn_relu::KERNEL.descriptor().unwrap();
    if let Some(reason) = &kernel.not_compiled {
        return skip::log("cpu_matmul::the_shape_that_was_tuned_gets_its_schedule_on_a_hopper_gpu", reason);
    }
    let hopper = Target::of_sheet(Datasheet::find("h200").unwrap());
    let tuned = kernel.variants.iter().filter(|variant| variant.arch.to_string() == "sm_90a");
    let tuned: Vec<_> = tuned.filter_map(|variant| Some((variant, variant.tuned.as_ref()?))).collect();
    assert!(tuned.len() > 1);
    for (variant, tuned) in tuned {
        let plan = plan_for(kernel, hopper.clone(), &tuned.extents).unwrap();
        let Plan::Gpu { variant: chosen, image, reason, .. } = plan else { panic!("{plan}") };
        assert_eq!((&chosen.plan, reason, image.kind()), (&variant.plan, Reason::Exact, "cubin"));
    }
}
