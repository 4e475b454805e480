//! Reductions along the columns of matrices: blocks share strips of columns and parts of the rows, and bring the parts together.

pub mod model;
pub mod plan;
pub mod print;
pub mod resident;
