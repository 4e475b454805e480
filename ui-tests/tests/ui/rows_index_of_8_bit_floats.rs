use autokernel::{Index, Matrix, bf16, e4m3};

#[autokernel::rows]
fn scatter(x: &Matrix<bf16>, slots: &Index, cache: &mut Matrix<e4m3>) {
    cache[slots] = x;
}

fn main() {}
