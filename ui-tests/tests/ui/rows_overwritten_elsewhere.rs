#![allow(unused_imports)]
use autokernel::{Column, Index, Matrix, bf16};

#[autokernel::rows]
fn picked(ids: &Index, x: &mut Matrix<bf16>) {
    x = x[ids];
}

#[autokernel::rows]
fn rotated(x: &mut Matrix<bf16>) {
    x = x + rotate_half(x, 128);
}

#[autokernel::rows]
fn column(x: &Matrix<bf16>, sum: &mut Column<f32>) {
    sum = sum + row_sum(x);
}

#[autokernel::rows(backward)]
fn learnt(skip: &Matrix<bf16>, x: &mut Matrix<bf16>) {
    x += skip;
}

fn main() {}
