//! What bodies take of the consumers that run them, beside the sums and the stores.
//!
//! By 46 to 55 images of a portfolio at thirteen shapes and five bodies on an H200 (`docs/results/bodies-h200/choice-schedules.txt.gz`,
//! `choice-schedules-91.txt.gz` and `choice-schedules-133.txt.gz`), as the time that each takes over the plain product's by the same image.

use crate::matmul::body::BodyClass;
use crate::matmul::many::Many;
use crate::matmul::problem::Class;
use crate::matmul::schedule::{Mode, Schedule};

/// What a warpgroup takes for an element of C, in nanoseconds: whatever the body computes, less of tiles that are transposed and that one
/// consumer has while the other multiplies, and for each matrix that it reads, by lanes or by TMA. Functions are not told apart.
const ANY_NS: f64 = 0.37;
const TRANSPOSED_IN_TURN_NS: f64 = 0.14;
const BY_LANES_NS: f64 = 0.25;
const BY_TMA_NS: f64 = 0.06;

/// The same of the body of `class` by `schedule`; nothing is known of the families whose threads all multiply, of batches and groups, and of
/// weights and factors with scales, whose constants are of bodies. Two products take as long as one of twice the columns.
pub(super) fn ns_of_element(class: &Class, schedule: &Schedule) -> f64 {
    let (Some(body), Schedule::Sm90(sm90)) = (&class.body, schedule) else { return 0.0 };
    let is_known =
        class.many() == Many::One && class.weights.is_none() && class.block.is_none() && class.products() == 1;
    if !is_known {
        return 0.0;
    }
    let matrices = body.matrices_read_once().map(|_| 1.0).sum::<f64>();
    let by_tma = if sm90.operand_load(class).is_some() { matrices.min(1.0) } else { 0.0 };
    let any = if sm90.swap_ab && sm90.mode == Mode::PingPong { TRANSPOSED_IN_TURN_NS } else { ANY_NS };
    any * f64::from(u8::from(computes(body))) + BY_LANES_NS * (matrices - by_tma) + BY_TMA_NS * by_tma
}

/// Whether it is more than the sum itself.
fn computes(body: &BodyClass) -> bool {
    body.operations > 0 || body.inputs().next().is_some()
}

#[cfg(test)]
mod tests {
    use autokernel_core::Dtype;

    use super::*;
    use crate::body::{Body as Statements, Kind};
    use crate::matmul::body::{Body, Product, Written};
    use crate::matmul::problem::{Layout, Problem};
    use crate::matmul::schedule::Sm90Schedule;
    use crate::rows::cases::{name, reads, store, writes};

    #[test]
    fn a_matrix_that_lanes_read_takes_longer_than_one_that_comes_by_tma_and_a_plain_product_nothing() {
        let plain = Problem::new(Dtype::Bf16, Layout::Nt, "identity".parse().unwrap());
        let operands = ["x", "w", "skip"].map(|name| reads(name, Kind::Matrix, Dtype::Bf16)).into_iter();
        let operands = operands.chain([writes("out", Kind::Matrix, Dtype::Bf16)]).collect();
        let steps = vec![store("out", name("dot") + name("skip"))];
        let body = Statements { operands, steps, ..Statements::default() };
        let body = Body::new(Written { product: Product::plain("dot", "x", "w"), second: None, body }).unwrap();
        let residual = Problem { body: Some(body.into()), ..plain.clone() }.class();
        let whole = Sm90Schedule { consumers: 2, ..Sm90Schedule::PLAIN };
        let in_turn = Sm90Schedule { mode: Mode::PingPong, swap_ab: true, ..whole };
        let shared = Sm90Schedule { stream_k: true, ..whole };
        let of = |class: &Class, schedule: Sm90Schedule| ns_of_element(class, &schedule.into());
        assert_eq!(of(&residual, whole), ANY_NS + BY_TMA_NS);
        assert_eq!(of(&residual, in_turn), TRANSPOSED_IN_TURN_NS + BY_TMA_NS);
        assert_eq!(of(&residual, shared), ANY_NS + BY_LANES_NS);
        assert_eq!(of(&plain.class(), whole), 0.0);
    }
}
