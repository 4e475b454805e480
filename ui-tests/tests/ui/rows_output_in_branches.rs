use autokernel::{Matrix};

#[autokernel::rows]
fn kernel(x: &Matrix<f32>, y: &Matrix<f32>, out: &mut Matrix<f32>) {
    if x < y {
        out = x;
    } else {
        out = y;
    }
}

fn main() {}
