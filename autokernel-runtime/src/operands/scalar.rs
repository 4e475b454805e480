//! One number in memory, which a kernel reads, or writes, when it runs.

use std::fmt;

use cudarc::driver::{CudaSlice, CudaView, CudaViewMut};

use crate::operands::layout::Layout;
use crate::operands::view::{Storage, StorageMut};
use crate::{Argument, Device, Element, Matrix, MatrixView, MatrixViewMut, Result};

const LAYOUT: Layout = Layout::one_row(1);

/// One number on the CPU or on a GPU: a scale, a learning rate. A launch that is captured in a graph reads what it holds when
/// the graph runs, where an `f32` would be frozen.
///
/// ```
/// use autokernel_runtime::{Device, Scalar};
///
/// let mut scale = Scalar::new(&Device::cpu(), 0.5f32)?;
/// scale.set(0.25)?;
/// assert_eq!(scale.get()?, 0.25);
/// # Ok::<(), autokernel_runtime::Error>(())
/// ```
pub struct Scalar<T>(pub(crate) Matrix<T>);

/// A borrowed [`Scalar`] on the host or on a GPU.
#[derive(Clone)]
pub struct ScalarView<'a, T: Element>(MatrixView<'a, T>);

/// A mutably borrowed [`Scalar`] on the host or on a GPU.
pub struct ScalarViewMut<'a, T>(MatrixViewMut<'a, T>);

impl<T: Element> Scalar<T> {
    /// A number in the memory of `device`, at first `value`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), or the driver's own error.
    pub fn new(device: &Device, value: T) -> Result<Self> {
        Matrix::from_slice(device, &[value], 1, 1).map(Self)
    }

    /// Takes over a cudarc slice of one element, with no copy.
    ///
    /// # Errors
    /// [`Error::BufferSize`](crate::Error::BufferSize).
    pub fn from_cudarc(slice: CudaSlice<T>) -> Result<Self> {
        Matrix::from_cudarc(slice, 1, 1).map(Self)
    }

    /// Hands the buffer back to cudarc; `None` if it is on the CPU.
    pub fn into_cudarc(self) -> Option<CudaSlice<T>> {
        self.0.into_cudarc()
    }

    /// The buffer as cudarc's, for other libraries to read; `None` if it is on the CPU.
    pub const fn as_cudarc(&self) -> Option<&CudaSlice<T>> {
        self.0.as_cudarc()
    }

    /// The buffer as cudarc's, for other libraries to write; `None` if it is on the CPU.
    pub const fn as_cudarc_mut(&mut self) -> Option<&mut CudaSlice<T>> {
        self.0.as_cudarc_mut()
    }

    /// The number, copied to the host. Waits for the GPU.
    ///
    /// # Errors
    /// The driver's own error, which includes faults of kernels launched earlier.
    pub fn get(&self) -> Result<T> {
        self.view().get()
    }

    /// The device that it is on.
    pub fn device(&self) -> Device {
        self.0.device()
    }

    /// A view of the number, to read.
    pub fn view(&self) -> ScalarView<'_, T> {
        ScalarView(self.0.view())
    }

    /// A view of the number, to write.
    pub fn view_mut(&mut self) -> ScalarViewMut<'_, T> {
        ScalarViewMut(self.0.view_mut())
    }

    /// A copy on the same device; see [`Matrix::try_clone`].
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), or the driver's own error.
    pub fn try_clone(&self) -> Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// A copy on another device, or the same one; see [`Matrix::to_device`].
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory), or the driver's own error.
    pub fn to_device(&self, device: &Device) -> Result<Self> {
        self.0.to_device(device).map(Self)
    }
}

impl<'a, T: Element> ScalarView<'a, T> {
    /// A number on the host.
    pub const fn from_ref(value: &'a T) -> Self {
        Self(MatrixView { storage: Storage::Host(std::slice::from_ref(value)), layout: LAYOUT })
    }

    /// One element of a cudarc device slice (`slice.slice(3..4)`).
    ///
    /// # Errors
    /// [`Error::BufferSize`](crate::Error::BufferSize).
    pub fn from_cudarc(data: CudaView<'a, T>) -> Result<Self> {
        let layout = Layout::dense(data.len(), 1, 1)?;
        Ok(Self(MatrixView { storage: Storage::Cuda(data), layout }))
    }

    /// The number, copied to the host. Waits for the GPU.
    ///
    /// # Errors
    /// The driver's own error, which includes faults of kernels launched earlier.
    pub fn get(&self) -> Result<T> {
        Ok(self.0.to_vec()?[0])
    }

    /// The device that it is on.
    pub fn device(&self) -> Device {
        self.0.device()
    }
}

impl<'a, T: Element> ScalarViewMut<'a, T> {
    /// A number on the host.
    pub const fn from_mut(value: &'a mut T) -> Self {
        Self(MatrixViewMut { storage: StorageMut::Host(std::slice::from_mut(value)), layout: LAYOUT })
    }

    /// One element of a cudarc device slice (`slice.slice_mut(3..4)`).
    ///
    /// # Errors
    /// [`Error::BufferSize`](crate::Error::BufferSize).
    pub fn from_cudarc(data: CudaViewMut<'a, T>) -> Result<Self> {
        let layout = Layout::dense(data.len(), 1, 1)?;
        Ok(Self(MatrixViewMut { storage: StorageMut::Cuda(data), layout }))
    }

    /// The device that it is on.
    pub fn device(&self) -> Device {
        self.0.device()
    }
}

impl<'a, T: Element> From<&'a mut Scalar<T>> for ScalarViewMut<'a, T> {
    fn from(owned: &'a mut Scalar<T>) -> Self {
        owned.view_mut()
    }
}

impl<'b, T: Element> From<&'b mut ScalarViewMut<'_, T>> for ScalarViewMut<'b, T> {
    fn from(view: &'b mut ScalarViewMut<'_, T>) -> Self {
        ScalarViewMut((&mut view.0).into())
    }
}

impl<'a, T: Element> From<ScalarViewMut<'a, T>> for Argument<'a> {
    fn from(view: ScalarViewMut<'a, T>) -> Self {
        view.0.into()
    }
}

impl<'a, T: Element> From<&'a Scalar<T>> for ScalarView<'a, T> {
    fn from(owned: &'a Scalar<T>) -> Self {
        owned.view()
    }
}

impl<'a, T: Element> From<&ScalarView<'a, T>> for ScalarView<'a, T> {
    fn from(view: &ScalarView<'a, T>) -> Self {
        view.clone()
    }
}

impl<'a, T: Element> From<ScalarView<'a, T>> for Argument<'a> {
    fn from(view: ScalarView<'a, T>) -> Self {
        view.0.into()
    }
}

impl<T: Element> fmt::Debug for Scalar<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scalar<{}>(on {})", T::DTYPE, self.device())
    }
}

impl<T: Element> fmt::Debug for ScalarViewMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScalarViewMut<{}>(on {})", T::DTYPE, self.device())
    }
}

impl<T: Element> fmt::Debug for ScalarView<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ScalarView<{}>(on {})", T::DTYPE, self.device())
    }
}
