use autokernel::{Column, Matrix, bf16};

#[autokernel::fused_matmul]
fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<bf16>, sums: &mut Column<f32>) {
    let y = dot(x, w.t());
    let z = y + rotate_half(y, 64);
    out = z;
    sums = row_sum(z);
}

fn main() {}
