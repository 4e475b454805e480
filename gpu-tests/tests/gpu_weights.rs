//! Products of floats and of weights of 8 and 4 bits by the way of a user, on the GPU: `AUTOKERNEL_CASES` problems of each kernel (200).

use gpu_tests::{settings, skip, weights};

#[test]
fn weights_of_few_bits_are_multiplied_exactly_on_a_gpu() {
    let Some(device) = skip::gpu("gpu_weights::weights_of_few_bits_are_multiplied_exactly_on_a_gpu") else { return };
    weights::check(&device, settings::number("AUTOKERNEL_CASES", 200)).unwrap();
    weights::check_smallest(&device).unwrap();
}

/// A few, for compute-sanitizer.
#[test]
fn sanitize_weights_of_few_bits() {
    let Some(device) = skip::gpu("gpu_weights::sanitize_weights_of_few_bits") else { return };
    weights::check(&device, settings::number("AUTOKERNEL_SANITIZED", 4)).unwrap();
}
