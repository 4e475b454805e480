use autokernel::{Matrix, Row, bf16};

#[autokernel::rows]
pub fn kernel(x: &Matrix<bf16>, out: &mut Row<f32>) {
    out = column_sum(x) / 2.0;
}

fn main() {}
