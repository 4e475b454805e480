//! Declared attention on the GPU, against fp64.
//!
//! `AUTOKERNEL_CASES` sets how many problems each kernel gets, `AUTOKERNEL_SEED` draws others.

use gpu_tests::attention::declared::{check, check_located, check_log_sum_exp, check_nonsense};
use gpu_tests::skip;

#[test]
fn every_declared_attention_is_fp64s_on_the_gpu() {
    let test = "gpu_attention::every_declared_attention_is_fp64s_on_the_gpu";
    let Some(device) = skip::gpu(test) else { return };
    check(&device, 12, 600);
}

#[test]
fn sequences_that_the_device_locates_are_fp64s_on_the_gpu() {
    let test = "gpu_attention::sequences_that_the_device_locates_are_fp64s_on_the_gpu";
    let Some(device) = skip::gpu(test) else { return };
    check_located(&device, 12, 3000);
}

#[test]
fn nonsense_in_device_memory_is_cut_to_what_there_is() {
    let Some(device) = skip::gpu("gpu_attention::nonsense_in_device_memory_is_cut_to_what_there_is") else { return };
    check_nonsense(&device);
}

#[test]
fn the_logarithm_of_each_sum_is_written_and_a_query_that_sees_no_key_gives_zeros() {
    let test = "gpu_attention::the_logarithm_of_each_sum_is_written_and_a_query_that_sees_no_key_gives_zeros";
    let Some(device) = skip::gpu(test) else { return };
    check_log_sum_exp(&device);
}

/// Small ones, of every kernel, for compute-sanitizer.
#[test]
fn sanitize_every_declared_attention() {
    let Some(device) = skip::gpu("gpu_attention::sanitize_every_declared_attention") else { return };
    check(&device, 3, 260);
    check_located(&device, 3, 400);
    check_nonsense(&device);
}
