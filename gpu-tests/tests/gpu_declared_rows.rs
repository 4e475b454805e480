//! Declared row-wise kernels on a GPU, by the way of a user, wherever their operands lie.
//!
//! `AUTOKERNEL_CASES` sets how many shapes each kernel gets (12), `AUTOKERNEL_SEED` draws others, `AUTOKERNEL_ELEMENTS` sets how many elements
//! one has at most, and `AUTOKERNEL_PROCESSES` processes share them.

use gpu_tests::rows::declared::{catalogue, check};
use gpu_tests::{settings, skip};

#[test]
fn every_declared_row_kernel_is_its_body_on_the_gpu() {
    let Some(device) = skip::gpu("gpu_declared_rows::every_declared_row_kernel_is_its_body_on_the_gpu") else { return };
    let elements = usize::try_from(settings::number("AUTOKERNEL_ELEMENTS", 200_000)).expect("they fit the memory");
    let checked = check(&device, 12, elements);
    println!("{checked} problems of {} kernels are right", catalogue().len());
}
