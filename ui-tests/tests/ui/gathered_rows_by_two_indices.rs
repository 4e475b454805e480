use autokernel::{Index, Matrix, bf16};

#[autokernel::fused_matmul]
fn gated(x: &Matrix<bf16>, here: &Index, there: &Index, w: &Matrix<bf16>, v: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    out = dot(x[here], w.t()) * dot(x[there], v.t());
}

fn main() {}
