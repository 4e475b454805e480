//! Products of 8-bit floats whose blocks have scales by the way of a user, on the GPU.

use autokernel::Device;
use gpu_tests::{block_scales, settings, skip};

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
fn scaled_blocks_are_multiplied_exactly_on_a_gpu() {
    let Some(device) = hopper("gpu_block_scales::scaled_blocks_are_multiplied_exactly_on_a_gpu") else { return };
    block_scales::check(&device, settings::number("AUTOKERNEL_CASES", 200)).unwrap();
    block_scales::check_from_16_bits(&device, [300, 520, 1024], 1).unwrap();
}

/// A few, for compute-sanitizer.
#[test]
fn sanitize_scaled_blocks() {
    let Some(device) = hopper("gpu_block_scales::sanitize_scaled_blocks") else { return };
    block_scales::check(&device, 4).unwrap();
}
