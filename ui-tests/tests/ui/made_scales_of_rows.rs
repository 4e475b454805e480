use autokernel::{Matrix, bf16, e4m3};

#[autokernel::rows]
fn quantise(x: &Matrix<bf16>, out_scales: &mut Matrix<f32>, out: &mut Matrix<e4m3>) {
    out * out_scales = x;
}

fn main() {}
