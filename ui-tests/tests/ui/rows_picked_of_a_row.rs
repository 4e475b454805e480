use autokernel::{Index, Matrix, Row, bf16};

#[autokernel::rows]
pub fn kernel(x: &Row<bf16>, ids: &Index, out: &mut Matrix<bf16>) {
    out = x[ids];
}

fn main() {}
