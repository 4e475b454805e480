//! Tensors to compute with, and how far two may be apart.

use candle_core::{DType, Device, Shape, Tensor};

/// Numbers between −1 and 1 that look random, the same for the same seed.
pub fn random(shape: impl Into<Shape>, dtype: DType, seed: u64) -> Tensor {
    let shape = shape.into();
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    let values: Vec<f32> = (0..shape.elem_count()).map(|_| next()).collect();
    Tensor::from_vec(values, shape, &Device::Cpu).unwrap().to_dtype(dtype).unwrap()
}

/// The same in f32.
pub fn wide(tensor: &Tensor) -> Tensor {
    tensor.to_dtype(DType::F32).unwrap()
}

/// Panics where two tensors differ by more than roundings to the type of the first one can make, of values and of what sums to them.
pub fn assert_close(ours: &Tensor, expected: &Tensor) {
    assert_near(ours, expected, 2.0);
}

/// The same, where so many units of the type are allowed.
pub fn assert_near(ours: &Tensor, expected: &Tensor, units: f32) {
    assert_eq!(ours.dims(), expected.dims());
    let unit = match ours.dtype() {
        DType::BF16 => 2f32.powi(-8),
        DType::F16 => 2f32.powi(-11),
        _ => 2f32.powi(-18),
    };
    let values = |tensor: &Tensor| wide(tensor).flatten_all().unwrap().to_vec1::<f32>().unwrap();
    let (got, expected) = (values(ours), values(expected));
    let scale = expected.iter().fold(1e-3f32, |most, value| most.max(value.abs()));
    for (at, (got, expected)) in got.iter().zip(&expected).enumerate() {
        let allowed = units * unit * (expected.abs() + 0.25 * scale);
        assert!((got - expected).abs() <= allowed, "element {at}: {got} in place of {expected} ± {allowed}");
    }
}
