//! Matrices without their types.

use half::{bf16, f16};

use crate::{MatrixView, MatrixViewMut, e4m3, e5m2};

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
}
