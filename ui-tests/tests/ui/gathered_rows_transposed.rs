use autokernel::{Index, Matrix, bf16};

#[autokernel::fused_matmul]
fn gradients(x: &Matrix<bf16>, tokens: &Index, dy: &Matrix<bf16>, dw: &mut Matrix<f32>) {
    dw = dot(x[tokens].t(), dy);
}

fn main() {}
