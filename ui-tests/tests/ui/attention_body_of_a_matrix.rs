use autokernel::{Heads, Matrix, PerDistance, Scalar, bf16};

#[autokernel::attention(head_dim = 128)]
fn of_a_matrix(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, bias: &Matrix<f32>, out: &mut Heads<bf16>) {
    score = score * scale + bias;
}

#[autokernel::attention(head_dim = 128)]
fn of_another_type(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, bias: &PerDistance<bf16>, out: &mut Heads<bf16>) {
    score = score * scale + bias;
}

#[autokernel::attention(head_dim = 128)]
fn written(q: &Heads<bf16>, k: &Heads<bf16>, v: &Heads<bf16>, cap: &mut Scalar<f32>, out: &mut Heads<bf16>) {
    score = score * scale / cap;
}

fn main() {}
