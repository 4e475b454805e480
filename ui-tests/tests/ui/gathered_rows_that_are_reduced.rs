use autokernel::{Column, Index, Matrix, bf16};

#[autokernel::fused_matmul]
fn norms(x: &Matrix<bf16>, ids: &Index, w: &Matrix<bf16>, out: &mut Matrix<bf16>, squares: &mut Column<f32>) {
    let y = dot(x[ids], w.t());
    out = y;
    squares = row_sum(y * y);
}

fn main() {}
