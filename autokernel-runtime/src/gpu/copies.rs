//! Copies from one matrix to another of the same shape, which stay on the device that both are on.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};

use super::copy::copy;
use crate::operands::alloc;
use crate::operands::layout::Layout;
use crate::operands::view::{Storage, StorageMut};
use crate::{
    BatchView, BatchViewMut, Device, Error, HeadsView, HeadsViewMut, Matrix, MatrixView, MatrixViewMut, Number, Result,
};

impl<T: Number> MatrixViewMut<'_, T> {
    /// Copies the elements of another matrix of this shape here; what lies between rows stays. On a GPU nothing comes by the host: the
    /// copy is asynchronous, in the order of the stream that this memory was allocated on, and a graph may capture it.
    ///
    /// ```
    /// use autokernel_runtime::{Device, Matrix};
    ///
    /// let cpu = Device::cpu();
    /// let (keys, mut cache) = (Matrix::from_slice(&cpu, &[1.0f32, 2.0], 1, 2)?, Matrix::zeros(&cpu, 3, 2)?);
    /// cache.view_mut().rows(1..2)?.copy_from(&keys)?;
    /// assert_eq!(cache.to_vec()?, [0.0, 0.0, 1.0, 2.0, 0.0, 0.0]);
    /// # Ok::<(), autokernel_runtime::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::CopyShape`] for one of another shape, [`Error::DeviceMismatch`] for one on another device, or the driver's own error.
    pub fn copy_from<'s>(&mut self, source: impl Into<MatrixView<'s, T>>) -> Result<()> {
        let source = source.into();
        let (from, to) = (source.layout, self.layout);
        if from.shape() != to.shape() {
            return Err(Error::CopyShape { from: from.shape(), to: to.shape() });
        }
        let (here, there) = (self.device(), source.device());
        if here != there {
            let (left, right) = (there.to_string(), here.to_string());
            return Err(Error::DeviceMismatch { what: "what is copied and where it goes".to_owned(), left, right });
        }
        match (&source.storage, &mut self.storage) {
            _ if to.is_empty() => Ok(()),
            (Storage::Host(data), StorageMut::Host(target)) => {
                copy_on_host(data, from, target, to);
                Ok(())
            }
            _ => copy(&source, self),
        }
    }
}

fn copy_on_host<T: Number>(source: &[T], from: Layout, target: &mut [T], to: Layout) {
    let columns = to.columns;
    for (source_at, target_at) in from.row_starts().zip(to.row_starts()) {
        target[target_at..target_at + columns].copy_from_slice(&source[source_at..source_at + columns]);
    }
}

impl<T: Number> Matrix<T> {
    /// Copies the elements of another matrix of this shape here; see [`MatrixViewMut::copy_from`].
    ///
    /// # Errors
    /// As there.
    pub fn copy_from<'s>(&mut self, source: impl Into<MatrixView<'s, T>>) -> Result<()> {
        self.view_mut().copy_from(source)
    }

    /// A copy without gaps on another device, or the same one. Between streams of one GPU it is asynchronous, in the order of the given
    /// device's stream; to another device it goes by way of the host, and waits for the GPU.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], or the driver's own error.
    pub fn to_device(&self, device: &Device) -> Result<Self> {
        let (rows, columns) = (self.nrows(), self.ncols());
        match device.stream() {
            Some(stream) if *device == self.device() => {
                let layout = Layout::matrix(rows, columns, columns);
                Ok(Self::laid_out(copied(stream, &self.view(), layout)?, layout))
            }
            _ => Self::from_slice(device, &self.to_vec()?, rows, columns),
        }
    }

    /// A copy on the same device, gaps included; on a GPU it is asynchronous, in the order of the stream that this was allocated on.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], or the driver's own error.
    pub fn try_clone(&self) -> Result<Self> {
        let Some(slice) = self.as_cudarc() else {
            let data = self.as_slice().unwrap_or_default();
            return Self::from_slice_with_ld(&Device::cpu(), data, self.nrows(), self.ncols(), self.ld());
        };
        let everything = Layout::one_row(slice.len());
        let view = MatrixView { storage: Storage::Cuda(slice.as_view()), layout: everything };
        Ok(Self::laid_out(copied(slice.stream(), &view, everything)?, self.view().layout))
    }
}

/// A copy on the same GPU, of the same shape and without gaps.
fn copied<T: Number>(stream: &Arc<CudaStream>, source: &MatrixView<'_, T>, layout: Layout) -> Result<CudaSlice<T>> {
    let len = layout.span().unwrap_or(usize::MAX);
    alloc::device_filled(stream, len, |slice| {
        MatrixViewMut { storage: StorageMut::Cuda(slice.as_view_mut()), layout }.copy_from(source)
    })
}

