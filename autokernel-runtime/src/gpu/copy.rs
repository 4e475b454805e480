//! Copies between two buffers of one GPU.

use cudarc::driver::DriverError;
use cudarc::driver::result::memcpy_dtod_async;
use cudarc::driver::sys::{CUDA_MEMCPY2D, CUdeviceptr, CUmemorytype, CUstream, cuMemcpy2DAsync_v2};

use super::pointers::Ordering;
use crate::operands::layout::Layout;
use crate::{Error, MatrixView, MatrixViewMut, Number, Result};

/// The longest distance between rows that a copy of a rectangle takes, in bytes: `CU_DEVICE_ATTRIBUTE_MAX_PITCH` of every GPU.
const MAX_PITCH: usize = i32::MAX as usize;

/// Copies what `source` has to `target`, which is of the same shape and not empty, in the order of the stream that the target was allocated on.
///
/// # Errors
/// [`Error::NeedsGpu`] for matrices in host memory, or the driver's own error.
pub(super) fn copy<T: Number>(source: &MatrixView<'_, T>, target: &mut MatrixViewMut<'_, T>) -> Result<()> {
    debug_assert_eq!(source.layout.shape(), target.layout.shape(), "as many elements go as come");
    let owners = source.stream().cloned().zip(target.stream().cloned());
    let (from, stream) = owners.ok_or(Error::NeedsGpu { what: "a copy between buffers of a GPU" })?;
    let pieces = pieces::<T>(source.layout, target.layout);
    let order = Ordering::new(&stream)?;
    let (read, written) = (order.read(source)?, order.write(target)?);
    for piece in pieces {
        // SAFETY: the layouts were checked against their buffers, which both stay borrowed until the copy is in the stream.
        unsafe { piece.submit(read.address, written.address, stream.cu_stream()) }
            .map_err(Error::cuda("copying a matrix on the GPU"))?;
    }
    drop((read, written));
    order.release_owner(&from)
}

/// A rectangle that one call copies; all in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Piece {
    source: usize,
    target: usize,
    width: usize,
    height: usize,
    source_pitch: usize,
    target_pitch: usize,
}

impl Piece {
    /// # Safety
    /// The rectangle lies within both buffers, which are alive and ordered on the stream.
    unsafe fn submit(
        self,
        source: CUdeviceptr,
        target: CUdeviceptr,
        stream: CUstream,
    ) -> std::result::Result<(), DriverError> {
        let (source, target) = (source + self.source as CUdeviceptr, target + self.target as CUdeviceptr);
        if self.height == 1 {
            // SAFETY: the caller's promise.
            return unsafe { memcpy_dtod_async(target, source, self.width, stream) };
        }
        let copy = CUDA_MEMCPY2D {
            srcXInBytes: 0,
            srcY: 0,
            srcMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
            srcHost: std::ptr::null(),
            srcDevice: source,
            srcArray: std::ptr::null_mut(),
            srcPitch: self.source_pitch,
            dstXInBytes: 0,
            dstY: 0,
            dstMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
            dstHost: std::ptr::null_mut(),
            dstDevice: target,
            dstArray: std::ptr::null_mut(),
            dstPitch: self.target_pitch,
            WidthInBytes: self.width,
            Height: self.height,
        };
        // SAFETY: the caller's promise; the driver reads the description before it returns.
        unsafe { cuMemcpy2DAsync_v2(&raw const copy, stream) }.result()
    }
}

/// All at once where neither has gaps; else the rows of each matrix, and one by one where a rectangle cannot say how they lie.
fn pieces<T>(from: Layout, to: Layout) -> Vec<Piece> {
    let of = |elements: usize| elements * size_of::<T>();
    let (rows, columns) = (to.rows, to.columns);
    let (source_pitch, target_pitch) = (of(from.ld), of(to.ld));
    let piece = |(source, target): (usize, usize), width, height| Piece {
        source: of(source),
        target: of(target),
        width: of(width),
        height,
        source_pitch,
        target_pitch,
    };
    if from.has_no_gaps() && to.has_no_gaps() {
        return vec![piece((0, 0), to.shape().iter().product(), 1)];
    }
    let starts = from.row_starts().zip(to.row_starts());
    let is_rectangle = |layout: Layout| layout.ld >= columns && of(layout.ld) <= MAX_PITCH;
    if rows > 1 && is_rectangle(from) && is_rectangle(to) {
        return starts.step_by(rows).map(|at| piece(at, columns, rows)).collect();
    }
    starts.map(|at| piece(at, columns, 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece([source, target, width, height]: [usize; 4], [source_pitch, target_pitch]: [usize; 2]) -> Piece {
        Piece { source, target, width, height, source_pitch, target_pitch }
    }

    #[test]
    fn what_has_no_gaps_is_copied_at_once_and_rows_with_gaps_as_one_rectangle() {
        let dense = Layout::matrix(3, 4, 4);
        assert_eq!(pieces::<u16>(dense, dense), [piece([0, 0, 24, 1], [8, 8])]);
        assert_eq!(pieces::<u16>(Layout::matrix(3, 4, 6), dense), [piece([0, 0, 8, 3], [12, 8])]);
        assert_eq!(pieces::<u16>(Layout::matrix(1, 4, 6), dense.rows(..1).unwrap().0), [piece([0, 0, 8, 1], [12, 8])]);
    }

    #[test]
    fn a_batch_is_a_rectangle_for_each_matrix_and_heads_that_repeat_a_row_are_copied_row_by_row() {
        let (spaced, dense) =
            (Layout::strided_batch(16, [2, 2, 3], [8, 4]).unwrap(), Layout::dense_batch(12, [2, 2, 3]).unwrap());
        assert_eq!(pieces::<f32>(spaced, dense), [piece([0, 0, 12, 2], [16, 12]), piece([32, 24, 12, 2], [16, 12])]);
        let repeated = Layout::strided_heads(3, [1, 1, 2, 3], [0, 0, 0]).unwrap();
        let heads = Layout::dense_heads(6, [1, 1, 2, 3]).unwrap();
        assert_eq!(pieces::<f32>(repeated, heads), [piece([0, 0, 12, 1], [0, 12]), piece([0, 12, 12, 1], [0, 12])]);
    }

    #[test]
    fn rows_that_lie_too_far_apart_for_a_rectangle_are_copied_one_by_one() {
        let (far, dense) = (Layout::matrix(2, 4, 1 << 31), Layout::matrix(2, 4, 4));
        assert_eq!(pieces::<u8>(far, dense).iter().map(|piece| piece.height).collect::<Vec<_>>(), [1, 1]);
    }
}
