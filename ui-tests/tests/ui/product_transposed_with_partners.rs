use autokernel::{Matrix, bf16};

#[autokernel::fused_matmul]
fn kernel(x: &Matrix<bf16>, w: &Matrix<bf16>, table: &Matrix<f32>, out: &mut Matrix<bf16>) {
    let y = dot(x, w.t());
    out.t() = y * repeat_columns(table) + rotate_half(y, 128);
}

fn main() {}
