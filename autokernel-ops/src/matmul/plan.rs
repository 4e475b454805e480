//! How the kernels of a matrix product are launched: the one place that says so. CUDA's argument struct and constants
//! are printed from it, and the runtime launches by it.

use autokernel_core::plan::Axis;
use autokernel_core::{Alignment, Arg, Dimension, Field, Operand, Role, Signature, dim};

use crate::matmul::problem::Problem;
use crate::matmul::schedule::{Raster, RasterOrder};

// Operands and dimensions, by their numbers in the signature.
pub(super) const A: u8 = 0;
pub(super) const B: u8 = 1;
pub(super) const C: u8 = 2;
pub(super) const M: u8 = 0;
pub(super) const N: u8 = 1;
pub(super) const K: u8 = 2;

/// What TMA and 16-byte loads ask of addresses.
pub(super) const VECTOR_BYTES: u32 = 16;

/// What a kernel for `problem` takes.
pub fn signature(problem: &Problem) -> Signature {
    let dimension = |name, known| Dimension { name: dim(name), known };
    let operand = |name: &str, role, dtype, axes| Operand { name: name.to_owned(), role, dtype, axes };
    let b = if problem.layout.transpose_b() { vec![N, K] } else { vec![K, N] };
    Signature {
        dims: vec![dimension("m", None), dimension("n", problem.known_n), dimension("k", problem.known_k)],
        operands: vec![
            operand("a", Role::Input, problem.input, vec![M, K]),
            operand("b", Role::Input, problem.input, b),
            operand("c", Role::Output, problem.output, vec![M, N]),
        ],
    }
}

/// Each row of both inputs begins at a multiple of 16 bytes.
pub(super) fn aligned_rows() -> Vec<Alignment> {
    [A, B].map(|operand| Alignment { operand, bytes: VECTOR_BYTES, rows: true }).to_vec()
}

pub(super) fn field(name: &str, arg: Arg) -> Field {
    Field { name: name.to_owned(), arg }
}

pub(super) fn pointer(name: &str, operand: u8) -> Field {
    field(name, Arg::Pointer { operand })
}

/// The leading dimension of an operand.
pub(super) fn leading(name: &str, operand: u8) -> Field {
    field(name, Arg::Stride { operand, axis: 0 })
}

pub(super) fn extents() -> [Field; 3] {
    [("m", M), ("n", N), ("k", K)].map(|(name, dim)| field(name, Arg::Extent { dim }))
}

/// The order of tiles, as `raster_of` in raster.cuh reads it; a group is cut to its axis there.
pub(super) fn raster(raster: Raster) -> [Field; 2] {
    let order = match raster.order {
        RasterOrder::AlongM => 0,
        RasterOrder::AlongN => 1,
    };
    let group = i32::try_from(raster.group).unwrap_or(i32::MAX);
    [("raster_order", order), ("raster_group", group)].map(|(name, value)| field(name, Arg::Knob { value }))
}

/// Clusters that cover that many rows and columns of C each.
pub(super) fn tiles(rows: u32, columns: u32) -> Vec<Axis> {
    vec![Axis { dim: M, step: rows }, Axis { dim: N, step: columns }]
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
