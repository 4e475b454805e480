use autokernel::{Matrix, Row, bf16};

#[autokernel::fused_matmul(backward(x, weight))]
pub fn kernel(x: &Matrix<bf16>, w: &Matrix<bf16>, bias: &Row<bf16>, out: &mut Matrix<bf16>) {
    out = relu(dot(x, w.t()) + bias);
}

fn main() {}
