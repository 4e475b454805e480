use autokernel::{Index, Matrix, bf16};

#[autokernel::fused_matmul]
fn scores(x: &Matrix<bf16>, table: &Matrix<bf16>, ids: &Index, out: &mut Matrix<f32>) {
    out = dot(x, table[ids].t());
}

fn main() {}
