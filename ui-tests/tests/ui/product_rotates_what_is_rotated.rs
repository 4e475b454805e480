use autokernel::{Matrix, bf16};

#[autokernel::fused_matmul]
fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    let y = dot(x, w.t());
    let z = rotate_half(y, 64);
    out = rotate_half(z, 64);
}

fn main() {}
