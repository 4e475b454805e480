//! What matrices are filled with, and how they travel: a poisoned, guarded buffer on the host or on a GPU.

use autokernel::cudarc::driver::CudaSlice;
use autokernel::{Device, Dtype, Element, Error, MatrixView, MatrixViewMut, Result, bf16, e4m3, e5m2, f16};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::place::Place;

/// An element type of the tests.
pub trait Sample: Element {
    /// A NaN that no computation makes: what lies around matrices, and in the output before a launch.
    const POISON: Self;
    /// Half a unit in the last place, relative to the value: 2⁻ᵖ at a precision of p bits.
    const UNIT_ROUNDOFF: f64;
    /// Half the distance of the smallest values, where the relative bound no longer holds.
    const SMALLEST_ROUNDING: f64;

    /// The bits, so that NaNs can be told apart.
    fn bits(self) -> u32;
}

impl Sample for bf16 {
    const POISON: Self = bf16::from_bits(0x7fe5);
    const UNIT_ROUNDOFF: f64 = 1.0 / 256.0;
    const SMALLEST_ROUNDING: f64 = f32::MIN_POSITIVE as f64 / 256.0;

    fn bits(self) -> u32 {
        self.to_bits().into()
    }
}

impl Sample for f16 {
    const POISON: Self = f16::from_bits(0x7fe5);
    const UNIT_ROUNDOFF: f64 = 1.0 / 2048.0;
    const SMALLEST_ROUNDING: f64 = 1.0 / (1 << 25) as f64;

    fn bits(self) -> u32 {
        self.to_bits().into()
    }
}

impl Sample for e4m3 {
    const POISON: Self = e4m3::from_bits(0x7f);
    const UNIT_ROUNDOFF: f64 = 1.0 / 16.0;
    const SMALLEST_ROUNDING: f64 = 1.0 / (1 << 10) as f64;

    fn bits(self) -> u32 {
        self.to_bits().into()
    }
}

impl Sample for e5m2 {
    const POISON: Self = e5m2::from_bits(0x7e);
    const UNIT_ROUNDOFF: f64 = 1.0 / 8.0;
    const SMALLEST_ROUNDING: f64 = 1.0 / (1 << 17) as f64;

    fn bits(self) -> u32 {
        self.to_bits().into()
    }
}

impl Sample for i8 {
    const POISON: Self = -77;
    const UNIT_ROUNDOFF: f64 = 0.0;
    const SMALLEST_ROUNDING: f64 = 0.5;

    fn bits(self) -> u32 {
        self.cast_unsigned().into()
    }
}

impl Sample for f32 {
    const POISON: Self = f32::from_bits(0x7fe5_a5a5);
    const UNIT_ROUNDOFF: f64 = f32::EPSILON as f64 / 2.0;
    const SMALLEST_ROUNDING: f64 = f32::MIN_POSITIVE as f64 * Self::UNIT_ROUNDOFF;

    fn bits(self) -> u32 {
        self.to_bits()
    }
}

/// What the inputs hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Uniform in [−1, 1): the result is compared within a tolerance.
    Uniform,
    /// Integers in −4..=4, as floats of 8 bits in −2..=2: sums up to K = 2²⁰ are exact in the digits that the matrix units keep,
    /// so the result must be exact. As `i8` any, whose sums always are.
    Integers,
    /// Uniform, but for one element in two hundred, which is infinite or no number; no number where 8 bits have no infinity to
    /// round to.
    Special,
}

/// One matrix in host memory, inside its buffer of poison.
pub struct HostMatrix<T> {
    /// Where it lies.
    pub placement: Place,
    data: Vec<T>,
}

impl<T: Sample> HostMatrix<T> {
    /// Nothing but poison.
    pub fn poison(placement: Place) -> Self {
        Self { placement, data: vec![T::POISON; placement.buffer_len()] }
    }

    /// Values in the matrix, poison around it and between its rows.
    pub fn filled(placement: Place, values: Values, seed: u64) -> Self {
        let mut matrix = Self::poison(placement);
        let mut rng = StdRng::seed_from_u64(seed);
        let is_whole = T::DTYPE == Dtype::I8;
        let (is_narrow, most) = if T::DTYPE.bytes() == 1 { (true, 2i8) } else { (false, 4) };
        for row in placement.row_ranges() {
            for element in &mut matrix.data[row] {
                let value = match values {
                    _ if is_whole => rng.random::<i8>().into(),
                    Values::Uniform => rng.random_range(-1.0f32..1.0),
                    Values::Integers => rng.random_range(-most..=most).into(),
                    Values::Special => match rng.random_range(0..600) {
                        0 => f32::NAN,
                        1 | 2 if is_narrow => f32::NAN,
                        1 => f32::INFINITY,
                        2 => f32::NEG_INFINITY,
                        _ => rng.random_range(-1.0f32..1.0),
                    },
                };
                *element = T::from_f32(value);
            }
        }
        matrix
    }

