use autokernel::{Column, Matrix, Row, bf16};

#[autokernel::rows]
pub fn kernel(x: &Matrix<bf16>, out: &mut Row<f32>, most: &mut Column<f32>) {
    out = column_sum(x);
    most = row_max(x);
}

fn main() {}
