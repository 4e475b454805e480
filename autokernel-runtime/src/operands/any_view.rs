//! Matrices without their types.

use std::ops::Range;

use autokernel_ops::body::Kind;
use half::{bf16, f16};

use crate::{MatrixView, MatrixViewMut, Result, e4m3, e5m2, i4x2};

/// A borrowed matrix of any element type.
#[derive(Debug, Clone)]
pub enum AnyView<'a> {
    /// Of `bf16`.
    Bf16(MatrixView<'a, bf16>),
    /// Of `f16`.
    F16(MatrixView<'a, f16>),
    /// Of `f32`.
    F32(MatrixView<'a, f32>),
    /// Of `e4m3`.
    E4m3(MatrixView<'a, e4m3>),
    /// Of `e5m2`.
    E5m2(MatrixView<'a, e5m2>),
    /// Of `i8`.
    I8(MatrixView<'a, i8>),
    /// Of `i4x2`.
    I4x2(MatrixView<'a, i4x2>),
    /// Of `i32`: an index.
    I32(MatrixView<'a, i32>),
}

/// A mutably borrowed matrix of any element type.
#[derive(Debug)]
pub enum AnyViewMut<'a> {
    /// Of `bf16`.
    Bf16(MatrixViewMut<'a, bf16>),
    /// Of `f16`.
    F16(MatrixViewMut<'a, f16>),
    /// Of `f32`.
    F32(MatrixViewMut<'a, f32>),
    /// Of `e4m3`.
    E4m3(MatrixViewMut<'a, e4m3>),
    /// Of `e5m2`.
    E5m2(MatrixViewMut<'a, e5m2>),
    /// Of `i8`.
    I8(MatrixViewMut<'a, i8>),
    /// Of `i32`: an index that a kernel writes.
    I32(MatrixViewMut<'a, i32>),
    /// Of `i4x2`.
    I4x2(MatrixViewMut<'a, i4x2>),
}

impl AnyView<'_> {
    /// Some rows of an operand of that kind.
    pub(crate) fn of_rows(&self, rows: Range<usize>, kind: Kind) -> Result<AnyView<'_>> {
        Ok(match self {
            AnyView::Bf16(view) => AnyView::Bf16(view.of_rows(rows, kind)?),
            AnyView::F16(view) => AnyView::F16(view.of_rows(rows, kind)?),
            AnyView::F32(view) => AnyView::F32(view.of_rows(rows, kind)?),
            AnyView::E4m3(view) => AnyView::E4m3(view.of_rows(rows, kind)?),
            AnyView::E5m2(view) => AnyView::E5m2(view.of_rows(rows, kind)?),
            AnyView::I8(view) => AnyView::I8(view.of_rows(rows, kind)?),
            AnyView::I4x2(view) => AnyView::I4x2(view.of_rows(rows, kind)?),
            AnyView::I32(view) => AnyView::I32(view.of_rows(rows, kind)?),
        })
    }

    /// What product `number` of a batch has of an operand of that kind: a matrix, or one of the rows that hold one for each.
    pub(crate) fn of_product(&self, number: usize, kind: Kind) -> Result<AnyView<'_>> {
        Ok(match self {
            AnyView::Bf16(view) => AnyView::Bf16(view.of_product(number, kind)?),
            AnyView::F16(view) => AnyView::F16(view.of_product(number, kind)?),
            AnyView::F32(view) => AnyView::F32(view.of_product(number, kind)?),
            AnyView::E4m3(view) => AnyView::E4m3(view.of_product(number, kind)?),
            AnyView::E5m2(view) => AnyView::E5m2(view.of_product(number, kind)?),
            AnyView::I8(view) => AnyView::I8(view.of_product(number, kind)?),
            AnyView::I4x2(view) => AnyView::I4x2(view.of_product(number, kind)?),
            AnyView::I32(view) => AnyView::I32(view.of_product(number, kind)?),
        })
    }
}

impl AnyViewMut<'_> {
    /// Some rows of an operand of that kind.
    pub(crate) fn of_rows(&mut self, rows: Range<usize>, kind: Kind) -> Result<AnyViewMut<'_>> {
        Ok(match self {
            AnyViewMut::Bf16(view) => AnyViewMut::Bf16(view.of_rows(rows, kind)?),
            AnyViewMut::F16(view) => AnyViewMut::F16(view.of_rows(rows, kind)?),
            AnyViewMut::F32(view) => AnyViewMut::F32(view.of_rows(rows, kind)?),
            AnyViewMut::E4m3(view) => AnyViewMut::E4m3(view.of_rows(rows, kind)?),
            AnyViewMut::E5m2(view) => AnyViewMut::E5m2(view.of_rows(rows, kind)?),
            AnyViewMut::I8(view) => AnyViewMut::I8(view.of_rows(rows, kind)?),
            AnyViewMut::I32(view) => AnyViewMut::I32(view.of_rows(rows, kind)?),
            AnyViewMut::I4x2(view) => AnyViewMut::I4x2(view.of_rows(rows, kind)?),
        })
    }

    /// What product `number` of a batch has of an operand of that kind.
    pub(crate) fn of_product(&mut self, number: usize, kind: Kind) -> Result<AnyViewMut<'_>> {
        Ok(match self {
            AnyViewMut::Bf16(view) => AnyViewMut::Bf16(view.of_product(number, kind)?),
            AnyViewMut::F16(view) => AnyViewMut::F16(view.of_product(number, kind)?),
            AnyViewMut::F32(view) => AnyViewMut::F32(view.of_product(number, kind)?),
            AnyViewMut::E4m3(view) => AnyViewMut::E4m3(view.of_product(number, kind)?),
            AnyViewMut::E5m2(view) => AnyViewMut::E5m2(view.of_product(number, kind)?),
            AnyViewMut::I8(view) => AnyViewMut::I8(view.of_product(number, kind)?),
            AnyViewMut::I32(view) => AnyViewMut::I32(view.of_product(number, kind)?),
            AnyViewMut::I4x2(view) => AnyViewMut::I4x2(view.of_product(number, kind)?),
        })
    }
}
