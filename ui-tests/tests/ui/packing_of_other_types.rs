use autokernel::{Matrix, Row, bf16, e4m3, i4x2};

#[autokernel::packing(group = 48)]
fn of_48(w: &Matrix<bf16>, packed: &mut Matrix<i4x2>, scales: &mut Matrix<f32>);

#[autokernel::packing]
fn to_fp8(w: &Matrix<i8>, packed: &mut Matrix<e4m3>, scales: &mut Row<e4m3>);

#[autokernel::packing(columns = 4096)]
fn read_only(w: &Matrix<bf16>, packed: &Matrix<i4x2>, scales: &mut Row<f32>);

fn main() {}
