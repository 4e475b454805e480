use autokernel::{Matrix, bf16};

#[autokernel::fused_matmul(relu)]
fn up<'a>(a: &'a Matrix<bf16>, b: &'a Matrix<bf16>, out: &'a mut Matrix<bf16>)
where
    bf16: Copy;

fn main() {}
