use autokernel::{Matrix};

#[autokernel::rows]
fn kernel(x: &Matrix<f32>, y: &Matrix<f32>, out: &mut Matrix<f32>) {
    let mask = x < y;
    let both: bool = x < 0.0 && y < 0.0;
    let neither = !(x < 0.0);
    out = if mask { x } else { y };
}

fn main() {}
