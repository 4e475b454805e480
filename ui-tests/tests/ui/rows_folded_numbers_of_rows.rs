use autokernel::{Matrix, Row};

#[autokernel::rows]
fn kernel(x: &Matrix<f32>, scale: &autokernel::Column<f32>, largest: &mut Row<f32>) {
    largest = column_max(scale * 2.0);
}

fn main() {}
