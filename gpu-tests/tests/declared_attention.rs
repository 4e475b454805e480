//! Declared attention by the way of a user, wherever its operands lie: on the CPU, on an emulated Hopper, and on the GPU where
//! there is one.
//!
//! `AUTOKERNEL_CASES` sets how many problems each kernel gets, `AUTOKERNEL_SEED` draws others.

use autokernel::{Arch, Argument, Device, Emulation, Heads, Index, MatrixView, PageTable, PerHead, bf16, f16};
use autokernel_codegen::attention::plan::Sizes;
use gpu_tests::attention::sequences::Located;
use gpu_tests::attention::{Declared, kernels, ones, refusal};
use gpu_tests::{settings, skip};
use rand::SeedableRng;
use rand::rngs::StdRng;

const CAP: f32 = 20.0;

/// The number of each head.
fn slope(head: u32) -> f32 {
    0.03125 * (head + 1) as f32
}

fn of_bf16() -> [Declared<bf16>; 4] {
    [
        Declared {
            kernel: &kernels::full::KERNEL,
            launch: |device, [q, k, v], out| kernels::full::launch_on(device, q, k, v, out),
            score: None,
        },
        Declared {
            kernel: kernels::causal::kernel::<bf16>(),
            launch: |device, [q, k, v], out| kernels::causal::launch_on(device, q, k, v, out),
            score: None,
        },
        Declared {
            kernel: &kernels::window::KERNEL,
            launch: |device, [q, k, v], out| kernels::window::launch_on(device, q, k, v, out),
            score: None,
        },
        Declared {
            kernel: &kernels::capped::KERNEL,
            launch: |device, [q, k, v], out| {
                let slopes: Vec<f32> = (0..q.shape()[1] as u32).map(slope).collect();
                let slopes = PerHead::from_slice(device, &slopes)?;
                kernels::capped::launch_on(device, q, k, v, &slopes, CAP, out)
            },
            score: Some(|product, scale, head, distance| {
                let cap = f64::from(CAP);
                cap * (product * scale / cap).tanh() + f64::from(slope(head)) * distance
            }),
        },
    ]
}

fn of_f16() -> [Declared<f16>; 2] {
    [
        Declared {
            kernel: kernels::causal::kernel::<f16>(),
            launch: |device, [q, k, v], out| kernels::causal::launch_on(device, q, k, v, out),
            score: None,
        },
        Declared {
            kernel: &kernels::wide::KERNEL,
            launch: |device, [q, k, v], out| kernels::wide::launch_on(device, q, k, v, out),
            score: None,
        },
    ]
}

fn check(device: &Device, count: u64, longest: u32) {
    of_bf16().iter().for_each(|kernel| kernel.check(device, count, longest));
    of_f16().iter().for_each(|kernel| kernel.check(device, count, longest));
}

/// An emulated Hopper; none, logged, where the build had no nvcc.
fn hopper(test: &str) -> Option<Device> {
    match &kernels::full::KERNEL.descriptor().unwrap().not_compiled {
        Some(reason) => {
            skip::log(test, reason);
            None
        }
        None => Some(Device::emulated_with(Emulation::new(Arch::SM_90A).seed(3)).unwrap()),
    }
}

#[test]
fn every_declared_attention_is_fp64s_on_the_cpu() {
    check(&Device::cpu(), 8, 150);
}

#[test]
fn every_declared_attention_is_fp64s_on_an_emulated_hopper() {
    let Some(device) = hopper("declared_attention::every_declared_attention_is_fp64s_on_an_emulated_hopper") else {
        return;
    };
    check(&device, 2, 200);
}

#[test]
fn every_declared_attention_is_fp64s_on_the_gpu() {
    let test = "declared_attention::every_declared_attention_is_fp64s_on_the_gpu";
    let Some(device) = skip::gpu(test) else { return };
    check(&device, 12, 600);
}

