use autokernel::{Matrix, bf16};

#[autokernel::fused_matmul]
fn f(x: &Matrix<bf16>, w: &Matrix<i8>, out: &mut Matrix<bf16>) {
    let y = dot(x, w.t());
    out = y + rotate_pairs(y);
}

fn main() {}
