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
    impl Sealed for float8::F8E4M3 {}
    impl Sealed for float8::F8E5M2 {}
    impl Sealed for i8 {}
    impl Sealed for crate::i4x2 {}
    impl Sealed for i32 {}
}

/// A number as memory holds it: [`half::bf16`], [`half::f16`], [`f32`], [`float8::F8E4M3`], [`float8::F8E5M2`],
/// [`i8`] or [`i4x2`](crate::i4x2), which holds two, which are each an [`Element`](crate::Element) of operands, or [`i32`], which an [`Index`](crate::Index) holds.
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

    /// Widens to `f32`; exact for every element type, and for whole numbers up to 2²⁴.
    fn to_f32(self) -> f32;

    /// Rounds to the nearest value of this type, ties to even, or of `i32` towards zero. Where that is beyond the largest, 16-bit types give infinity and
    /// 8-bit types the largest, as a conversion by CUDA does; a whole number is 0 for NaN.
    fn from_f32(value: f32) -> Self;

    /// Widens `source` into `target`; both must have the same length, or the shorter one counts.
    #[doc(hidden)]
    fn widen(source: &[Self], target: &mut [f32]);

    /// Rounds `source` into `target`; both must have the same length, or the shorter one counts.
    #[doc(hidden)]
    fn narrow(source: &[f32], target: &mut [Self]) {
        source.iter().zip(target).for_each(|(wide, narrow)| *narrow = Self::from_f32(*wide));
    }
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

            fn narrow(source: &[f32], target: &mut [Self]) {
                let len = source.len().min(target.len());
                target[..len].convert_from_f32_slice(&source[..len]);
            }
        }
    };
}

half_number!(Bf16: half::bf16);
half_number!(F16: half::f16);

/// [`Number`] for an 8-bit float of `float8`.
macro_rules! float8_number {
    ($variant:ident: $type:ty) => {
        impl Number for $type {
            const DTYPE: Dtype = Dtype::$variant;

            fn to_f32(self) -> f32 {
                <$type>::to_f32(&self)
            }

            fn from_f32(value: f32) -> Self {
                <$type>::from_f32(value)
            }

            fn widen(source: &[Self], target: &mut [f32]) {
                source.iter().zip(target).for_each(|(narrow, wide)| *wide = narrow.to_f32());
            }
        }
    };
}

float8_number!(E4m3: float8::F8E4M3);
float8_number!(E5m2: float8::F8E5M2);

impl Number for i8 {
    const DTYPE: Dtype = Dtype::I8;

    fn to_f32(self) -> f32 {
        self.into()
    }

    fn from_f32(value: f32) -> Self {
        value.round_ties_even() as i8
    }

    fn widen(source: &[Self], target: &mut [f32]) {
        source.iter().zip(target).for_each(|(narrow, wide)| *wide = f32::from(*narrow));
    }
}

/// Of two numbers the one in the lower bits; where both are meant, [`unpack`](crate::unpack).
impl Number for crate::i4x2 {
    const DTYPE: Dtype = Dtype::I4x2;

    fn to_f32(self) -> f32 {
        self.numbers()[0].into()
    }

    fn from_f32(value: f32) -> Self {
        Self::from_bits((value.round_ties_even().clamp(-8.0, 7.0) as i8).cast_unsigned() & 0xf)
    }

    fn widen(source: &[Self], target: &mut [f32]) {
        source.iter().zip(target).for_each(|(narrow, wide)| *wide = narrow.to_f32());
    }
}

impl Number for i32 {
    const DTYPE: Dtype = Dtype::I32;

    fn to_f32(self) -> f32 {
        self as f32
    }

    fn from_f32(value: f32) -> Self {
        value as i32
    }

    fn widen(source: &[Self], target: &mut [f32]) {
        source.iter().zip(target).for_each(|(narrow, wide)| *wide = narrow.to_f32());
    }
}

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

    /// The finite value of an 8-bit float of so many mantissa bits, by its definition.
    fn defined(bits: u8, mantissa_bits: i32, bias: i32) -> f32 {
        let (exponent, mantissa) =
            (i32::from(bits & 0x7f) >> mantissa_bits, i32::from(bits) & ((1 << mantissa_bits) - 1));
        let fraction = mantissa as f32 / 2f32.powi(mantissa_bits);
        let magnitude =
            if exponent == 0 { fraction * 2f32.powi(1 - bias) } else { (1.0 + fraction) * 2f32.powi(exponent - bias) };
        if bits < 0x80 { magnitude } else { -magnitude }
    }

    /// Each finite value is what it is defined to be and comes back, and what lies between two neighbours goes to the nearer one,
    /// from the middle to the even one.
    fn rounds_as_defined<T: Number>(largest: u8, value: impl Fn(u8) -> f32, of_bits: impl Fn(u8) -> T) {
        for bits in (0..=largest).chain(0x80..=0x80 + largest) {
            assert_eq!((of_bits(bits).to_f32(), T::from_f32(value(bits))), (value(bits), of_bits(bits)), "{bits:#x}");
        }
        for bits in 0..largest {
            let (low, high) = (value(bits), value(bits + 1));
            let middle = low + (high - low) / 2.0;
            let even = if bits % 2 == 0 { low } else { high };
            for (between, expected) in [(middle.next_down(), low), (middle, even), (middle.next_up(), high)] {
                assert_eq!(T::from_f32(between).to_f32(), expected, "{between} after {low}");
                assert_eq!(T::from_f32(-between).to_f32(), -expected, "{between} after {low}");
            }
        }
        for beyond in [2.0 * value(largest), f32::MAX, f32::INFINITY] {
            assert_eq!(T::from_f32(beyond), of_bits(largest), "{beyond}");
        }
        assert!(T::from_f32(f32::NAN).to_f32().is_nan());
    }

    #[test]
    fn floats_of_8_bits_are_what_their_standard_defines_and_round_to_the_nearest_even_one_or_the_largest() {
        rounds_as_defined(0x7e, |bits| defined(bits, 3, 7), float8::F8E4M3::from_bits);
        rounds_as_defined(0x7b, |bits| defined(bits, 2, 15), float8::F8E5M2::from_bits);
        assert!(float8::F8E4M3::from_bits(0x7f).to_f32().is_nan() && float8::F8E4M3::from_bits(0xff).to_f32().is_nan());
        assert_eq!(Number::to_f32(float8::F8E5M2::from_bits(0xfc)), f32::NEG_INFINITY);
    }

    #[test]
    fn whole_numbers_of_8_bits_round_to_the_nearest_even_one_or_the_last() {
        for (value, expected) in
            [(0.5, 0), (1.5, 2), (-2.5, -2), (126.6, 127), (1e9, 127), (-128.5, -128), (-1e9, -128)]
        {
            assert_eq!(<i8 as Number>::from_f32(value), expected, "{value}");
        }
        assert_eq!(<i8 as Number>::from_f32(f32::NAN), 0);
    }

    #[test]
    fn the_size_of_an_element_is_that_of_its_type() {
        fn same<T: Number>() -> bool {
            size_of::<T>() == T::DTYPE.bytes() as usize
        }
        assert!(same::<half::bf16>() && same::<half::f16>() && same::<f32>());
        assert!(same::<float8::F8E4M3>() && same::<float8::F8E5M2>() && same::<i8>());
    }
}
