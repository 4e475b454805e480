//! Declared attention by the way of a user, on the CPU, on an emulated Hopper and by the portable family.
//!
//! `AUTOKERNEL_CASES` sets how many problems each kernel gets, `AUTOKERNEL_SEED` draws others.

use autokernel::{Arch, Argument, Device, Emulation, Heads, MatrixView, bf16};
use autokernel_codegen::attention::plan::Sizes;
use gpu_tests::attention::declared::{check, check_located, check_log_sum_exp, check_nonsense, of_bf16};
use gpu_tests::attention::{kernels, ones, refusal};
use gpu_tests::skip;

/// An emulated Hopper; none, logged, where the build had no nvcc.
fn hopper(test: &str) -> Option<Device> {
    emulated(test, Arch::SM_90A)
}

fn emulated(test: &str, arch: Arch) -> Option<Device> {
    match &kernels::full::KERNEL.descriptor().unwrap().not_compiled {
        Some(reason) => {
            skip::log(test, reason);
            None
        }
        None => Some(Device::emulated_with(Emulation::new(arch).seed(3)).unwrap()),
    }
}

#[test]
fn every_declared_attention_is_fp64s_by_the_portable_family() {
    let test = "declared_attention::every_declared_attention_is_fp64s_by_the_portable_family";
    let Some(device) = emulated(test, Arch::SM_80) else { return };
    check(&device, 2, 200);
}

#[test]
fn sequences_that_the_device_locates_are_fp64s_by_the_portable_family_and_nonsense_is_cut() {
    let test = "declared_attention::sequences_that_the_device_locates_are_fp64s_by_the_portable_family";
    let Some(device) = emulated(test, Arch::SM_80) else { return };
    check_located(&device, 1, 300);
    check_nonsense(&device);
}

#[test]
fn every_declared_attention_is_fp64s_on_the_cpu() {
    check(&Device::cpu(), 4, 150);
}

#[test]
fn every_declared_attention_is_fp64s_on_an_emulated_hopper() {
    let Some(device) = hopper("declared_attention::every_declared_attention_is_fp64s_on_an_emulated_hopper") else {
        return;
    };
    check(&device, 2, 200);
}

#[test]
fn sequences_that_the_device_locates_are_fp64s_on_the_cpu() {
    check_located(&Device::cpu(), 4, 200);
}

#[test]
fn sequences_that_the_device_locates_are_fp64s_on_an_emulated_hopper() {
    let Some(device) = hopper("declared_attention::sequences_that_the_device_locates_are_fp64s_on_an_emulated_hopper")
    else {
        return;
    };
    check_located(&device, 1, 300);
}

#[test]
fn sequences_of_fewer_blocks_of_keys_than_there_are_multiprocessors_are_fp64s() {
    let test = "declared_attention::sequences_of_fewer_blocks_of_keys_than_there_are_multiprocessors_are_fp64s";
    if hopper(test).is_none() {
        return;
    }
    let many = Emulation::new(Arch::SM_90A).seed(3).multiprocessors(132);
    check_located(&Device::emulated_with(many).unwrap(), 1, 300);
}

#[test]
fn a_tile_whose_keys_more_blocks_see_than_are_put_together_at_once_is_fp64s() {
    let test = "declared_attention::a_tile_whose_keys_more_blocks_see_than_are_put_together_at_once_is_fp64s";
    if hopper(test).is_none() {
        return;
    }
    let many = Device::emulated_with(Emulation::new(Arch::SM_90A).seed(3).multiprocessors(132)).unwrap();
    let [_, causal, ..] = of_bf16();
    // 40 blocks of 128 keys.
    let sizes = Sizes { batch: 1, heads: 4, groups: 1, queries: 1, keys: 5000 };
    assert!(causal.plan(&many, &sizes).contains("\"share_keys\":true"));
    causal.check_sizes(&many, &sizes);
}

#[test]
fn nonsense_in_device_memory_is_cut_to_what_there_is() {
    let test = "declared_attention::nonsense_in_device_memory_is_cut_to_what_there_is";
    check_nonsense(&Device::cpu());
    if let Some(device) = hopper(test) {
        check_nonsense(&device);
    }
}

#[test]
fn few_queries_on_many_keys_get_blocks_that_share_keys() {
    let Some(device) = hopper("declared_attention::few_queries_on_many_keys_get_blocks_that_share_keys") else {
        return;
    };
    let [_, causal, ..] = of_bf16();
    let plan = |queries| causal.plan(&device, &Sizes { batch: 1, heads: 32, groups: 8, queries, keys: 8192 });
    assert!(plan(1).contains("\"share_keys\":true"), "{}", plan(1));
    assert!(plan(8192).contains("\"share_keys\":false"), "{}", plan(8192));
}

#[test]
fn the_logarithm_of_each_sum_is_written_and_a_query_that_sees_no_key_gives_zeros() {
    let test = "declared_attention::the_logarithm_of_each_sum_is_written_and_a_query_that_sees_no_key_gives_zeros";
    check_log_sum_exp(&Device::cpu());
    if let Some(device) = hopper(test) {
        check_log_sum_exp(&device);
    }
}

#[test]
fn long_sequences_get_other_tiles_than_short_ones() {
    let Some(device) = hopper("declared_attention::long_sequences_get_other_tiles_than_short_ones") else { return };
    let [_, causal, ..] = of_bf16();
    let plan =
        |batch, tokens| causal.plan(&device, &Sizes { batch, heads: 16, groups: 16, queries: tokens, keys: tokens });
    assert_ne!(plan(32, 512), plan(1, 16_384));
}

#[test]
fn operands_that_do_not_fit_together_are_refused_with_what_does_not() {
    let out = || ones::<bf16>([2, 4, 8, 64]);
    let elements = vec![bf16::ONE; 64 * 64];
    let matrix = || Argument::from(MatrixView::from_slice(&elements, 64, 64).unwrap());
    let attend = |q: [usize; 4], k: [usize; 4], v: [usize; 4]| -> String {
        let (q, k, v) = (ones(q), ones(k), ones(v));
        let mut out: Heads<bf16> = out();
        refusal(kernels::full(&q, &k, &v, &mut out))
    };
    let text = attend([2, 4, 8, 64], [2, 3, 9, 64], [2, 3, 9, 64]);
    assert!(text.contains("`heads` = 4 is no multiple of `groups` = 3"), "{text}");
    let text = attend([2, 4, 8, 64], [2, 2, 9, 64], [2, 2, 7, 64]);
    assert!(text.contains("keys") && text.contains("(2x2x7x64)"), "{text}");
    let text =
        kernels::full::KERNEL.launch(&Device::cpu(), &mut [matrix(), matrix(), matrix(), out().view_mut().into()]);
    assert!(refusal(text).contains("pass `Heads`"));
    let text = attend([2, 4, 8, 32], [2, 2, 9, 32], [2, 2, 9, 64]);
    assert!(text.contains("64") && text.contains("dim"), "{text}");
}
