use autokernel::{Matrix, bf16, e4m3, e5m2};

#[autokernel::matmul(transpose_b)]
fn backward(dy: &Matrix<e5m2>, w: &Matrix<e4m3>, dx: &mut Matrix<bf16>);

#[autokernel::fused_matmul]
fn of_bf16(x: &Matrix<e4m3>, w: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    out = dot(x, w.t());
}

fn main() {}
