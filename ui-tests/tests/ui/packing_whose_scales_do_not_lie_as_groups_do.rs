use autokernel::{Matrix, Row, bf16, i4x2};

#[autokernel::packing(group = 128)]
fn of_groups(w: &Matrix<bf16>, packed: &mut Matrix<i4x2>, scales: &mut Row<f32>);

#[autokernel::packing]
fn of_rows(w: &Matrix<bf16>, packed: &mut Matrix<i4x2>, scales: &mut Matrix<f32>);

#[autokernel::packing]
fn zeros_of_rows(w: &Matrix<bf16>, packed: &mut Matrix<i4x2>, scales: &mut Row<f32>, zeros: &mut Row<i8>);

#[autokernel::packing(group = 64)]
fn zeros_of_bytes(w: &Matrix<bf16>, packed: &mut Matrix<i8>, scales: &mut Matrix<f32>, zeros: &mut Matrix<i8>);

fn main() {}
