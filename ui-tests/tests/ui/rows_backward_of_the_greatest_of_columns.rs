use autokernel::{Matrix, Row, bf16};

#[autokernel::rows(backward)]
pub fn kernel(x: &Matrix<bf16>, total: &mut Row<f32>, most: &mut Row<f32>) {
    total = column_sum(x * x);
    most = column_max(x);
}

fn main() {}
