use autokernel::{Batch, Index, Matrix, bf16};

#[autokernel::fused_matmul]
fn kernel(x: &Matrix<bf16>, dy: &Matrix<bf16>, offsets: &Index, dw: &mut Batch<bf16>, doubled: &mut Matrix<bf16>) {
    let sum = dot(x.t(), dy);
    dw = sum;
    doubled = 2.0 * sum;
}

fn main() {}
