//! The dimensions of a matrix product.

use autokernel_core::{Dim, Extents, dim};

/// The dimensions, in order: `C[m, n] = Σₖ A[m, k] · B[k, n]`.
pub const DIMS: [Dim; 3] = [dim("m"), dim("n"), dim("k")];

/// Those of a batch of products of one shape.
pub const BATCHED_DIMS: [Dim; 4] = [DIMS[0], DIMS[1], DIMS[2], dim("batch")];

/// The extents of an `m`×`n` product that sums over `k`, in elements.
///
/// ```
/// let extents = autokernel_ops::matmul::extents(4096, 1024, 512);
/// assert_eq!(extents.to_string(), "4096x1024x512");
/// ```
pub const fn extents(m: u32, n: u32, k: u32) -> Extents {
    Extents::new([(DIMS[0], m), (DIMS[1], n), (DIMS[2], k)])
}

/// The extents of a batch of `batch` such products.
pub const fn batched_extents(batch: u32, m: u32, n: u32, k: u32) -> Extents {
    let [of_m, of_n, of_k, of_batch] = BATCHED_DIMS;
    Extents::new([(of_m, m), (of_n, n), (of_k, k), (of_batch, batch)])
}

/// Those of groups of rows, `m` in all.
pub const GROUPED_DIMS: [Dim; 4] = [DIMS[0], DIMS[1], DIMS[2], dim("groups")];

/// The extents of `groups` groups of rows, `m` in all, each multiplied with a second factor of its own.
pub const fn grouped_extents(groups: u32, m: u32, n: u32, k: u32) -> Extents {
    let [of_m, of_n, of_k, of_groups] = GROUPED_DIMS;
    Extents::new([(of_m, m), (of_n, n), (of_k, k), (of_groups, groups)])
}

/// Matrices of an operand of which each product has its own.
pub fn matrices(extents: &Extents) -> u32 {
    extents.get(GROUPED_DIMS[3]).unwrap_or_else(|| products(extents))
}

/// Products of that shape that a launch computes: 1 where extents tell of no batch.
pub fn products(extents: &Extents) -> u32 {
    extents.get(BATCHED_DIMS[3]).unwrap_or(1)
}

/// M, N and K of a product's extents; 1 for what they lack.
pub fn sizes(extents: &Extents) -> [u32; 3] {
    DIMS.map(|dim| extents.get(dim).unwrap_or(1))
}

/// Multiply-adds counted as two operations: `2·m·n·k` of each product.
pub fn flops(extents: &Extents) -> f64 {
    2.0 * f64::from(products(extents)) * sizes(extents).map(f64::from).iter().product::<f64>()
}
