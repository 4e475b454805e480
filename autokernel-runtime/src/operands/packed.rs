//! Whole numbers of 4 bits: two in a byte, in the order in which kernels unpack them.

use crate::{Dtype, Error, Result};

/// Numbers along K that are packed together.
const UNIT_NUMBERS: usize = 32;
/// Bytes that these take.
const UNIT_BYTES: usize = 16;
/// What a number of 4 bits may be.
const RANGE: std::ops::RangeInclusive<i8> = -8..=7;

/// Two whole numbers of 4 bits with a sign, −8 to 7: half as many elements along K as there are numbers.
///
/// Made by [`pack`]. Which two stand in a byte is the order in which kernels unpack them: of 32 numbers along K, which take 16 bytes, word
/// `(k % 8) / 2` of 32 bits, the least significant byte first, holds number `k` in the four bits from `4 (k / 8) + 16 (k % 2)` on, as a
/// two's complement. What is all zeros holds zeros.
#[allow(non_camel_case_types, reason = "named as f32 and bf16 are")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct i4x2(u8);

impl i4x2 {
    /// The byte that holds both.
    pub const fn to_bits(self) -> u8 {
        self.0
    }

    /// What that byte holds.
    pub const fn from_bits(bits: u8) -> Self {
        Self(bits)
    }

    #[cfg(feature = "emulator")]
    pub(crate) const fn from_le_bytes([bits]: [u8; 1]) -> Self {
        Self(bits)
    }

    #[cfg(feature = "emulator")]
    pub(crate) const fn to_le_bytes(self) -> [u8; 1] {
        [self.0]
    }

    /// The number in the lower four bits, and the one in the upper four.
    pub const fn numbers(self) -> [i8; 2] {
        [(self.0 << 4).cast_signed() >> 4, self.0.cast_signed() >> 4]
    }
}

// SAFETY: it is one byte, without padding, and kernels take it as one.
unsafe impl cudarc::driver::DeviceRepr for i4x2 {}
// SAFETY: every byte holds two numbers.
unsafe impl cudarc::driver::ValidAsZeroBits for i4x2 {}

/// The byte of number `k` of a row, and whether it stands in the upper four bits.
const fn place(k: usize) -> (usize, bool) {
    let within = k % UNIT_NUMBERS;
    let bit = within % 8 / 2 * 32 + within / 8 * 4 + within % 2 * 16;
    (k / UNIT_NUMBERS * UNIT_BYTES + bit / 8, bit % 8 == 4)
}

/// Packs rows of `k` whole numbers of −8 to 7, one after the other, as the second factor of a product holds them: `[n, k]` numbers become
/// `[n, k / 2]` elements.
///
/// ```
/// use autokernel_runtime::{pack, unpack};
///
/// let numbers: Vec<i8> = (0..64).map(|at| at % 16 - 8).collect();
/// let packed = pack(&numbers, 32)?;
/// assert_eq!((packed.len(), unpack(&packed)), (32, numbers));
/// # Ok::<(), autokernel_runtime::Error>(())
/// ```
///
/// # Errors
/// [`Error::Packing`]: `k` is no multiple of 32, the numbers are no whole rows, or one is out of range.
pub fn pack(numbers: &[i8], k: usize) -> Result<Vec<i4x2>> {
    if k == 0 || !k.is_multiple_of(UNIT_NUMBERS) || !numbers.len().is_multiple_of(k) {
        return Err(Error::Packing(format!(
            "{} numbers in rows of {k}; give whole rows of a multiple of {UNIT_NUMBERS}, filled up by zeros",
            numbers.len()
        )));
    }
    if let Some((at, number)) = numbers.iter().enumerate().find(|(_, number)| !RANGE.contains(*number)) {
        return Err(Error::Packing(format!(
            "number {at}, which is {number}; 4 bits hold -8 to 7, so subtract the zero point first"
        )));
    }
    let mut packed = vec![i4x2(0); numbers.len() / 2];
    pack_into(&mut packed, numbers);
    Ok(packed)
}

/// Packs whole units of numbers of 4 bits. `packed` has a byte for two of them.
pub(crate) fn pack_into(packed: &mut [i4x2], numbers: &[i8]) {
    packed.fill(i4x2(0));
    for (at, number) in numbers.iter().enumerate() {
        let (byte, is_upper) = place(at);
        packed[byte].0 |= (number.cast_unsigned() & 0xf) << if is_upper { 4 } else { 0 };
    }
}

