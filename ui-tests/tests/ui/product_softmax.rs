#![allow(unused_imports)]
use autokernel::{Batch, Column, Matrix, Row, bf16, f16};

#[autokernel::fused_matmul]
fn attend(q: &Matrix<bf16>, k: &Matrix<bf16>, total: &mut Column<f32>, out: &mut Matrix<bf16>) {
    let y = dot(q, k.t());
    let e = (y - row_max(y)).exp();
    let sum = row_sum(e);
    total = sum;
    out = e / sum;
}

fn main() {}
