use autokernel::{Column, Matrix};

#[autokernel::rows]
fn kernel(x: &Matrix<f32>, sums: &mut Column<f32>) {
    sums += row_sum(x);
}

fn main() {}
