use autokernel::{Matrix, Scalar};

#[autokernel::rows]
fn kernel(x: &Matrix<f32>, sum: &mut Scalar<f32>, largest: &mut Scalar<f32>) {
    sum = row_sum(x);
    largest = column_max(row_max(x.abs()));
}

fn main() {}