/// The numbers that [`pack`] packed, in their order; what is beyond the last 16 bytes is left out.
pub fn unpack(packed: &[i4x2]) -> Vec<i8> {
    let numbers = packed.len() / UNIT_BYTES * UNIT_NUMBERS;
    (0..numbers).map(|k| number(packed, k)).collect()
}

/// Numbers of 4 bits are taken from where a unit of them begins, elements of other types from anywhere.
pub(crate) fn begins_a_unit(dtype: Dtype, element: usize) -> Result<()> {
    if dtype == Dtype::I4x2 && !element.is_multiple_of(UNIT_BYTES) {
        return Err(Error::Packing(format!("element {element} of a row is within a unit of {UNIT_BYTES}")));
    }
    Ok(())
}

/// Number `k` of what `packed` begins with.
pub(crate) fn number(packed: &[i4x2], k: usize) -> i8 {
    let (byte, is_upper) = place(k);
    packed[byte].numbers()[usize::from(is_upper)]
}

/// Weights of `[n, k]` floats as numbers of 4 bits with a scale for each group: the number is the weight over the scale, rounded to
/// nearest, ties to even, and the scale a group's largest magnitude over 7.
///
/// Gives the packed numbers, `[n, k / 2]`, and the scales, `[k / group, n]`, as `(w * scales).t()` takes them in a body. A group of zeros
/// has the scale 0; NaN counts as 0.
///
/// # Errors
/// As [`pack`], `group` does not divide `k`, or a weight is infinite.
pub fn quantise(weights: &[f32], k: usize, group: usize) -> Result<(Vec<i4x2>, Vec<f32>)> {
    let (numbers, scales, _) = quantise_groups(weights, [k, group], Numbers::FOUR_BITS)?;
    Ok((pack(&numbers, k)?, scales))
}

/// The same as numbers of 8 bits: the scale is a group's largest magnitude over 127, and no number is −128.
///
/// Gives the numbers, `[n, k]`, and the scales, `[k / group, n]`, as `(w * scales).t()` takes them in a body; those of groups of whole
/// rows, `group = k`, are the `&Row<f32>` of `dot(x, w.t()) * scale`.
///
/// ```
/// use autokernel_runtime::quantise_i8;
///
/// let (numbers, scales) = quantise_i8(&[1.0, -0.5, 0.0, 0.25], 4, 4)?;
/// assert_eq!((numbers, scales), (vec![127, -64, 0, 32], vec![1.0 / 127.0]));
/// # Ok::<(), autokernel_runtime::Error>(())
/// ```
///
/// # Errors
/// [`Error::Packing`]: there are no whole rows of `k`, `group` does not divide `k`, or a weight is infinite.
pub fn quantise_i8(weights: &[f32], k: usize, group: usize) -> Result<(Vec<i8>, Vec<f32>)> {
    if k == 0 || !weights.len().is_multiple_of(k) {
        return Err(Error::Packing(format!("{} numbers in rows of {k}: give whole rows", weights.len())));
    }
    let (numbers, scales, _) = quantise_groups(weights, [k, group], Numbers::EIGHT_BITS)?;
    Ok((numbers, scales))
}

/// The same with a zero point for each group, which is the number that stands for 0: a group's 16 numbers reach from its least weight to its
/// largest one, or 0 where that lies beyond.
///
/// Gives the packed numbers, `[n, k / 2]`, the scales and the zero points, both `[k / group, n]`, as `((w - zeros) * scales).t()` takes them
/// in a body: the scale is what lies between both ends over 15, the zero point −8 less the least weight over the scale, rounded, and a
/// number the weight over the scale, rounded, and the zero point.
///
/// Checkpoints whose numbers are 0 to 15 are packed less 8, and their zero points are written less 8 too.
///
/// # Errors
/// As [`quantise`].
pub fn quantise_with_zeros(weights: &[f32], k: usize, group: usize) -> Result<(Vec<i4x2>, Vec<f32>, Vec<i8>)> {
    let (numbers, scales, zeros) = quantise_groups(weights, [k, group], Numbers::FOUR_BITS_WITH_ZEROS)?;
    Ok((pack(&numbers, k)?, scales, zeros))
}

/// The numbers that weights become, and whether a group has a zero point.
#[derive(Clone, Copy)]
pub(crate) struct Numbers {
    least: i8,
    most: i8,
    has_zeros: bool,
}

/// A group's scale, and the number that stands for 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Grid {
    pub scale: f32,
    pub zero: i8,
}

