//! The interpreter on small programs and on our own kernels. One program, so that it is compiled and linked once, and so
//! that the long tests of some files run beside those of others.

#[path = "../support/mod.rs"]
mod support;

mod attention_cache_kernels;
mod attention_kernels;
mod attention_packed_kernels;
mod attention_portable_kernels;
mod attention_sharing_kernels;
mod block_scales_kernels;
mod checks;
mod columns_kernels;
mod counters;
mod deletions;
mod epilogues;
mod folded_kernels;
mod fp8_output_kernels;
mod heights_kernels;
mod hostile;
mod joined_statistics_kernels;
mod made_scales_kernels;
mod mutants;
mod operand_load_kernels;
mod packing_kernels;
mod parse;
mod programs;
mod rotated_kernels;
mod routing_kernels;
mod rows_fp8_kernels;
mod rows_index_kernels;
mod rows_joined_kernels;
mod rows_kernels;
mod rows_moved_kernels;
mod rows_ring_kernels;
mod rows_staying_kernels;
mod schedules;
mod simple_kernels;
mod skinny_kernels;
mod sm80_kernels;
mod sm90_kernels;
mod speed;
mod split_k_kernels;
mod statistics_kernels;
mod stream_k_kernels;
mod tensor_copies;
mod weights_kernels;
