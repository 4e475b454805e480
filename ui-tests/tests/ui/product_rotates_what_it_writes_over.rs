use autokernel::{Matrix, bf16};

#[autokernel::fused_matmul]
fn f(a: &Matrix<bf16>, b: &Matrix<bf16>, x: &mut Matrix<bf16>) {
    let y = dot(a, b.t()) + x;
    x = rotate_half(y, 64);
}

fn main() {}
