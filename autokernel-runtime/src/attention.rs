//! Attention: its extents, and numbers of its heads.

pub use autokernel_ops::attention::{DIMS, extents};

/// A number of each head, which a body on the score reads: a [`Row`](crate::Row) of as many elements.
pub type PerHead<T> = crate::Row<T>;
