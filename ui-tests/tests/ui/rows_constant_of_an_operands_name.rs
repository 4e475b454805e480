use autokernel::{Matrix};

#[autokernel::rows]
fn kernel(x: &Matrix<f32>, limit: f32, out: &mut Matrix<f32>) {
    let y = x.min(limit);
    const limit: f32 = 2.0;
    const MOST: f32 = 4.0;
    let MOST = y + MOST;
    out = y.max(-limit) + MOST;
}

fn main() {}
