//! Attention: its extents, and numbers of its heads.

pub use autokernel_ops::attention::{DIMS, extents};

/// A number of each head, which a body on the score reads: a [`Row`](crate::Row) of as many elements.
pub type PerHead<T> = crate::Row<T>;

/// Numbers of each head by how far a key lies behind a query, which a body on the score reads: a [`Matrix`](crate::Matrix) of
/// `[heads, distances]`. The column in the middle, `distances / 2`, is the query's own place; a key that is farther away than there are
/// columns has the first one or the last.
pub type PerDistance<T> = crate::Matrix<T>;
