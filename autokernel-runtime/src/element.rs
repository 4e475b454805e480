//! Element types as a trait, for buffers.

use std::fmt;

use half::slice::HalfFloatSliceExt as _;

use crate::{AnyView, AnyViewMut, Dtype, MatrixView, MatrixViewMut};

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

    /// The view without its type.
    #[doc(hidden)]
    fn erase(view: MatrixView<'_, Self>) -> AnyView<'_>;

    /// The view without its type.
    #[doc(hidden)]
    fn erase_mut(view: MatrixViewMut<'_, Self>) -> AnyViewMut<'_>;
}

/// What [`Element`] says of a type by its name among the [`Dtype`]s alone.
macro_rules! erasure {
    ($variant:ident) => {
        const DTYPE: Dtype = Dtype::$variant;

        fn erase(view: MatrixView<'_, Self>) -> AnyView<'_> {
            AnyView::$variant(view)
        }

        fn erase_mut(view: MatrixViewMut<'_, Self>) -> AnyViewMut<'_> {
            AnyViewMut::$variant(view)
        }
    };
}

/// [`Element`] for a 16-bit float of `half`.
macro_rules! half_element {
    ($variant:ident: $type:ty) => {
        impl Element for $type {
            erasure!($variant);

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

half_element!(Bf16: half::bf16);
half_element!(F16: half::f16);

impl Element for f32 {
    erasure!(F32);

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
    fn the_size_of_an_element_is_that_of_its_type() {
        fn same<T: Element>() -> bool {
            size_of::<T>() == T::DTYPE.bytes() as usize
        }
        assert!(same::<half::bf16>() && same::<half::f16>() && same::<f32>());
    }
}
