//! cuBLASLt with its descriptors made once and every heuristic at hand.
//!
//! cuBLASLt is column-major. A row-major `C = A · B` is the column-major `Cᵀ = Bᵀ · Aᵀ` on the same bytes, so `B` is
//! passed first and the sizes are swapped.

mod descriptor;
mod gemm;
mod library;
mod problem;
mod scaling;

pub use gemm::Gemm;
pub use library::CublasLt;
pub use problem::{Added, Epilogue, GemmProblem};
