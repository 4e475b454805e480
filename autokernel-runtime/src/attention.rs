//! Attention: its extents, and what computes it on the CPU.

pub use autokernel_ops::attention::sequences::{Keys, Sequences};
pub use autokernel_ops::attention::{DIMS, extents};

pub use crate::cpu::{
    At, AttentionSettings as Settings, ScoreFunction, attention as on_cpu, scored_attention as scored_on_cpu,
};

/// A number of each head, which a body on the score reads: a [`Row`](crate::Row) of as many elements.
pub type PerHead<T> = crate::Row<T>;
