//! The same pass with a kernel for each step, as a library of products and element-wise kernels has it: every step between
//! is written to memory and read again.

use autokernel::{Device, Matrix, Result, Row, bf16, builtin};

use crate::{EPS, FEATURES, HIDDEN, Mlp, norm};

/// Kernels that a forward pass launches.
pub const KERNELS: usize = 6;

#[autokernel::matmul(transpose_b)]
fn product(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<bf16>);

/// The last step, which reads the whole residual stream again.
#[autokernel::rows]
fn residual(x: &Matrix<f32>, scale: &Row<f32>, branch: &Matrix<bf16>, out: &mut Matrix<f32>) {
    out = x + scale * branch;
}

/// What a forward pass writes on its way.
pub struct Scratch {
    normed: Matrix<bf16>,
    gate: Matrix<bf16>,
    up: Matrix<bf16>,
    hidden: Matrix<bf16>,
    branch: Matrix<bf16>,
}

impl Scratch {
    /// For so many tokens.
    pub fn zeros(device: &Device, tokens: usize) -> Result<Self> {
        let matrix = |columns| Matrix::zeros(device, tokens, columns);
        let (gate, up, hidden) = (matrix(HIDDEN)?, matrix(HIDDEN)?, matrix(HIDDEN)?);
        Ok(Self { normed: matrix(FEATURES)?, gate, up, hidden, branch: matrix(FEATURES)? })
    }
}

/// As [`Mlp::forward`].
pub fn forward(mlp: &Mlp, x: &Matrix<f32>, scratch: &mut Scratch, out: &mut Matrix<f32>) -> Result<()> {
    let Scratch { normed, gate, up, hidden, branch } = scratch;
    norm(x, &mlp.weight, &mlp.bias, EPS, normed)?;
    let weights = mlp.gate_and_up.view();
    product::KERNEL.launch(normed.view(), weights.rows(..HIDDEN)?, gate.view_mut())?;
    product::KERNEL.launch(normed.view(), weights.rows(HIDDEN..)?, up.view_mut())?;
    builtin::silu_mul(gate, up, hidden)?;
    product(hidden, &mlp.down, branch)?;
    residual(x, &mlp.scale, branch, out)
}
