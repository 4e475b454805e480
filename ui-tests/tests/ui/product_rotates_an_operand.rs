use autokernel::{Matrix, Row, bf16};

#[autokernel::fused_matmul]
fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, bias: &Row<bf16>, out: &mut Matrix<bf16>) {
    out = dot(x, w.t()) + rotate_half(bias, 64);
}

fn main() {}
