//! The operands of a launch without their types: what every operation is checked and launched with.

use std::sync::Arc;

use cudarc::driver::CudaStream;

use crate::operands::any_view::{AnyView, AnyViewMut};
use crate::operands::layout::Layout;
use crate::operands::types::with_view;
use crate::{Device, Dtype, Element, Matrix, MatrixView, MatrixViewMut, Role};

/// An operand of a launch: made from matrices and views by `into`.
#[derive(Debug)]
pub enum Argument<'a> {
    /// It is read.
    Read(AnyView<'a>),
    /// It is written.
    Write(AnyViewMut<'a>),
    /// It is passed by value.
    Scalar(f32),
}

/// `$value` of the view inside an argument, whatever its type; `$of_scalar` where there is none.
macro_rules! of_view {
    ($argument:expr, $view:ident => $value:expr, $of_scalar:expr) => {
        match $argument {
            Argument::Read(any) => with_view!(AnyView, any, $view => $value),
            Argument::Write(any) => with_view!(AnyViewMut, any, $view => $value),
            Argument::Scalar(_) => $of_scalar,
        }
    };
}

impl Argument<'_> {
    /// The type of its elements.
    pub const fn dtype(&self) -> Dtype {
        match self {
            Argument::Read(view) => view.dtype(),
            Argument::Write(view) => view.dtype(),
            Argument::Scalar(_) => Dtype::F32,
        }
    }

    /// Whether it is read or written.
    pub const fn role(&self) -> Role {
        match self {
            Argument::Read(_) | Argument::Scalar(_) => Role::Input,
            Argument::Write(_) => Role::Output,
        }
    }

    /// The device that it is on; the CPU for a number.
    pub fn device(&self) -> Device {
        of_view!(self, view => view.device(), Device::cpu())
    }

    pub(crate) const fn layout(&self) -> Layout {
        of_view!(self, view => view.layout, Layout::one_row(1))
    }

    /// The stream that its buffer was allocated on; none on the host.
    pub(crate) fn stream(&self) -> Option<&Arc<CudaStream>> {
        of_view!(self, view => view.stream(), None)
    }

    /// The same operand, borrowed from this one.
    pub(crate) fn reborrow(&mut self) -> Argument<'_> {
        match self {
            Argument::Read(view) => Argument::Read(view.clone()),
            Argument::Write(view) => Argument::Write(view.reborrow()),
            Argument::Scalar(value) => Argument::Scalar(*value),
        }
    }

    /// The number that is passed by value.
    pub(crate) const fn scalar(&self) -> Option<f32> {
        match self {
            Argument::Scalar(value) => Some(*value),
            Argument::Read(_) | Argument::Write(_) => None,
        }
    }

    /// Whether it is on `device`, without touching a reference count.
    pub(crate) fn is_on(&self, device: &Device) -> bool {
        match (self.stream(), device.stream()) {
            _ if self.scalar().is_some() => true,
            (None, None) => true,
            (Some(own), Some(stream)) => own.context().cu_ctx() == stream.context().cu_ctx(),
            _ => false,
        }
    }
}

impl<'a, T: Element> From<MatrixView<'a, T>> for Argument<'a> {
    fn from(view: MatrixView<'a, T>) -> Self {
        Argument::Read(T::erase(view))
    }
}

impl<'a, T: Element> From<MatrixViewMut<'a, T>> for Argument<'a> {
    fn from(view: MatrixViewMut<'a, T>) -> Self {
        Argument::Write(T::erase_mut(view))
    }
}

impl From<f32> for Argument<'_> {
    fn from(value: f32) -> Self {
        Argument::Scalar(value)
    }
}

impl<'a, T: Element> From<&'a Matrix<T>> for Argument<'a> {
    fn from(matrix: &'a Matrix<T>) -> Self {
        matrix.view().into()
    }
}

impl<'a, T: Element> From<&'a mut Matrix<T>> for Argument<'a> {
    fn from(matrix: &'a mut Matrix<T>) -> Self {
        matrix.view_mut().into()
    }
}

#[cfg(test)]
mod tests {
    use half::f16;

    use super::*;

    #[test]
    fn an_argument_knows_its_type_its_role_and_its_device() {
        let data = [1.0f32, 2.0];
        let read = Argument::from(MatrixView::from_slice(&data, 1, 2).unwrap());
        assert_eq!((read.dtype(), read.role(), read.device()), (Dtype::F32, Role::Input, Device::cpu()));
        assert!(matches!(read, Argument::Read(AnyView::F32(_))));

        let mut data = [f16::ZERO; 6];
        let write = Argument::from(MatrixViewMut::from_slice(&mut data, 3, 2).unwrap());
        assert_eq!((write.dtype(), write.role(), write.layout().rows), (Dtype::F16, Role::Output, 3));
        assert!(write.is_on(&Device::cpu()) && write.stream().is_none());
    }
}
