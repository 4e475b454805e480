//! What `mma.sync` multiplies: the table by which rules, plans and the choice of families know the types of factors.
//!
//! One `mma` takes 32 bytes of K whatever an element is, so tiles are as deep in bytes for each type (`sm80_elements.cuh`).

use autokernel_core::{Arch, Dtype};

use crate::matmul::problem::Class;

/// Bytes of K that one stage may hold of a row of `A`.
pub const STAGE_BYTES: [u32; 2] = [64, 128];

/// Columns of a warp tile that is as low as can be: more would leave fragments no registers.
const MOST_COLUMNS_OF_A_WARP: u32 = 128;

/// The oldest GPUs that multiply factors of `input`; none where no GPU does.
pub fn oldest(input: Dtype) -> Option<Arch> {
    match input {
        Dtype::Bf16 | Dtype::F16 | Dtype::I8 | Dtype::F32 => Some(Arch::SM_80),
        Dtype::E4m3 | Dtype::E5m2 => Some(Arch::SM_89),
        Dtype::I4x2 | Dtype::I32 => None,
    }
}

/// Whether factors of `input` are multiplied on `arch`. 8-bit floats are left to Hopper's own kernels there, as its `mma.sync` turns them
/// into 16 bits first, in registers that tiles do not have.
pub fn multiplies(input: Dtype, arch: Arch) -> bool {
    let is_turned = arch == Arch::SM_90A && matches!(input, Dtype::E4m3 | Dtype::E5m2);
    oldest(input).is_some_and(|oldest| arch.capability >= oldest.capability) && !is_turned
}

/// Whether factors are what the family takes: without scales of blocks.
pub fn takes_factors(class: &Class, arch: Arch) -> bool {
    multiplies(class.input, arch) && class.block.is_none()
}

/// Whether some schedule computes products of `class` on `arch`.
pub fn serves(class: &Class, arch: Arch) -> bool {
    let columns = class.columns_of_c(MOST_COLUMNS_OF_A_WARP);
    let holds_blocks = class.made().is_none_or(|made| columns.is_multiple_of(made.block));
    takes_factors(class, arch) && !class.has_scales_of_each() && class.holds_partners(columns) && holds_blocks
}
