//! Products with bodies on a GPU, by the way of a user, wherever their operands lie.
//!
//! `AUTOKERNEL_CASES` sets how many shapes each kernel gets (24), `AUTOKERNEL_SEED` draws others.

use autokernel::{Argument, Device, matmul};
use gpu_tests::bodies::declared::catalogue;
use gpu_tests::bodies::{check_declared, check_launch};
use gpu_tests::host::Values;
use gpu_tests::place::Place;
use gpu_tests::{shapes, skip};
use rand::SeedableRng;
use rand::rngs::StdRng;

/// Every declared kernel at one shape.
fn check_at(device: &Device, (m, n, k): (u32, u32, u32), values: Values, seed: u64) {
    for kernel in catalogue() {
        let problem = kernel.problem();
        let shape = shapes::with_known(&matmul::extents(m, n, k), &problem);
        let mut places = StdRng::seed_from_u64(seed);
        let place = |rows, columns| Place::random(&mut places, rows, columns);
        let launch = |arguments: &mut [Argument<'_>]| kernel.kernel.launch(device, arguments);
        check_launch(device, &problem, (shape, values, seed), place, launch)
            .unwrap_or_else(|report| panic!("{}: {report}", kernel.name));
    }
}

#[test]
fn every_declared_body_is_computed_on_the_gpu() {
    let Some(device) = skip::gpu("gpu_declared_matmul::every_declared_body_is_computed_on_the_gpu") else { return };
    check_declared(&device, 24, 900);
}

#[test]
fn bodies_are_computed_at_the_edges_of_tiles_and_of_an_empty_sum() {
    let test = "gpu_declared_matmul::bodies_are_computed_at_the_edges_of_tiles_and_of_an_empty_sum";
    let Some(device) = skip::gpu(test) else { return };
    for (seed, &shape) in (0..).zip(shapes::EDGES.iter().filter(|(m, n, k)| m * n * (k + 1) < 1 << 26)) {
        check_at(&device, shape, Values::Integers, seed);
    }
}

#[test]
fn nan_and_infinity_go_where_the_body_sends_them() {
    let Some(device) = skip::gpu("gpu_declared_matmul::nan_and_infinity_go_where_the_body_sends_them") else { return };
    for seed in 0..6 {
        check_at(&device, (131, 136, 72), Values::Special, seed);
    }
}
