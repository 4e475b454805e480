//! What the host reads and writes of matrices without a kernel.

use cudarc::driver::DeviceSlice;

use crate::operands::layout::Layout;
use crate::operands::view::StorageMut;
use crate::{Error, Matrix, MatrixView, MatrixViewMut, Number, Result};

impl<T: Number> MatrixView<'_, T> {
    /// The elements in host memory, number `(r, c)` at `r * ld + c`, gaps included; `None` on a GPU.
    pub fn as_slice(&self) -> Option<&[T]> {
        self.storage.host()
    }
}

impl<T: Number> MatrixViewMut<'_, T> {
    /// The elements in host memory, number `(r, c)` at `r * ld + c`, gaps included; `None` on a GPU.
    pub fn as_mut_slice(&mut self) -> Option<&mut [T]> {
        match &mut self.storage {
            StorageMut::Host(data) => Some(data),
            StorageMut::Cuda(_) => None,
        }
    }

    /// Copies `rows * columns` elements here, row by row; what lies between rows stays. On a GPU the copy is in the order of the
    /// stream that the memory was allocated on, one for each row where there are gaps.
    ///
    /// # Errors
    /// [`Error::CopyLength`] for another number of elements, or the driver's own error.
    pub fn copy_from_slice(&mut self, data: &[T]) -> Result<()> {
        self.layout.filled_by(data.len())?;
        let Layout { columns, ld, .. } = self.layout;
        if data.is_empty() {
            return Ok(());
        }
        // All at once where there are no gaps.
        let together = if ld == columns { data.len() } else { columns };
        let sources = data.chunks(together).enumerate();
        match &mut self.storage {
            StorageMut::Host(target) => {
                for (row, source) in sources {
                    target[row * ld..row * ld + source.len()].copy_from_slice(source);
                }
            }
            StorageMut::Cuda(target) => {
                let stream = target.stream().clone();
                for (row, source) in sources {
                    let mut target = target.slice_mut(row * ld..row * ld + source.len());
                    stream.memcpy_htod(source, &mut target).map_err(Error::cuda("copying a matrix to the GPU"))?;
                }
            }
        }
        Ok(())
    }
}

impl<T: Number> Matrix<T> {
    /// The elements in host memory, number `(r, c)` at `r * ld + c`, gaps included; `None` on a GPU.
    pub fn as_slice(&self) -> Option<&[T]> {
        self.host()
    }

    /// The same to write.
    pub fn as_mut_slice(&mut self) -> Option<&mut [T]> {
        self.host_mut()
    }

    /// Copies other elements here, so that a matrix is filled again and again without an allocation; see
    /// [`MatrixViewMut::copy_from_slice`].
    ///
    /// # Errors
    /// As there.
    pub fn copy_from_slice(&mut self, data: &[T]) -> Result<()> {
        self.view_mut().copy_from_slice(data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Device;

    #[test]
    fn a_matrix_is_filled_again_row_by_row_and_its_gaps_stay() {
        let mut dense = Matrix::<f32>::zeros(&Device::cpu(), 2, 3).unwrap();
        dense.copy_from_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        dense.as_mut_slice().unwrap()[0] = 7.0;
        assert_eq!(dense.as_slice().unwrap(), [7.0, 2.0, 3.0, 4.0, 5.0, 6.0]);

        let mut spaced = Matrix::from_slice_with_ld(&Device::cpu(), &[-1.0f32; 8], 2, 3, 4).unwrap();
        spaced.copy_from_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        assert_eq!(spaced.as_slice().unwrap(), [1.0, 2.0, 3.0, -1.0, 4.0, 5.0, 6.0, -1.0]);
        let mut last = spaced.view_mut();
        last.columns(2..).unwrap().copy_from_slice(&[8.0, 9.0]).unwrap();
        assert_eq!(spaced.to_vec().unwrap(), [1.0, 2.0, 8.0, 4.0, 5.0, 9.0]);
    }

    #[test]
    fn as_many_elements_are_copied_as_there_are_or_none() {
        let mut matrix = Matrix::<f32>::zeros(&Device::cpu(), 2, 3).unwrap();
        let text = matrix.copy_from_slice(&[1.0; 5]).unwrap_err().to_string();
        assert_eq!(text, "5 elements do not fill 2x3. Copy exactly 6");
        assert_eq!(matrix.as_slice().unwrap(), [0.0; 6]);
        Matrix::<f32>::zeros(&Device::cpu(), 0, 3).unwrap().copy_from_slice(&[]).unwrap();
    }
}
