//! All that was counted and modelled.

use serde::Serialize;

use super::accesses::{Access, HotLine};
use super::reuse::Reuse;
use super::sample::Sample;

/// What was counted and modelled of a kernel without a GPU.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Emulated {
    /// What was run.
    pub sample: Sample,
    /// Kernels that copied operands to aligned memory before; nothing below counts them.
    pub realigning_kernels: usize,
    /// Instructions of warps by the root of the opcode, the most frequent first.
    pub instructions: Vec<(String, u64)>,
    /// The lines of the CUDA source that most instructions ran of, the hottest first.
    pub hot_lines: Vec<HotLine>,
    /// Bytes by space.
    pub bytes: Bytes,
    /// Accesses of threads to shared memory, most bank conflicts first.
    pub shared: Vec<Access>,
    /// Accesses of threads to global memory, most sectors beyond their bytes first.
    pub global: Vec<Access>,
    /// Bulk copies and TMA, the most bytes first.
    pub bulk: Vec<Access>,
    /// The L2 cache over the whole launch; none where the GPU holds no block of the kernel.
    pub reuse: Option<Reuse>,
}

/// Bytes that the sample moved, by space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Bytes {
    /// From global memory to threads.
    pub global_loaded: u64,
    /// From threads to global memory.
    pub global_stored: u64,
    /// From shared memory to threads.
    pub shared_loaded: u64,
    /// From threads to shared memory.
    pub shared_stored: u64,
    /// Into shared memory by bulk copies.
    pub bulk_loaded: u64,
    /// Out of shared memory by bulk copies.
    pub bulk_stored: u64,
    /// Multiply-adds of matrix instructions, for comparison.
    pub matrix_multiply_adds: u64,
}
