use autokernel::{Column, Matrix, Row, bf16};

#[autokernel::fused_matmul]
fn kernel(
    x: &Matrix<bf16>,
    w: &Matrix<bf16>,
    bias: &Row<bf16>,
    skip: &Matrix<bf16>,
    out: &mut Matrix<bf16>,
    wide: &mut Matrix<f32>,
    largest: &mut Column<f32>,
) {
    let y = dot(x, w.t()) + bias.t();
    out.t() = y + skip;
    wide = y;
    largest = row_max(y);
}

fn main() {}
