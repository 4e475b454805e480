use autokernel::{Index, Matrix};

#[autokernel::routing(experts = 64, top_k = 6, k = 2)]
fn route(scores: &Matrix<f32>, tokens: &mut Index);

fn main() {}