fn located() -> [Located; 4] {
    [
        Located {
            kernel: &kernels::counted::KERNEL,
            launch: |device, [q, k, v], it, out| kernels::counted::launch_on(device, q, k, v, &it.lengths, out),
            bias: |_| 0.0,
        },
        Located {
            kernel: &kernels::paged::KERNEL,
            launch: |device, [q, k, v], it, out| {
                kernels::paged::launch_on(device, q, k, v, &it.pages, &it.lengths, out)
            },
            bias: |_| 0.0,
        },
        Located {
            kernel: &kernels::packed::KERNEL,
            launch: |device, [q, k, v], it, out| {
                kernels::packed::launch_on(device, q, k, v, &it.bounds[0], &it.bounds[1], out)
            },
            bias: |_| 0.0,
        },
        Located {
            kernel: &kernels::chunked::KERNEL,
            launch: |device, [q, k, v], it, out| {
                kernels::chunked::launch_on(device, q, k, v, &it.bounds[0], &it.pages, &it.lengths, out)
            },
            bias: |distance| 0.125 * distance,
        },
    ]
}

fn check_located(device: &Device, count: u64, longest: usize) {
    let mut rng = StdRng::seed_from_u64(settings::number("AUTOKERNEL_SEED", 52));
    let count = settings::number("AUTOKERNEL_CASES", count);
    located().iter().for_each(|kernel| kernel.check(device, &mut rng, count, longest));
}

#[test]
fn sequences_that_the_device_locates_are_fp64s_on_the_cpu() {
    check_located(&Device::cpu(), 8, 200);
}

#[test]
fn sequences_that_the_device_locates_are_fp64s_on_an_emulated_hopper() {
    let Some(device) = hopper("declared_attention::sequences_that_the_device_locates_are_fp64s_on_an_emulated_hopper")
    else {
        return;
    };
    check_located(&device, 2, 300);
}

#[test]
fn sequences_of_fewer_blocks_of_keys_than_there_are_multiprocessors_are_fp64s() {
    let test = "declared_attention::sequences_of_fewer_blocks_of_keys_than_there_are_multiprocessors_are_fp64s";
    if hopper(test).is_none() {
        return;
    }
    let many = Emulation::new(Arch::SM_90A).seed(3).multiprocessors(132);
    check_located(&Device::emulated_with(many).unwrap(), 2, 300);
}

#[test]
fn sequences_that_the_device_locates_are_fp64s_on_the_gpu() {
    let test = "declared_attention::sequences_that_the_device_locates_are_fp64s_on_the_gpu";
    let Some(device) = skip::gpu(test) else { return };
    check_located(&device, 12, 3000);
}

/// Lengths and tables that mean nothing, and caches without pages.
fn check_nonsense(device: &Device) {
    let attend = |pages: [usize; 2], table: &[i32], lengths: &[i32]| {
        let heads = |count| Heads::<bf16>::from_slice(device, &vec![bf16::ONE; count * 64 * 128], [count, 1, 64, 128]);
        let [k, v] = pages.map(|count| heads(count).unwrap());
        let q = Heads::<bf16>::zeros(device, [2, 2, 1, 128]).unwrap();
        let table = PageTable::from_slice(device, table, 2).unwrap();
        let lengths = Index::from_slice(device, lengths).unwrap();
        let mut out = Heads::<bf16>::zeros(device, [2, 2, 1, 128]).unwrap();
        kernels::paged::launch_on(device, &q, &k, &v, &table, &lengths, &mut out).unwrap();
        let out = out.to_vec().unwrap();
        out.chunks_exact(2 * 128).map(|of_sequence| of_sequence[0].to_f32()).collect::<Vec<_>>()
    };
    let cut = attend([3, 3], &[2, 0, 1, 1], &[i32::MAX, i32::MIN]);
    assert_eq!(cut, [1.0, 0.0], "as many keys as the table has pages for, and none");
    let half = attend([3, 3], &[-1, 1, i32::MAX, 3], &[128, 128]);
    assert_eq!(half, [0.5, 0.0], "what is no page is zeros");
    assert_eq!(attend([0, 3], &[0, 1, 2, 3], &[128, 7]), [0.0, 0.0]);
    assert_eq!(attend([3, 0], &[0, 1, 2, 3], &[128, 7]), [0.0, 0.0]);
    assert_eq!(attend([2, 1], &[0, 1, 1, 1], &[128, 7]), [0.5, 0.0], "fewer pages of values");
}

