//! The kernels that [`super::kernels`] declares, with their launches, and what is checked of them on whatever device.
//!
//! `AUTOKERNEL_CASES` sets how many problems each kernel gets, `AUTOKERNEL_SEED` draws others.

use autokernel::{Device, Heads, Index, PageTable, PerHead, bf16, f16};
use rand::SeedableRng;
use rand::rngs::StdRng;

use super::sequences::Located;
use super::{Body, Declared, kernels, ones, refusal};
use crate::settings;

const CAP: f32 = 20.0;
/// As wide as it may be where shifts need not move, and wider.
const WIDE_CAPS: [f32; 2] = [50.0, 200.0];

/// The number of each head.
fn slope(head: u32) -> f32 {
    0.03125 * (head + 1) as f32
}

/// Kernels of bf16.
pub fn of_bf16() -> [Declared<bf16>; 7] {
    [
        Declared {
            kernel: &kernels::full::KERNEL,
            launch: |device, [q, k, v], out, _| kernels::full::launch_on(device, q, k, v, out),
            score: None,
        },
        Declared {
            kernel: kernels::causal::kernel::<bf16>(),
            launch: |device, [q, k, v], out, _| kernels::causal::launch_on(device, q, k, v, out),
            score: None,
        },
        Declared {
            kernel: &kernels::window::KERNEL,
            launch: |device, [q, k, v], out, _| kernels::window::launch_on(device, q, k, v, out),
            score: None,
        },
        Declared {
            kernel: &kernels::capped::KERNEL,
            launch: |device, [q, k, v], out, _| {
                let slopes: Vec<f32> = (0..q.shape()[1] as u32).map(slope).collect();
                let slopes = PerHead::from_slice(device, &slopes)?;
                kernels::capped::launch_on(device, q, k, v, &slopes, CAP, out)
            },
            score: Some(Body {
                score: |product, scale, head, distance| {
                    let cap = f64::from(CAP);
                    cap * (product * scale / cap).tanh() + f64::from(slope(head)) * distance
                },
                operands: |head| vec![f64::from(slope(head)), f64::from(CAP)],
            }),
        },
        Declared {
            kernel: &kernels::bounded::KERNEL,
            launch: |device, [q, k, v], out, _| kernels::bounded::launch_on(device, q, k, v, WIDE_CAPS[0], out),
            score: Some(bounded_by::<0>()),
        },
        Declared {
            kernel: &kernels::bounded::KERNEL,
            launch: |device, [q, k, v], out, _| kernels::bounded::launch_on(device, q, k, v, WIDE_CAPS[1], out),
            score: Some(bounded_by::<1>()),
        },
        Declared {
            kernel: &kernels::summed::KERNEL,
            launch: |device, [q, k, v], out, sums| kernels::summed::launch_on(device, q, k, v, out, sums),
            score: None,
        },
    ]
}

/// One of [`WIDE_CAPS`].
fn bounded_by<const AT: usize>() -> Body {
    Body {
        score: |product, scale, _, _| {
            let cap = f64::from(WIDE_CAPS[AT]);
            cap * (product * scale / cap).tanh()
        },
        operands: |_| vec![f64::from(WIDE_CAPS[AT])],
    }
}

/// Kernels of f16.
pub fn of_f16() -> [Declared<f16>; 2] {
    [
        Declared {
            kernel: kernels::causal::kernel::<f16>(),
            launch: |device, [q, k, v], out, _| kernels::causal::launch_on(device, q, k, v, out),
            score: None,
        },
        Declared {
            kernel: &kernels::wide::KERNEL,
            launch: |device, [q, k, v], out, _| kernels::wide::launch_on(device, q, k, v, out),
            score: None,
        },
    ]
}

/// Every kernel, by so many random problems.
///
/// # Panics
/// A result is not fp64's.
pub fn check(device: &Device, count: u64, longest: u32) {
    of_bf16().iter().for_each(|kernel| kernel.check(device, count, longest));
    of_f16().iter().for_each(|kernel| kernel.check(device, count, longest));
}

/// Kernels whose sequences lie where numbers in device memory say.
pub fn located() -> [Located; 4] {
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

/// Every kernel of [`located`], by so many random problems.
///
/// # Panics
/// A result is not fp64's.
pub fn check_located(device: &Device, count: u64, longest: usize) {
    let mut rng = StdRng::seed_from_u64(settings::number("AUTOKERNEL_SEED", 52));
    let count = settings::number("AUTOKERNEL_CASES", count);
    located().iter().for_each(|kernel| kernel.check(device, &mut rng, count, longest));
}

/// Lengths and tables that mean nothing, and caches without pages.
///
/// # Panics
/// A result is not what there is of them.
pub fn check_nonsense(device: &Device) {
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

/// More queries than keys, so that the first see none; against a softmax of equal weights, whose sum is a number of keys.
///
/// # Panics
/// A result is not what that number makes it.
pub fn check_log_sum_exp(device: &Device) {
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