impl<T: Number> BatchViewMut<'_, T> {
    /// Copies the elements of another batch of this shape here; see [`MatrixViewMut::copy_from`].
    ///
    /// # Errors
    /// As there.
    pub fn copy_from<'s>(&mut self, source: impl Into<BatchView<'s, T>>) -> Result<()> {
        self.0.copy_from(source.into().0)
    }
}

impl<T: Number> HeadsViewMut<'_, T> {
    /// Copies the elements of other heads of this shape here; see [`MatrixViewMut::copy_from`].
    ///
    /// # Errors
    /// As there.
    pub fn copy_from<'s>(&mut self, source: impl Into<HeadsView<'s, T>>) -> Result<()> {
        self.0.copy_from(source.into().0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Batch, Column, Heads, Index, PageTable, Row, RowBatch, Scalar};

    #[test]
    fn rows_are_copied_between_any_strides_and_the_gaps_stay() {
        let cpu = Device::cpu();
        let source = Matrix::from_slice_with_ld(&cpu, &[1.0f32, 2.0, -1.0, 3.0, 4.0, -1.0], 2, 2, 3).unwrap();
        let mut target = Matrix::from_slice_with_ld(&cpu, &[0.0f32; 8], 2, 2, 4).unwrap();
        target.copy_from(&source).unwrap();
        assert_eq!(target.as_slice().unwrap(), [1.0, 2.0, 0.0, 0.0, 3.0, 4.0, 0.0, 0.0]);

        let mut heads = Heads::<f32>::zeros(&cpu, [1, 2, 2, 1]).unwrap();
        let tokens = MatrixView::from_slice(&[1.0, 2.0, 3.0, 4.0], 2, 2).unwrap();
        heads.view_mut().copy_from(HeadsView::of_tokens(&tokens, 1, 2).unwrap()).unwrap();
        assert_eq!(heads.to_vec().unwrap(), [1.0, 3.0, 2.0, 4.0]);

        let mut batch = Batch::<f32>::zeros(&cpu, [2, 1, 2]).unwrap();
        batch.view_mut().copy_from(BatchView::broadcast(tokens.rows(1..).unwrap(), 2)).unwrap();
        assert_eq!(batch.to_vec().unwrap(), [3.0, 4.0, 3.0, 4.0]);
    }

    #[test]
    fn another_shape_is_not_copied_and_the_error_names_both() {
        let cpu = Device::cpu();
        let source = Matrix::<f32>::zeros(&cpu, 2, 3).unwrap();
        let text = Matrix::<f32>::zeros(&cpu, 3, 2).unwrap().copy_from(&source).unwrap_err().to_string();
        assert!(text.contains("2x3") && text.contains("3x2") && text.contains("`reshaped`"), "{text}");
        let mut nothing = Matrix::<f32>::zeros(&cpu, 0, 3).unwrap();
        nothing.copy_from(source.view().rows(..0).unwrap()).unwrap();
    }

    #[test]
    fn every_operand_is_cloned_with_what_it_holds() {
        let cpu = Device::cpu();
        let spaced = Matrix::from_slice_with_ld(&cpu, &[1.0f32, 2.0, 9.0, 3.0, 4.0, 9.0], 2, 2, 3).unwrap();
        let clone = spaced.try_clone().unwrap();
        assert_eq!((clone.ld(), clone.as_slice()), (3, spaced.as_slice()));
        assert_eq!(spaced.to_device(&cpu).unwrap().as_slice().unwrap(), [1.0, 2.0, 3.0, 4.0]);

        let heads = Heads::from_slice(&cpu, &[1.0f32, 2.0], [1, 2, 1, 1]).unwrap().try_clone().unwrap();
        assert_eq!((heads.shape(), heads.to_vec().unwrap()), ([1, 2, 1, 1], vec![1.0, 2.0]));
        let batch = Batch::from_slice(&cpu, &[1.0f32, 2.0], [2, 1, 1]).unwrap().try_clone().unwrap();
        assert_eq!((batch.shape(), batch.to_vec().unwrap()), ([2, 1, 1], vec![1.0, 2.0]));
        assert_eq!(Row::from_slice(&cpu, &[1.0f32]).unwrap().try_clone().unwrap().to_vec().unwrap(), [1.0]);
        assert_eq!(Column::from_slice(&cpu, &[2.0f32]).unwrap().try_clone().unwrap().to_vec().unwrap(), [2.0]);
        assert_eq!(RowBatch::from_slice(&cpu, &[3.0f32], 1, 1).unwrap().try_clone().unwrap().to_vec().unwrap(), [3.0]);
        assert_eq!(Index::from_slice(&cpu, &[4]).unwrap().try_clone().unwrap().to_vec().unwrap(), [4]);
        assert_eq!(PageTable::from_slice(&cpu, &[5], 1).unwrap().try_clone().unwrap().to_vec().unwrap(), [5]);
        assert_eq!(Scalar::new(&cpu, 6.0f32).unwrap().try_clone().unwrap().get().unwrap(), 6.0);
    }
}
