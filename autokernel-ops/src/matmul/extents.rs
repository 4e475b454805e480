//! The dimensions of a matrix product.

use autokernel_core::{Dim, Extents, dim};

/// The dimensions, in order: `C[m, n] = Σₖ A[m, k] · B[k, n]`.
pub const DIMS: [Dim; 3] = [dim("m"), dim("n"), dim("k")];

/// The extents of an `m`×`n` product that sums over `k`, in elements.
///
/// ```
/// let extents = autokernel_ops::matmul::extents(4096, 1024, 512);
/// assert_eq!(extents.to_string(), "4096x1024x512");
/// ```
pub const fn extents(m: u32, n: u32, k: u32) -> Extents {
    Extents::new([(DIMS[0], m), (DIMS[1], n), (DIMS[2], k)])
}

/// M, N and K of a product's extents; 1 for what they lack.
pub fn sizes(extents: &Extents) -> [u32; 3] {
    DIMS.map(|dim| extents.get(dim).unwrap_or(1))
}

/// Multiply-adds counted as two operations: `2·m·n·k`.
pub fn flops(extents: &Extents) -> f64 {
    2.0 * sizes(extents).map(f64::from).iter().product::<f64>()
}
