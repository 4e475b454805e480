use autokernel::{Matrix, Routes};

#[autokernel::routing(experts = 4, top_k = 5)]
fn route(scores: &Matrix<f32>, routes: &mut Routes);

fn main() {}
