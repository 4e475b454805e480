//! Routing on a GPU, of a few tokens and of many. `AUTOKERNEL_CASES` sets how many numbers of tokens each routing gets,
//! `AUTOKERNEL_SEED` draws others.

use batch_tests::routes::catalogue;
use gpu_tests::{settings, skip};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

fn check(test: &str, cases: u64, most: f64) {
    let Some(device) = skip::gpu(test) else { return };
    let mut rng = StdRng::seed_from_u64(settings::number("AUTOKERNEL_SEED", 5));
    for routing in catalogue() {
        for _ in 0..settings::number("AUTOKERNEL_CASES", cases) {
            let (tokens, seed) = (rng.random_range(0.0..most.ln()).exp() as usize, rng.random());
            (routing.check)(&device, tokens, seed)
                .unwrap_or_else(|reason| panic!("{}, {tokens} tokens, seed {seed}: {reason}", routing.name));
        }
    }
}

#[test]
fn every_routing_is_computed_on_the_gpu() {
    check("gpu_routes::every_routing_is_computed_on_the_gpu", 40, 20_000.0);
}

/// For compute-sanitizer: few tokens.
#[test]
fn sanitize_every_routing() {
    check("gpu_routes::sanitize_every_routing", 4, 300.0);
}
