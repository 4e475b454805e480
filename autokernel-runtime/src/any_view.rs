//! Matrices without their types.

use half::{bf16, f16};

use crate::{MatrixView, MatrixViewMut};

/// A borrowed matrix of any element type.
#[derive(Debug, Clone)]
pub enum AnyView<'a> {
    /// Of `bf16`.
    Bf16(MatrixView<'a, bf16>),
    /// Of `f16`.
    F16(MatrixView<'a, f16>),
    /// Of `f32`.
    F32(MatrixView<'a, f32>),
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
}
