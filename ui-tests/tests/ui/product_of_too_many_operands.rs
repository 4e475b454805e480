use autokernel::{Matrix, Row, bf16};

#[autokernel::fused_matmul]
fn kernel(
    a: &Matrix<bf16>,
    b: &Matrix<bf16>,
    x0: &Row<f32>,
    x1: &Row<f32>,
    x2: &Row<f32>,
    x3: &Row<f32>,
    x4: &Row<f32>,
    x5: &Row<f32>,
    x6: &Row<f32>,
    x7: &Row<f32>,
    x8: &Row<f32>,
    x9: &Row<f32>,
    x10: &Row<f32>,
    x11: &Row<f32>,
    x12: &Row<f32>,
    x13: &Row<f32>,
    x14: &Row<f32>,
    x15: &Row<f32>,
    x16: &Row<f32>,
    x17: &Row<f32>,
    out: &mut Matrix<f32>,
) {
    out = dot(a, b.t()) + x0 + x1 + x2 + x3 + x4 + x5 + x6 + x7 + x8 + x9 + x10 + x11 + x12 + x13 + x14 + x15 + x16 + x17;
}

fn main() {}
