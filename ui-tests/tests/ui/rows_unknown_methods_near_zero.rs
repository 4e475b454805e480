use autokernel::{Matrix};

#[autokernel::rows]
fn kernel(x: &Matrix<f32>, out: &mut Matrix<f32>) {
    out = x.exp_m1() + x.ln_1p() + x.fract() + x.rem_euclid(2.0);
}

fn main() {}
