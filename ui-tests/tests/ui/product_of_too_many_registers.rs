use autokernel::{Matrix, bf16};

#[autokernel::fused_matmul]
fn kernel(
    a: &Matrix<bf16>,
    b: &Matrix<bf16>,
    c: &Matrix<bf16>,
    x0: &Matrix<f32>,
    x1: &Matrix<f32>,
    x2: &Matrix<f32>,
    x3: &Matrix<f32>,
    x4: &Matrix<f32>,
    x5: &Matrix<f32>,
    x6: &Matrix<f32>,
    x7: &Matrix<f32>,
    x8: &Matrix<f32>,
    x9: &Matrix<f32>,
    x10: &Matrix<f32>,
    x11: &Matrix<f32>,
    x12: &Matrix<f32>,
    x13: &Matrix<f32>,
    x14: &Matrix<f32>,
    x15: &Matrix<f32>,
    out: &mut Matrix<f32>,
) {
    let z = dot(a, c.t());
    let y0 = (x0 * dot(a, b.t())).sin() + dot(a, b.t());
    let y1 = (x1 * dot(a, b.t())).sin() + y0;
    let y2 = (x2 * dot(a, b.t())).sin() + y1;
    let y3 = (x3 * dot(a, b.t())).sin() + y2;
    let y4 = (x4 * dot(a, b.t())).sin() + y3;
    let y5 = (x5 * dot(a, b.t())).sin() + y4;
    let y6 = (x6 * dot(a, b.t())).sin() + y5;
    let y7 = (x7 * dot(a, b.t())).sin() + y6;
    let y8 = (x8 * dot(a, b.t())).sin() + y7;
    let y9 = (x9 * dot(a, b.t())).sin() + y8;
    let y10 = (x10 * dot(a, b.t())).sin() + y9;
    let y11 = (x11 * dot(a, b.t())).sin() + y10;
    let y12 = (x12 * dot(a, b.t())).sin() + y11;
    let y13 = (x13 * dot(a, b.t())).sin() + y12;
    let y14 = (x14 * dot(a, b.t())).sin() + y13;
    let y15 = (x15 * dot(a, b.t())).sin() + y14;
    out = z + y0 * y1 * y2 * y3 * y4 * y5 * y6 * y7 * y8 * y9 * y10 * y11 * y12 * y13 * y14 * y15;
}

fn main() {}
