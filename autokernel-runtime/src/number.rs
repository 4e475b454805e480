//! What buffers hold.

use std::fmt;

use half::slice::HalfFloatSliceExt as _;

use crate::Dtype;

mod sealed {
    /// Keeps [`super::Number`] to the types whose layout the kernels know.
    pub trait Sealed {}
    impl Sealed for half::bf16 {}
    impl Sealed for half::f16 {}
    impl Sealed for f32 {}
}

/// A number as memory holds it: [`half::bf16`], [`half::f16`] or [`f32`]. [`Element`](crate::Element) is the same, of operands.
///
/// Sealed: the kernels read the bits, so no further type can be added from outside.
pub trait Number:
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

/// [`Number`] for a 16-bit float of `half`.
macro_rules! half_number {
    ($variant:ident: $type:ty) => {
        impl Number for $type {
            const DTYPE: Dtype = Dtype::$variant;

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
    };
}

half_number!(Bf16: half::bf16);
half_number!(F16: half::f16);

impl Number for f32 {
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
        assert_eq!(<half::bf16 as Number>::from_f32(1.0 + 1.0 / 256.0).to_f32(), 1.0);
        assert_eq!(<half::f16 as Number>::from_f32(1.0 + 1.0 / 2048.0).to_f32(), 1.0);
        assert_eq!(<half::f16 as Number>::from_f32(65536.0).to_f32(), f32::INFINITY);
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
    fn the_size_of_an_element_is_that_of_its_type() {
        fn same<T: Number>() -> bool {
            size_of::<T>() == T::DTYPE.bytes() as usize
        }
        assert!(same::<half::bf16>() && same::<half::f16>() && same::<f32>());
    }
}
