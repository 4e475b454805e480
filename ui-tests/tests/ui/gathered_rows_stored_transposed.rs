use autokernel::{Index, Matrix, bf16};

#[autokernel::fused_matmul]
fn embedded(x: &Matrix<bf16>, ids: &Index, w: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    out.t() = dot(x[ids], w.t());
}

fn main() {}
