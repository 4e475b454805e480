//! Products that make the scales of their 8-bit outputs by the way of a user, on the GPU.

use autokernel::Device;
use gpu_tests::{made_scales, settings, skip};

/// A Hopper; none, logged, where there is another GPU or none.
fn hopper(test: &str) -> Option<Device> {
    let device = skip::gpu(test)?;
    if device.info().unwrap().compute_capability.major != 9 {
        skip::log(test, "scaled blocks have images for Hopper alone");
        return None;
    }
    Some(device)
}

#[test]
fn scales_are_made_and_taken_by_the_next_product_on_a_gpu() {
    let Some(device) = hopper("gpu_made_scales::scales_are_made_and_taken_by_the_next_product_on_a_gpu") else {
        return;
    };
    made_scales::check(&device, settings::number("AUTOKERNEL_CASES", 200)).unwrap();
}

/// A few, for compute-sanitizer.
#[test]
fn sanitize_made_scales() {
    let Some(device) = hopper("gpu_made_scales::sanitize_made_scales") else { return };
    made_scales::check(&device, 4).unwrap();
}
