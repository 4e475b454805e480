use autokernel::{Column, Matrix};

#[autokernel::rows]
fn kernel(x: &Matrix<f32>, at: &mut Column<f32>, spread: &mut Column<f32>, norm: &mut Column<f32>) {
    at = row_argmax(x);
    spread = row_var(x);
    norm = row_norm(x);
}

fn main() {}
