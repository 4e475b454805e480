//! Batches and groups by the way of a user, on the CPU and on emulated GPUs. `AUTOKERNEL_CASES` sets how many sizes each kernel gets,
//! `AUTOKERNEL_SEED` draws others.

use autokernel::{Arch, Batch, BatchView, Device, Index, Matrix, RowBatch, bf16};
use batch_tests::catalogue::catalogue;
use batch_tests::check_declared::{check_declared, check_emulated};
use batch_tests::declared::{gated, scores, swiglu};
use gpu_tests::skip;

#[test]
fn every_declared_batch_is_computed_on_the_cpu() {
    check_declared(&Device::cpu(), 12, 60, 7);
}

#[test]
fn every_declared_batch_is_computed_on_an_emulated_gpu_of_each_arch() {
    if let Some(reason) = &catalogue()[0].kernel.descriptor().unwrap().not_compiled {
        return skip::log("declared::every_declared_batch_is_computed_on_an_emulated_gpu_of_each_arch", reason);
    }
    for arch in [Arch::SM_80, Arch::SM_90A] {
        check_emulated(arch, 2, 100, 4);
    }
}

#[test]
fn one_matrix_may_be_all_of_a_batch_and_its_rows_another_ones_heads() {
    let device = Device::cpu();
    // [tokens, heads, width], as a projection leaves it.
    let (tokens, heads, width) = (3, 2, 4);
    let projected: Vec<bf16> = (0..tokens * heads * width).map(|at| bf16::from_f32((at % 7) as f32)).collect();
    let of_heads =
        |data| BatchView::from_slice_with_strides(data, [heads, tokens, width], [width, heads * width]).unwrap();
    let q = of_heads(&projected);
    let key: Matrix<bf16> = Matrix::from_slice(&device, &projected[..2 * width], 2, width).unwrap();
    let mut out = Batch::<f32>::zeros(&device, [heads, tokens, 2]).unwrap();
    scores::launch(&q, BatchView::broadcast(&key, heads), 0.5, &mut out).unwrap();
    let out = out.to_vec().unwrap();
    for (head, token, row) in (0..heads).flat_map(|h| (0..tokens).flat_map(move |t| (0..2).map(move |r| (h, t, r)))) {
        let q = &projected[(token * heads + head) * width..][..width];
        let sum: f32 = q.iter().zip(&projected[row * width..][..width]).map(|(a, b)| a.to_f32() * b.to_f32()).sum();
        assert_eq!(out[(head * tokens + token) * 2 + row], 0.5 * sum);
    }
}

#[test]
fn operands_of_other_batches_are_refused_by_their_names_and_sizes() {
    let device = Device::cpu();
    let batch = |count| Batch::<bf16>::zeros(&device, [count, 5, 8]).unwrap();
    let mut out = Batch::<f32>::zeros(&device, [2, 5, 5]).unwrap();
    let text = scores(&batch(2), &batch(3), 1.0, &mut out).unwrap_err().to_string();
    assert!(text.contains("the matrices of `q` (2x5x8)") && text.contains("the matrices of `k` (3x5x8)"), "{text}");
    let x = Matrix::<bf16>::zeros(&device, 5, 72).unwrap();
    let weights = Batch::<bf16>::zeros(&device, [2, 3, 72]).unwrap();
    let scale = autokernel::Column::zeros(&device, 5).unwrap();
    let mut out = Batch::<bf16>::zeros(&device, [3, 5, 3]).unwrap();
    let text = gated(&x, &weights, &weights, &scale, &mut out).unwrap_err().to_string();
    assert!(text.contains("`batch`") && text.contains("the matrices of `out` (3x5x3)"), "{text}");
    assert!(RowBatch::<f32>::from_slice(&device, &[0.0; 5], 2, 3).is_err());
}

#[test]
fn of_no_groups_nothing_is_written() {
    let mut devices = vec![Device::cpu()];
    match &catalogue()[0].kernel.descriptor().unwrap().not_compiled {
        Some(reason) => eprintln!("skipped on emulated GPUs: {reason}"),
        None => devices.extend([Arch::SM_80, Arch::SM_90A].map(|arch| Device::emulated(arch).unwrap())),
    }
    for device in devices {
        let x = Matrix::<bf16>::zeros(&device, 5, 8).unwrap();
        let weights = Batch::<bf16>::zeros(&device, [0, 3, 8]).unwrap();
        let mut out = Matrix::from_slice(&device, &[bf16::ONE; 15], 5, 3).unwrap();
        let offsets = Index::from_slice(&device, &[2]).unwrap();
        swiglu::launch_on(&device, &x, &weights, &weights, &offsets, &mut out).unwrap();
        assert_eq!(out.to_vec().unwrap(), [bf16::ONE; 15], "{device}");
    }
}

#[test]
fn offsets_that_are_out_of_order_or_range_are_found() {
    let device = Device::cpu();
    let check =
        |offsets: &[i32]| Index::from_slice(&device, offsets).unwrap().check_groups(10).map_err(|it| it.to_string());
    assert_eq!(check(&[0, 0, 4, 10]), Ok(()));
    for (offsets, part) in
        [(&[0, 5, 4][..], "offset number 2 is 4"), (&[-1, 5], "number 0 is -1"), (&[0, 11], "number 1 is 11")]
    {
        let text = check(offsets).unwrap_err();
        assert!(text.contains(part) && text.contains("10 rows"), "{text}");
    }
}

#[test]
fn offsets_of_other_groups_than_there_are_weights_are_refused() {
    let device = Device::cpu();
    let (x, w) = (Matrix::<bf16>::zeros(&device, 9, 8).unwrap(), Batch::<bf16>::zeros(&device, [3, 5, 8]).unwrap());
    let mut out = Matrix::<bf16>::zeros(&device, 9, 5).unwrap();
    let mut launch = |offsets: &[i32]| {
        let offsets = Index::from_slice(&device, offsets).unwrap();
        swiglu(&x, &w, &w, &offsets, &mut out).map_err(|error| error.to_string())
    };
    assert_eq!(launch(&[0, 4, 4, 9]), Ok(()));
    let text = launch(&[0, 4, 9]).unwrap_err();
    assert!(text.contains("`groups`") && text.contains("the length of `offsets`, less one"), "{text}");
    assert!(launch(&[]).unwrap_err().contains("`offsets` is empty"));
}
