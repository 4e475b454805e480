use autokernel::{Matrix, Scalar, bf16, e4m3};

#[autokernel::fused_matmul]
pub fn up(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<e4m3>, amax: &mut Scalar<f32>) {
    let y = dot(x, w.t());
    out = y;
    amax = column_max(y.abs());
}

fn main() {}
