//! The CPU backend: for each operation, the same computation on the host.

mod attention;
mod blocked;
mod blocks;
mod elements;
mod epilogue;
mod fold;
mod input;
mod matmul;
mod matmul_blocks;
mod matmul_body;
mod matmul_gathered;
mod matmul_many;
mod matmul_weights;
mod matmul_whole;
mod operands;
mod output;
mod packing;
mod parallel;
mod picks;
mod reductions;
mod routing;
mod rows;
mod sequences;
mod span;

use crate::{Argument, Result};

pub use attention::{At, ScoreFunction, Settings as AttentionSettings, attention, scored_attention};
pub use epilogue::RowEpilogue;
pub use matmul::matmul;
pub use matmul_body::{GroupScales, Tables, matmul_body, matmul_body_with};
pub use matmul_gathered::matmul_gathered;
pub use matmul_many::{Groups, matmul_body_of_batch, matmul_body_of_groups};
pub use operands::{Place, RowFunction};
pub use packing::packing;
pub use picks::{Columns, Pick};
pub use reductions::{partners, row_max, row_mean, row_min, row_sum};
pub use routing::routing;
pub use rows::rows;

/// What computes a kernel on the CPU, given its operands in the order of its signature.
pub type CpuFunction = fn(&mut [Argument<'_>]) -> Result<()>;
