//! Element types, as a value (for descriptors) and as a trait (for buffers).

use std::fmt;

use half::slice::HalfFloatSliceExt as _;

/// The type of a matrix element, as a run-time value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dtype {
    /// bfloat16: 8 exponent bits, 7 mantissa bits.
    Bf16,
    /// IEEE binary16: 5 exponent bits, 10 mantissa bits.
    F16,
    /// IEEE binary32.
    F32,
}

impl Dtype {
    /// Bytes of one element.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Bf16 | Self::F16 => 2,
            Self::F32 => 4,
        }
    }

    /// The name used in Rust, in JSON and in CUDA alike: `bf16`, `f16` or `f32`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bf16 => "bf16",
            Self::F16 => "f16",
            Self::F32 => "f32",
        }
    }
}

impl fmt::Display for Dtype {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

mod sealed {
    /// Keeps [`super::Element`] to the types whose layout the kernels know.
    pub trait Sealed {}
    impl Sealed for half::bf16 {}
    impl Sealed for half::f16 {}
    impl Sealed for f32 {}
}

/// A matrix element: [`half::bf16`], [`half::f16`] or [`f32`].
///
/// Sealed: the kernels read the bits, so no further type can be added from outside.
pub trait Element:
    sealed::Sealed
    + cudarc::driver::DeviceRepr
    + cudarc::driver::ValidAsZeroBits
    + Copy
    + Default
    + PartialEq
    + fmt::Debug
    + Send
    + Sync
    + 'static
{
    /// This type as a value.
    const DTYPE: Dtype;

    /// Widens to `f32`; exact for every element type.
    fn to_f32(self) -> f32;

    /// Rounds to the nearest value of this type, ties to even.
    fn from_f32(value: f32) -> Self;

    /// Widens `source` into `target`; both must have the same length, or the shorter one counts.
    #[doc(hidden)]
    fn widen(source: &[Self], target: &mut [f32]);
}

impl Element for half::bf16 {
    const DTYPE: Dtype = Dtype::Bf16;

    fn to_f32(self) -> f32 {
        self.to_f32()
    }

    fn from_f32(value: f32) -> Self {
        Self::from_f32(value)
    }

    fn widen(source: &[Self], target: &mut [f32]) {
        let len = source.len().min(target.len());
        source[..len].convert_to_f32_slice(&mut target[..len]);
    }
}

impl Element for half::f16 {
    const DTYPE: Dtype = Dtype::F16;

    fn to_f32(self) -> f32 {
        self.to_f32()
    }

    fn from_f32(value: f32) -> Self {
        Self::from_f32(value)
    }

    fn widen(source: &[Self], target: &mut [f32]) {
        let len = source.len().min(target.len());
        source[..len].convert_to_f32_slice(&mut target[..len]);
    }
}

impl Element for f32 {
    const DTYPE: Dtype = Dtype::F32;

    fn to_f32(self) -> f32 {
        self
    }

    fn from_f32(value: f32) -> Self {
        value
    }

    fn widen(source: &[Self], target: &mut [f32]) {
        let len = source.len().min(target.len());
        target[..len].copy_from_slice(&source[..len]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_goes_to_the_nearest_even_value() {
        // 1 + 2^-8 lies halfway between two bf16 values; the even one is 1.
        assert_eq!(<half::bf16 as Element>::from_f32(1.0 + 1.0 / 256.0).to_f32(), 1.0);
        assert_eq!(<half::f16 as Element>::from_f32(1.0 + 1.0 / 2048.0).to_f32(), 1.0);
        assert_eq!(<half::f16 as Element>::from_f32(65536.0).to_f32(), f32::INFINITY);
    }

    #[test]
    fn widening_is_exact_for_every_finite_half() {
        let all: Vec<half::f16> = (0..=u16::MAX).map(half::f16::from_bits).collect();
        let mut wide = vec![0.0; all.len()];
        half::f16::widen(&all, &mut wide);
        for (narrow, wide) in all.iter().zip(&wide) {
            assert!(narrow.to_f64() == f64::from(*wide) || narrow.is_nan() && wide.is_nan());
        }
    }

    #[test]
    fn names_and_sizes_agree_with_the_kernels() {
        for (dtype, name, bytes) in [(Dtype::Bf16, "bf16", 2), (Dtype::F16, "f16", 2), (Dtype::F32, "f32", 4)] {
            assert_eq!((dtype.to_string().as_str(), dtype.bytes()), (name, bytes));
        }
    }
}
