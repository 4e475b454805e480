//! Reductions along the columns of matrices: a kernel for parts of the rows, and one that brings those together.

pub mod plan;
pub mod print;
