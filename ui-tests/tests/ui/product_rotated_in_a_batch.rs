use autokernel::{Batch, Matrix, bf16};

#[autokernel::fused_matmul]
fn f(x: &Batch<bf16>, w: &Matrix<bf16>, out: &mut Batch<bf16>) {
    let y = dot(x, w.t());
    out = y + rotate_pairs(y);
}

fn main() {}
