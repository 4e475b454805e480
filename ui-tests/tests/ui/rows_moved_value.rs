use autokernel::{Matrix, bf16};

#[autokernel::rows]
fn f(x: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    let y = x * 2.0;
    out = rotate_pairs(y);
}

fn main() {}