#[test]
fn nonsense_in_device_memory_is_cut_to_what_there_is() {
    let test = "declared_attention::nonsense_in_device_memory_is_cut_to_what_there_is";
    check_nonsense(&Device::cpu());
    if let Some(device) = hopper(test) {
        check_nonsense(&device);
    }
    if let Some(device) = skip::gpu(test) {
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

/// More queries than keys, so that the first see none; against a softmax of equal weights, whose sum is a number of keys.
fn check_log_sum_exp(device: &Device) {
    let (queries, keys) = (70, 40);
    let (q, k, v) =
        (Heads::zeros(device, [2, 4, queries, 64]).unwrap(), ones([2, 2, keys, 64]), ones([2, 2, keys, 64]));
    let [k, v] =
        [k, v].map(|heads| Heads::<bf16>::from_slice(device, &heads.to_vec().unwrap(), heads.shape()).unwrap());
    let mut out = Heads::<bf16>::zeros(device, [2, 4, queries, 64]).unwrap();
    let mut log_sum_exp = Heads::<f32>::zeros(device, [1, 2, 4, queries]).unwrap();
    kernels::summed::launch_on(device, &q, &k, &v, &mut out, &mut log_sum_exp).unwrap();
    let out = out.to_vec().unwrap();
    for (at, got) in log_sum_exp.to_vec().unwrap().into_iter().enumerate() {
        let seen = (at % queries + 1 + keys).saturating_sub(queries);
        assert!((got - (seen as f32).ln()).abs() < 1e-5 || (seen == 0 && got == f32::NEG_INFINITY), "{at}: {got}");
        let expected = if seen == 0 { 0.0 } else { 1.0 };
        assert!(out[64 * at..64 * (at + 1)].iter().all(|value| value.to_f32() == expected), "{at}");
    }
    let mut narrow = Heads::<f32>::zeros(device, [1, 2, 4, queries - 1]).unwrap();
    let mut out = Heads::<bf16>::zeros(device, [2, 4, queries, 64]).unwrap();
    let text = refusal(kernels::summed::launch_on(device, &q, &k, &v, &mut out, &mut narrow));
    assert!(text.contains("queries"), "{text}");
}

#[test]
fn the_logarithm_of_each_sum_is_written_and_a_query_that_sees_no_key_gives_zeros() {
    let test = "declared_attention::the_logarithm_of_each_sum_is_written_and_a_query_that_sees_no_key_gives_zeros";
    check_log_sum_exp(&Device::cpu());
    if let Some(device) = hopper(test) {
        check_log_sum_exp(&device);
    }
    if let Some(device) = skip::gpu(test) {
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

#[test]
fn a_kernel_has_no_image_where_nothing_computes_attention() {
    let test = "declared_attention::a_kernel_has_no_image_where_nothing_computes_attention";
    if hopper(test).is_none() {
        return;
    }
    let ampere = Device::emulated(Arch::SM_80).unwrap();
    let (q, k, v) = (ones([1, 1, 1, 64]), ones([1, 1, 1, 64]), ones([1, 1, 1, 64]));
    let mut out = ones::<bf16>([1, 1, 1, 64]);
    let text = refusal(kernels::full::launch_on(&ampere, &q, &k, &v, &mut out));
    assert!(text.contains("sm_80") || text.contains("8.0"), "{text}");
}
