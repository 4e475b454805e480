//! Matrix products: their extents, and what they cost.

use autokernel_ops::matmul::flops;
pub use autokernel_ops::matmul::problem::Layout;
pub use autokernel_ops::matmul::{
    BATCHED_DIMS, DIMS, GROUPED_DIMS, batched_extents, extents, grouped_extents, matrices, products, sizes,
};

use crate::roofline::Work;
use crate::{Dtype, Extents, Signature};

/// How the factors of a product of that signature lie, its first two operands.
pub fn layout(signature: &Signature) -> Layout {
    let begins = |operand: usize, dim| {
        let first = signature.operands.get(operand).and_then(|factor| factor.axes.first());
        first.is_some() && first == signature.number(dim).as_ref()
    };
    Layout::new(begins(0, DIMS[2]), begins(1, DIMS[1]))
}

/// 2·M·N·K operations, and (M·K + K·N) inputs and M·N outputs of traffic.
///
/// An epilogue on the sums adds no traffic, and too few operations to count.
pub fn work(extents: &Extents, input: Dtype, output: Dtype) -> Work {
    let [m, n, k] = sizes(extents).map(f64::from);
    let inputs = (m * k + k * n) * f64::from(input.bytes());
    let outputs = m * n * f64::from(output.bytes());
    Work { flops: flops(extents), bytes: inputs + outputs }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_traffic_of_a_product_is_each_matrix_once() {
        let work = work(&extents(3, 5, 7), Dtype::Bf16, Dtype::F32);
        assert_eq!((work.flops, work.bytes), (210.0, 2.0 * (21.0 + 35.0) + 4.0 * 15.0));
    }

    #[test]
    fn the_operations_of_the_largest_product_are_a_finite_number() {
        let max = crate::MAX_EXTENT;
        assert_eq!(work(&extents(max, max, max), Dtype::F16, Dtype::F16).flops, 2.0 * f64::from(max).powi(3));
    }
}
