//! A small set of launches for compute-sanitizer:
//! `compute-sanitizer --tool memcheck gpu_sanitize`, and `--tool racecheck` likewise.
//!
//! Both families, both modes of sm90, clusters, every layout; dense, ragged and unaligned matrices. The inputs are
//! integers and the results must be exact here too.

use autokernel::Extents;
use autokernel::matmul::extents;
use gpu_tests::check::Case;
use gpu_tests::compiled::Variants;
use gpu_tests::declared;
use gpu_tests::host::Values;
use gpu_tests::kernels::{Declared, bf16_nn, bf16_nt, f32_out};
use gpu_tests::place::Place;
use gpu_tests::{shapes, skip};
use rand::SeedableRng;
use rand::rngs::StdRng;

fn sanitize(test: &str, kernel: Declared, cases: &[(Extents, bool)]) {
    let Some(device) = skip::gpu(test) else { return };
    let descriptor = kernel.descriptor();
    if let Some(reason) = &descriptor.not_compiled {
        return skip::log(test, reason);
    }
    let variants = Variants::load(&device, descriptor).unwrap();
    let problem = &kernel.problem();
    let mut rng = StdRng::seed_from_u64(7);
    for (seed, &(shape, dense)) in (0..).zip(cases) {
        let place = |rows, columns| {
            if dense { Place::dense(rows, columns) } else { Place::random(&mut rng, rows, columns) }
        };
        let placements = shapes::placements(&shape, problem, place);
        let case = Case { device: &device, problem, epilogue: &kernel.epilogue, shape, placements, seed };
        let launches = kernel.check(&case, Values::Integers, &variants).unwrap_or_else(|report| panic!("{report}"));
        println!("{test}: {shape}, {launches} launches");
    }
}

#[test]
fn sanitize_defaults_row_major() {
    let cases = [(extents(192, 136, 200), true), (extents(131, 67, 93), false)];
    sanitize("gpu_sanitize::sanitize_defaults_row_major", declared!(bf16_nn::identity), &cases);
}

#[test]
fn sanitize_defaults_transposed() {
    let cases = [(extents(136, 192, 200), true), (extents(67, 131, 93), false), (extents(9, 9, 0), true)];
    sanitize("gpu_sanitize::sanitize_defaults_transposed", declared!(bf16_nt::relu), &cases);
}

#[test]
fn sanitize_every_mode_and_cluster_row_major() {
    let cases = [(extents(520, 392, 320), true), (extents(263, 261, 133), false)];
    sanitize("gpu_sanitize::sanitize_every_mode_and_cluster_row_major", declared!(f32_out::f16_nn_relu), &cases);
}

#[test]
fn sanitize_every_mode_and_cluster_transposed() {
    let cases = [(extents(392, 520, 320), true), (extents(261, 263, 133), false)];
    sanitize("gpu_sanitize::sanitize_every_mode_and_cluster_transposed", declared!(f32_out::f16_nt), &cases);
}
