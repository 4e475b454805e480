use autokernel::{Batch, Matrix, Scalar, bf16, e4m3};

#[autokernel::fused_matmul]
pub fn up(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<e4m3>, amax: &mut Scalar<f32>) {
    let y = dot(x, w.t());
    out = y;
    amax = row_max(y.abs());
}

#[autokernel::fused_matmul]
pub fn of_columns(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    out = column_sum(dot(x, w.t()));
}

#[autokernel::fused_matmul]
pub fn of_many(x: &Batch<bf16>, w: &Batch<bf16>, out: &mut Batch<bf16>, amax: &mut Scalar<f32>) {
    let y = dot(x, w.t());
    out = y;
    amax = column_max(row_max(y.abs()));
}

fn main() {}
