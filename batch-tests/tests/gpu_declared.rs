//! Batches and groups by the way of a user on a GPU: operands with guards around them, of any strides, the same bits in two runs.
//! `AUTOKERNEL_CASES` sets how many sizes each kernel gets, `AUTOKERNEL_SEED` draws others.

use batch_tests::check_declared::{check_declared, check_groups};
use gpu_tests::skip;

#[test]
fn every_declared_batch_is_computed_on_the_gpu() {
    let Some(device) = skip::gpu("gpu_declared::every_declared_batch_is_computed_on_the_gpu") else { return };
    check_declared(&device, 40, 300, 20);
    check_declared(&device, 4, 1500, 3);
}

#[test]
fn groups_of_up_to_three_thousand_rows_are_computed_on_the_gpu() {
    let test = "gpu_declared::groups_of_up_to_three_thousand_rows_are_computed_on_the_gpu";
    let Some(device) = skip::gpu(test) else { return };
    check_groups(&device, 40, 3000, 40);
}

/// For compute-sanitizer: small ones, of every kernel.
#[test]
fn sanitize_every_declared_batch() {
    let Some(device) = skip::gpu("gpu_declared::sanitize_every_declared_batch") else { return };
    check_declared(&device, 40, 90, 4);
}
