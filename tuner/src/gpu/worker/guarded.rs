//! Matrices between guard zones.

use autokernel_codegen::dtype::Dtype;
use autokernel_runtime::{Argument, Element, MatrixView, MatrixViewMut, bf16, e4m3, e5m2, f16, i4x2};
use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaSlice, DevicePtr};

use super::error::{Result, WorkerError};
use super::instruments::{Instruments, Rectangle, Reports};
use crate::operand::argument;

/// A row-major matrix with guard zones before and after it; the guards and the gaps between rows hold NaN.
pub struct Guarded<T> {
    data: CudaSlice<T>,
    guard: usize,
    rows: usize,
    columns: usize,
    ld: usize,
}

/// Some rows of a matrix: from the first on, each that many behind the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Every {
    /// The first.
    pub first: usize,
    /// How many rows apart they are.
    pub stride: usize,
}

impl Every {
    /// All rows.
    pub const ROW: Every = Every { first: 0, stride: 1 };

    /// How many of `rows` they are.
    pub fn count(self, rows: usize) -> usize {
        rows.saturating_sub(self.first).div_ceil(self.stride)
    }

    /// How many of them lie before row `bound`.
    pub fn bound(self, bound: i32) -> i32 {
        i32::try_from(self.count(usize::try_from(bound).unwrap_or(0))).unwrap_or(i32::MAX)
    }
}

impl<T: Element> Guarded<T> {
    /// A matrix of NaN.
    pub fn new(tools: &Instruments, rows: usize, columns: usize, ld: usize, guard_bytes: usize) -> Result<Self> {
        let guard = guard_bytes / size_of::<T>();
        let elements = rows * ld + 2 * guard;
        // SAFETY: `poison_all` writes every byte in stream order before anything can read one.
        let data = unsafe { tools.stream().alloc::<T>(elements) };
        let data = data.map_err(WorkerError::driver("allocating a matrix"))?;
        let matrix = Guarded { data, guard, rows, columns, ld };
        matrix.poison_all(tools)?;
        Ok(matrix)
    }

    /// To read.
    pub fn view(&self) -> Result<MatrixView<'_, T>> {
        self.some_rows(Every::ROW)
    }

    /// To write.
    pub fn view_mut(&mut self) -> Result<MatrixViewMut<'_, T>> {
        self.first_rows_mut(self.rows)
    }

    /// Its first `rows` rows, to write.
    pub fn first_rows_mut(&mut self, rows: usize) -> Result<MatrixViewMut<'_, T>> {
        let end = self.data.len() - self.guard;
        let body = self.data.slice_mut(self.guard..end);
        Ok(MatrixViewMut::from_cudarc_with_ld(body, rows.min(self.rows), self.columns, self.ld)?)
    }

    /// The matrix in device memory.
    pub fn rectangle(&self, tools: &Instruments) -> Rectangle {
        let address = self.base(tools) + (self.guard * size_of::<T>()) as u64;
        Rectangle { address, rows: self.rows, columns: self.columns, ld: self.ld }
    }

    /// One element. Waits for the GPU.
    pub fn element(&self, tools: &Instruments, row: usize, column: usize) -> Result<f32> {
        let at = self.guard + row * self.ld + column;
        let value = tools.stream().clone_dtoh(&self.data.slice(at..=at));
        let value = value.map_err(WorkerError::driver("reading an element"))?;
        Ok(value.first().map_or(f32::NAN, |value| value.to_f32()))
    }

    /// Some of its rows, to read.
    fn some_rows(&self, every: Every) -> Result<MatrixView<'_, T>> {
        let rows = every.count(self.rows);
        let first = if rows == 0 { 0 } else { every.first };
        let body = self.data.slice(self.guard + first * self.ld..self.data.len() - self.guard);
        Ok(MatrixView::from_cudarc_with_ld(body, rows, self.columns, self.ld * every.stride)?)
    }

    /// Fills it, its gaps and its guards with NaN.
    pub fn poison_all(&self, tools: &Instruments) -> Result<()> {
        tools.poison(self.base(tools), self.data.len() * size_of::<T>())
    }

    fn count_touched(&self, tools: &Instruments, reports: &Reports, index: usize) -> Result<()> {
        let (base, element) = (self.base(tools), size_of::<T>());
        let (guard, body) = (self.guard * element, self.rows * self.ld * element);
        let run = |offset: usize, rows, columns, ld| Rectangle { address: base + offset as u64, rows, columns, ld };
        tools.count_touched(run(0, 1, guard, guard), reports, index)?;
        tools.count_touched(run(guard + body, 1, guard, guard), reports, index)?;
        let (columns, ld) = (self.columns * element, self.ld * element);
        tools.count_touched(run(guard + columns, self.rows, ld - columns, ld), reports, index)
    }

    fn base(&self, tools: &Instruments) -> CUdeviceptr {
        let (address, _guard) = self.data.device_ptr(tools.stream());
        address
    }
}

