//! Matrix products: their extents, and what they cost.

use crate::roofline::Work;
use crate::{Dim, Dtype, Extents, Signature, dim};

pub use crate::cpu::{matmul as on_cpu, matmul_body as body_on_cpu};

/// The dimensions of a product, in order: `out[m, n] = Σₖ a[m, k] · b[k, n]`.
pub const DIMS: [Dim; 3] = [dim("m"), dim("n"), dim("k")];

/// The extents of an `m`×`n` product that sums over `k`.
///
/// ```
/// let extents = autokernel_runtime::matmul::extents(4096, 1024, 512);
/// assert_eq!(extents.to_string(), "4096x1024x512");
/// ```
pub const fn extents(m: u32, n: u32, k: u32) -> Extents {
    Extents::new([(DIMS[0], m), (DIMS[1], n), (DIMS[2], k)])
}

/// M, N and K of a product's extents; 1 for what they lack.
pub fn sizes(extents: &Extents) -> [u32; 3] {
    DIMS.map(|dim| extents.get(dim).unwrap_or(1))
}

/// Whether a product of that signature stores `b` as `[n, k]`.
pub fn transposes_b(signature: &Signature) -> bool {
    let b = signature.operands.get(1).and_then(|b| b.axes.first());
    b.is_some() && b == signature.number(DIMS[1]).as_ref()
}

/// 2·M·N·K operations, and (M·K + K·N) inputs and M·N outputs of traffic.
///
/// An epilogue on the sums adds no traffic, and too few operations to count.
pub fn work(extents: &Extents, input: Dtype, output: Dtype) -> Work {
    let [m, n, k] = sizes(extents).map(f64::from);
    let inputs = (m * k + k * n) * f64::from(input.bytes());
    let outputs = m * n * f64::from(output.bytes());
    Work { flops: 2.0 * m * n * k, bytes: inputs + outputs }
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
