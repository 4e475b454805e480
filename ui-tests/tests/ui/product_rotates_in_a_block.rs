use autokernel::{Matrix, bf16};

#[autokernel::fused_matmul]
fn f(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    let y = dot(x, w.t());
    out = {
        let z = y * 2.0;
        rotate_pairs(z)
    };
}

fn main() {}