impl Numbers {
    /// Of 4 bits, about 0.
    pub const FOUR_BITS: Numbers = Numbers { least: *RANGE.start(), most: *RANGE.end(), has_zeros: false };
    /// Of 4 bits, about a zero point.
    pub const FOUR_BITS_WITH_ZEROS: Numbers = Numbers { has_zeros: true, ..Numbers::FOUR_BITS };
    /// Of 8 bits, as many below 0 as above it.
    pub const EIGHT_BITS: Numbers = Numbers { least: -i8::MAX, most: i8::MAX, has_zeros: false };

    /// Scale and zero point of a group. The scale is infinite where a weight is.
    pub fn grid(self, group: &[f32]) -> Grid {
        let ends =
            group.iter().fold((0f32, 0f32), |(least, largest), weight| (least.min(*weight), largest.max(*weight)));
        let ((least, largest), [first, last]) = (ends, [self.least, self.most].map(f32::from));
        if !self.has_zeros {
            // Without the sign of a zero, as it was met.
            return Grid { scale: (largest.max(-least) / last).abs(), zero: 0 };
        }
        // Before they are subtracted: both may be as large as a number can be.
        let scale = (largest / (last - first) - least / (last - first)).abs();
        let zero = if scale == 0.0 || scale.is_infinite() { 0.0 } else { first - least / scale };
        Grid { scale, zero: zero.round_ties_even().clamp(first, last) as i8 }
    }

    /// The number that stands for a weight of a group.
    pub fn number(self, Grid { scale, zero }: Grid, weight: f32) -> i8 {
        let quotient = weight / scale;
        let steps = if scale == 0.0 || quotient.is_nan() { 0.0 } else { quotient };
        (steps.round_ties_even() + f32::from(zero)).clamp(self.least.into(), self.most.into()) as i8
    }
}

