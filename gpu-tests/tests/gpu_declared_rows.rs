//! Declared row-wise kernels on a GPU, by the way of a user, wherever their operands lie.
//!
//! `AUTOKERNEL_CASES` sets how many shapes each kernel gets (12), `AUTOKERNEL_SEED` draws others.

use gpu_tests::rows::declared::check;
use gpu_tests::skip;

#[test]
fn every_declared_row_kernel_is_its_body_on_the_gpu() {
    let Some(device) = skip::gpu("gpu_declared_rows::every_declared_row_kernel_is_its_body_on_the_gpu") else { return };
    check(&device, 12, 200_000);
}
