//! Attention: its extents, and what computes it on the CPU.

use crate::{Dim, Extents, dim};

pub use autokernel_ops::attention::sequences::{Keys, Sequences};

pub use crate::cpu::{
    At, AttentionSettings as Settings, ScoreFunction, attention as on_cpu, scored_attention as scored_on_cpu,
};

/// A number of each head, which a body on the score reads: a [`Row`](crate::Row) of as many elements.
pub type PerHead<T> = crate::Row<T>;

/// The dimensions of attention, in order: heads of keys and values are `groups`, of which `heads` is a multiple.
pub const DIMS: [Dim; 7] =
    [dim("batch"), dim("heads"), dim("groups"), dim("queries"), dim("keys"), dim("dim"), dim("values")];

/// The extents of `[batch, heads, queries, dim]` on `[batch, groups, keys, dim]` with values of as many elements.
///
/// ```
/// assert_eq!(autokernel_runtime::attention::extents([2, 16, 512, 128], [4, 512]).to_string(), "2x16x4x512x512x128x128");
/// ```
pub const fn extents([batch, heads, queries, dim]: [u32; 4], [groups, keys]: [u32; 2]) -> Extents {
    Extents::new([
        (DIMS[0], batch),
        (DIMS[1], heads),
        (DIMS[2], groups),
        (DIMS[3], queries),
        (DIMS[4], keys),
        (DIMS[5], dim),
        (DIMS[6], dim),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dimensions_are_those_of_the_operation() {
        assert_eq!(DIMS, autokernel_ops::attention::DIMS);
    }
}