    /// The elements of the matrix in fp64, row by row.
    pub fn to_f64(&self) -> Vec<f64> {
        let rows = self.placement.row_ranges();
        rows.flat_map(|row| &self.data[row]).map(|element| f64::from(element.to_f32())).collect()
    }

    /// The elements of the matrix, row by row.
    pub fn elements(&self) -> impl Iterator<Item = T> + '_ {
        self.placement.row_ranges().flat_map(|row| &self.data[row]).copied()
    }

    /// A copy on `device`, with the same surroundings.
    pub fn upload(&self, device: &Device) -> Result<Guarded<T>> {
        let storage = match device.stream() {
            None => Storage::Host(self.data.clone()),
            Some(stream) => {
                let copy = stream.clone_htod(&self.data);
                Storage::Cuda(copy.map_err(|source| Error::Cuda { doing: "uploading a test matrix", source })?)
            }
        };
        Ok(Guarded { placement: self.placement, storage })
    }

    /// The first element around the matrix that is not poison any more.
    pub fn first_broken_guard(&self) -> Option<String> {
        let guard_after = |end: usize, next: usize| {
            let changed = (end..next).find(|&at| self.data[at].bits() != T::POISON.bits());
            changed.map(|at| format!("element {at} of the buffer holds {:?}", self.data[at]))
        };
        let mut end = 0;
        for row in self.placement.row_ranges() {
            if let Some(broken) = guard_after(end, row.start) {
                return Some(broken);
            }
            end = row.end;
        }
        guard_after(end, self.data.len())
    }

    /// Whether the buffers are the same, bit by bit.
    pub fn same_bits(&self, other: &Self) -> bool {
        self.data.len() == other.data.len() && self.data.iter().zip(&other.data).all(|(a, b)| a.bits() == b.bits())
    }
}

/// One matrix on a device, inside its buffer of poison.
pub struct Guarded<T> {
    placement: Place,
    storage: Storage<T>,
}

enum Storage<T> {
    Host(Vec<T>),
    Cuda(CudaSlice<T>),
}

impl<T: Sample> Guarded<T> {
    /// The matrix inside the buffer, with no copy.
    pub fn view(&self) -> Result<MatrixView<'_, T>> {
        let Place { rows, columns, ld, .. } = self.placement;
        match &self.storage {
            Storage::Host(data) => MatrixView::from_slice_with_ld(&data[self.placement.span()], rows, columns, ld),
            Storage::Cuda(data) => {
                MatrixView::from_cudarc_with_ld(data.slice(self.placement.span()), rows, columns, ld)
            }
        }
    }

    /// The matrix inside the buffer, to write.
    pub fn view_mut(&mut self) -> Result<MatrixViewMut<'_, T>> {
        let Place { rows, columns, ld, .. } = self.placement;
        let span = self.placement.span();
        match &mut self.storage {
            Storage::Host(data) => MatrixViewMut::from_slice_with_ld(&mut data[span], rows, columns, ld),
            Storage::Cuda(data) => MatrixViewMut::from_cudarc_with_ld(data.slice_mut(span), rows, columns, ld),
        }
    }

    /// The whole buffer, copied to the host. Waits for the GPU.
    pub fn download(&self) -> Result<HostMatrix<T>> {
        let data = match &self.storage {
            Storage::Host(data) => data.clone(),
            Storage::Cuda(data) => {
                let copy = data.stream().clone_dtoh(data);
                copy.map_err(|source| Error::Cuda { doing: "downloading a test matrix", source })?
            }
        };
        Ok(HostMatrix { placement: self.placement, data })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_guard_is_found_before_between_and_after_the_rows() {
        let placement = Place { rows: 2, columns: 3, ld: 5, offset: 4 };
        let whole = HostMatrix::<bf16>::filled(placement, Values::Integers, 1);
        assert_eq!(whole.first_broken_guard(), None);
        for at in [0, 3, 7, 8, 12, placement.buffer_len() - 1] {
            let mut broken = HostMatrix { placement, data: whole.data.clone() };
            broken.data[at] = bf16::NAN;
            let report = broken.first_broken_guard().unwrap();
            assert!(report.contains(&format!("element {at} ")), "{report}");
        }
    }
}