/// A [`Guarded`] matrix of any element type.
pub enum Buffer {
    /// Of `bf16`.
    Bf16(Guarded<bf16>),
    /// Of `f16`.
    F16(Guarded<f16>),
    /// Of `f32`.
    F32(Guarded<f32>),
    /// Of `e4m3`.
    E4m3(Guarded<e4m3>),
    /// Of `e5m2`.
    E5m2(Guarded<e5m2>),
    /// Of `i8`.
    I8(Guarded<i8>),
    /// Of `i4x2`.
    I4x2(Guarded<i4x2>),
}

/// `$value` of the matrix inside a buffer, whatever its type.
macro_rules! of_buffer {
    ($buffer:expr, $matrix:ident => $value:expr) => {
        match $buffer {
            Buffer::Bf16($matrix) => $value,
            Buffer::F16($matrix) => $value,
            Buffer::F32($matrix) => $value,
            Buffer::E4m3($matrix) => $value,
            Buffer::E5m2($matrix) => $value,
            Buffer::I8($matrix) => $value,
            Buffer::I4x2($matrix) => $value,
        }
    };
}

impl Buffer {
    /// A matrix of NaN.
    pub fn new(
        tools: &Instruments,
        dtype: Dtype,
        rows: usize,
        columns: usize,
        ld: usize,
        guard_bytes: usize,
    ) -> Result<Self> {
        Ok(match dtype {
            Dtype::Bf16 => Buffer::Bf16(Guarded::new(tools, rows, columns, ld, guard_bytes)?),
            Dtype::F16 => Buffer::F16(Guarded::new(tools, rows, columns, ld, guard_bytes)?),
            Dtype::F32 => Buffer::F32(Guarded::new(tools, rows, columns, ld, guard_bytes)?),
            Dtype::E4m3 => Buffer::E4m3(Guarded::new(tools, rows, columns, ld, guard_bytes)?),
            Dtype::E5m2 => Buffer::E5m2(Guarded::new(tools, rows, columns, ld, guard_bytes)?),
            Dtype::I8 => Buffer::I8(Guarded::new(tools, rows, columns, ld, guard_bytes)?),
            Dtype::I4x2 => Buffer::I4x2(Guarded::new(tools, rows, columns, ld, guard_bytes)?),
            Dtype::I32 => {
                let reason = "a kernel that takes a table of whole numbers or writes some is not measured yet; tune its body without";
                return Err(WorkerError::Request(reason.to_owned()));
            }
        })
    }

    /// The type of its elements.
    pub fn dtype(&self) -> Dtype {
        match self {
            Buffer::Bf16(_) => Dtype::Bf16,
            Buffer::F16(_) => Dtype::F16,
            Buffer::F32(_) => Dtype::F32,
            Buffer::E4m3(_) => Dtype::E4m3,
            Buffer::E5m2(_) => Dtype::E5m2,
            Buffer::I8(_) => Dtype::I8,
            Buffer::I4x2(_) => Dtype::I4x2,
        }
    }

    /// Fills the matrix, its gaps and its guards with NaN.
    pub fn poison_all(&self, tools: &Instruments) -> Result<()> {
        of_buffer!(self, matrix => matrix.poison_all(tools))
    }

    /// The matrix in device memory.
    pub fn rectangle(&self, tools: &Instruments) -> Rectangle {
        of_buffer!(self, matrix => matrix.rectangle(tools))
    }

    /// One element. Waits for the GPU.
    pub fn element(&self, tools: &Instruments, row: usize, column: usize) -> Result<f32> {
        of_buffer!(self, matrix => matrix.element(tools, row, column))
    }

    /// Counts touched bytes of the guards and the gaps into report `index`.
    pub fn count_touched(&self, tools: &Instruments, reports: &Reports, index: usize) -> Result<()> {
        of_buffer!(self, matrix => matrix.count_touched(tools, reports, index))
    }

    /// To be read by a launch, as so many matrices along each axis outside of rows.
    pub fn argument(&self, outer: &[usize]) -> Result<Argument<'_>> {
        of_buffer!(self, matrix => Ok(argument!(matrix.view()?, outer, HeadsView)?))
    }

    /// Some of its rows, to be read by a launch.
    pub fn argument_of_rows(&self, every: Every) -> Result<Argument<'_>> {
        of_buffer!(self, matrix => Ok(matrix.some_rows(every)?.into()))
    }

    /// The same, to be written.
    pub fn argument_mut(&mut self, outer: &[usize]) -> Result<Argument<'_>> {
        of_buffer!(self, matrix => Ok(argument!(matrix.view_mut()?, outer, HeadsViewMut)?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_its_turn_and_none_is_past_the_last() {
        for rows in [0, 1, 5, 16, 33] {
            let counts = (0..16).map(|first| Every { first, stride: 16 }.count(rows));
            assert_eq!(counts.sum::<usize>(), rows);
            assert_eq!(Every::ROW.count(rows), rows);
        }
    }

    #[test]
    fn groups_of_some_rows_have_those_of_their_rows_that_are_looked_at() {
        let bounds = [0, 5, 5, 21, 40];
        for first in 0..16 {
            let every = Every { first, stride: 16 };
            for group in bounds.windows(2) {
                let looked_at = (group[0]..group[1]).filter(|row| *row as usize % 16 == first).count();
                assert_eq!((every.bound(group[1]) - every.bound(group[0])) as usize, looked_at);
            }
            assert_eq!(every.bound(40) as usize, every.count(40));
        }
    }
}
