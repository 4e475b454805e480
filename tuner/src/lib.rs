//! Finds the fastest schedules for autokernel's kernels.

pub mod llm;
