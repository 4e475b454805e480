//! Matrix products.

#![allow(unused_imports, reason = "each kernel has a feature")]

use crate::{Matrix, bf16, f16};

/// The plain product, both operands row-major.
#[cfg(feature = "matmul")]
#[autokernel::matmul]
pub fn matmul(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);

/// The plain product with a transposed weight.
#[cfg(feature = "matmul")]
#[autokernel::matmul(transpose_b)]
pub fn matmul_nt(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<bf16>);

/// ReLU, which cuBLASLt can fuse too.
#[cfg(feature = "matmul_relu")]
#[autokernel::fused_matmul(relu)]
pub fn matmul_relu(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);

/// ReLU with a transposed weight.
#[cfg(feature = "matmul_relu")]
#[autokernel::fused_matmul(relu, transpose_b)]
pub fn matmul_relu_nt(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<bf16>);

/// Leaky ReLU with slope 0.01, which cuBLASLt cannot fuse.
#[cfg(feature = "matmul_leaky_relu")]
#[autokernel::fused_matmul(leaky_relu)]
pub fn matmul_leaky_relu(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);

/// Leaky ReLU with a transposed weight.
#[cfg(feature = "matmul_leaky_relu")]
#[autokernel::fused_matmul(leaky_relu, transpose_b)]
pub fn matmul_leaky_relu_nt(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<bf16>);

/// Leaky ReLU in half precision.
#[cfg(feature = "matmul_leaky_relu_f16")]
#[autokernel::fused_matmul(leaky_relu)]
pub fn matmul_leaky_relu_f16(a: &Matrix<f16>, b: &Matrix<f16>, out: &mut Matrix<f16>);