/// The numbers, and of each group the scale and the zero point.
fn quantise_groups(weights: &[f32], [k, group]: [usize; 2], numbers: Numbers) -> Result<(Vec<i8>, Vec<f32>, Vec<i8>)> {
    if k == 0 || group == 0 || !k.is_multiple_of(group) {
        return Err(Error::Packing(format!(
            "rows of {k} in groups of {group}; groups divide rows into whole ones, so choose another size or fill rows up by zeros"
        )));
    }
    let (rows, groups) = (weights.len() / k, k / group);
    let (mut scales, mut zeros) = (vec![0.0; rows * groups], vec![0; rows * groups]);
    let mut quantised = Vec::with_capacity(weights.len());
    for (at, of_group) in weights.chunks(group).enumerate() {
        let grid = numbers.grid(of_group);
        if grid.scale.is_infinite() {
            return Err(Error::Packing(format!(
                "group {at}, of which a weight is infinite, and no scale holds it; make it finite"
            )));
        }
        let place = at % groups * rows + at / groups;
        if place < scales.len() {
            (scales[place], zeros[place]) = (grid.scale, grid.zero);
        }
        quantised.extend(of_group.iter().map(|weight| numbers.number(grid, *weight)));
    }
    Ok((quantised, scales, zeros))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_of_a_unit_has_a_place_of_its_own_and_comes_back_with_its_sign() {
        let mut places: Vec<_> = (0..64).map(place).collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!((places.len(), places[63]), (64, (31, true)));
        let numbers: Vec<i8> = (0..192).map(|at: i16| (at * 7 % 16 - 8) as i8).collect();
        assert_eq!(unpack(&pack(&numbers, 96).unwrap()), numbers);
        assert_eq!(unpack(&[i4x2::default(); 16]), [0; 32]);
    }

    #[test]
    fn neighbours_along_k_are_16_bits_apart_and_pairs_of_them_8_apart_are_nibbles_side_by_side() {
        let mut numbers = [0i8; 32];
        (numbers[2], numbers[3], numbers[10]) = (1, 2, 3);
        let bytes: Vec<u8> = pack(&numbers, 32).unwrap().into_iter().map(i4x2::to_bits).collect();
        assert_eq!(bytes[4..8], [0x31, 0, 0x02, 0]);
        assert!(bytes.iter().enumerate().all(|(at, byte)| (4..8).contains(&at) || *byte == 0));
    }

    #[test]
    fn what_does_not_fit_is_refused_with_its_place() {
        let text = |numbers: &[i8], k| pack(numbers, k).unwrap_err().to_string();
        assert!(text(&[0; 48], 48).contains("48 numbers in rows of 48"));
        assert!(text(&[0; 33], 32).contains("multiple of 32"));
        let mut numbers = [0; 32];
        numbers[5] = 8;
        assert!(text(&numbers, 32).contains("number 5, which is 8"));
        let refused = |weights: &[f32], k, group| quantise(weights, k, group).unwrap_err().to_string();
        let told = refused(&[0.0; 64], 64, 48);
        assert!(told.contains("rows of 64 in groups of 48") && told.contains("choose another size"), "{told}");
        assert!(refused(&[0.0; 64], 0, 32).contains("rows of 0"));
        let told = refused(&[f32::INFINITY; 64], 64, 32);
        assert!(told.contains("infinite") && told.contains("make it finite"), "{told}");
    }

    #[test]
    fn quantised_weights_are_within_half_a_scale_and_zeros_stay_zeros() {
        let weights: Vec<f32> =
            (0..3 * 128).map(|at| ((at * 37 % 101) as f32 - 50.0) * if at < 64 { 0.0 } else { 0.01 }).collect();
        let (packed, scales) = quantise(&weights, 128, 64).unwrap();
        let numbers = unpack(&packed);
        for (at, (weight, number)) in weights.iter().zip(numbers).enumerate() {
            let scale = scales[at % 128 / 64 * 3 + at / 128];
            assert!((weight - f32::from(number) * scale).abs() <= scale * 0.500_01, "{at}");
        }
        assert_eq!(scales[0], 0.0);
    }

    #[test]
    fn weights_of_8_bits_are_within_half_a_scale_of_their_group_and_what_does_not_fit_is_refused() {
        let weights: Vec<f32> = (0..3 * 128).map(|at| ((at * 37 % 101) as f32 - 50.0) * (1 + at / 64) as f32).collect();
        for group in [32, 64, 128] {
            let (numbers, scales) = quantise_i8(&weights, 128, group).unwrap();
            assert_eq!(scales.len(), 3 * 128 / group);
            for (at, (weight, number)) in weights.iter().zip(&numbers).enumerate() {
                let scale = scales[at % 128 / group * 3 + at / 128];
                assert!((weight - f32::from(*number) * scale).abs() <= scale * 0.500_01, "{at}");
                assert!(*number != i8::MIN);
            }
        }
        let refused = |weights: &[f32], k, group| quantise_i8(weights, k, group).unwrap_err().to_string();
        assert!(
            refused(&[0.0; 5], 4, 4).contains("5 numbers in rows of 4")
                && refused(&[0.0; 4], 0, 4).contains("rows of 0")
        );
        assert!(refused(&[0.0; 6], 6, 4).contains("rows of 6 in groups of 4"));
        assert!(refused(&[f32::NEG_INFINITY; 4], 4, 4).contains("infinite"));
        assert_eq!(quantise_i8(&[f32::NAN, 0.0], 2, 2).unwrap(), (vec![0, 0], vec![0.0]));
    }

    #[test]
    fn zero_points_let_16_numbers_reach_from_the_least_weight_to_the_largest_and_zeros_stay_zeros() {
        // A group of zeros, one on both sides, one of positive weights, and one of negative ones.
        let ends: [(f32, f32); 4] = [(0.0, 0.0), (-1.0, 3.0), (2.0, 5.0), (-7.0, -6.5)];
        let weight = |at: usize| {
            let (least, largest) = ends[at / 32 % 4];
            if at % 32 == 7 { 0.0 } else { least + (largest - least) * (at % 32) as f32 / 31.0 }
        };
        let weights: Vec<f32> = (0..2 * 128).map(weight).collect();
        let (packed, scales, zeros) = quantise_with_zeros(&weights, 128, 32).unwrap();
        assert_eq!((scales.len(), zeros.len()), (8, 8));
        for (at, (weight, number)) in weights.iter().zip(unpack(&packed)).enumerate() {
            let group = at % 128 / 32 * 2 + at / 128;
            let back = (f32::from(number) - f32::from(zeros[group])) * scales[group];
            assert!((weight - back).abs() <= scales[group] * 0.500_01, "{at}: {weight}, {back}");
            assert!(*weight != 0.0 || back == 0.0, "{at}");
        }
        assert_eq!(zeros, [0, 0, -4, -4, -8, -8, 7, 7]);
        assert!((scales[2] - 4.0 / 15.0).abs() < 1e-6 && (scales[4] - 5.0 / 15.0).abs() < 1e-6);
        assert!(quantise_with_zeros(&[f32::NEG_INFINITY; 64], 64, 32).unwrap_err().to_string().contains("infinite"));
        let huge: Vec<f32> = (0..32).map(|at| if at % 2 == 0 { f32::MAX } else { f32::MIN }).collect();
        assert!(quantise_with_zeros(&huge, 32, 32).unwrap().1[0].is_finite());
    }
}
