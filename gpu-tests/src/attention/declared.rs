//! The kernels that [`super::kernels`] declares, with their launches, and what is checked of them on whatever device.
//!
//! `AUTOKERNEL_CASES` sets how many problems each kernel gets, `AUTOKERNEL_SEED` draws others.

use autokernel::{Device, Heads, Index, PageTable, PerDistance, PerHead, Result, Scalar, bf16, f16};
use rand::SeedableRng;
use rand::rngs::StdRng;

use super::sequences::Located;
use super::{Body, Declared, Value, Where, kernels, ones, refusal};
use crate::settings;

const CAP: f32 = 20.0;
/// As wide as it may be where shifts need not move, and wider.
const WIDE_CAPS: [f32; 2] = [50.0, 200.0];

/// The number of each head.
fn slope(head: u32) -> f32 {
    0.03125 * (head + 1) as f32
}

/// A scaled score under a cap.
fn capped(product: f64, at: Where, cap: f32) -> f64 {
    let cap = f64::from(cap);
    cap * (product * at.scale / cap).tanh()
}

fn slopes(device: &Device, heads: usize) -> Result<PerHead<f32>> {
    PerHead::from_slice(device, &(0..heads as u32).map(slope).collect::<Vec<f32>>())
}

/// What scores are multiplied by, in device memory.
const FACTOR: f32 = 1.25;
/// Numbers of a head by distance: fewer than keys are away.
const DISTANCES: usize = 41;

fn bias(head: u32, column: usize) -> f32 {
    ((head as usize * 31 + column * 17) % 23) as f32 / 7.0 - 1.5
}

fn biases(device: &Device, heads: usize) -> Result<PerDistance<f32>> {
    let all = (0..heads as u32).flat_map(|head| (0..DISTANCES).map(move |column| bias(head, column)));
    PerDistance::from_slice(device, &all.collect::<Vec<f32>>(), heads, DISTANCES)
}

/// That of a key.
fn bias_at(at: Where) -> f64 {
    let middle = DISTANCES as f64 / 2.0 - 0.5;
    let column = (at.distance + middle).clamp(0.0, DISTANCES as f64 - 1.0);
    bias(at.head, column as usize).into()
}

fn of_distances(head: u32) -> Value {
    Value::ByDistance((0..DISTANCES).map(|column| bias(head, column).into()).collect())
}

/// Kernels of bf16.
pub fn of_bf16() -> [Declared<bf16>; 11] {
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
                let slopes = slopes(device, q.shape()[1])?;
                kernels::capped::launch_on(device, q, k, v, &slopes, CAP, out)
            },
            score: Some(Body {
                score: |product, at| capped(product, at, CAP) + f64::from(slope(at.head)) * at.distance,
                operands: |head| vec![slope(head).into(), CAP.into()],
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
        Declared {
            kernel: &kernels::relative::KERNEL,
            launch: |device, [q, k, v], out, _| {
                let (factor, biases) = (Scalar::new(device, FACTOR)?, biases(device, q.shape()[1])?);
                kernels::relative::launch_on(device, q, k, v, &factor, &biases, out)
            },
            score: Some(Body {
                score: |product, at| f64::from(FACTOR) * product * at.scale + bias_at(at),
                operands: |head| vec![FACTOR.into(), of_distances(head)],
            }),
        },
        Declared {
            kernel: &kernels::deep::KERNEL,
            launch: |device, [q, k, v], out, _| kernels::deep::launch_on(device, q, k, v, out),
            score: None,
        },
        Declared {
            kernel: &kernels::broad::KERNEL,
            launch: |device, [q, k, v], out, _| kernels::broad::launch_on(device, q, k, v, out),
            score: None,
        },
        Declared {
            kernel: &kernels::widest::KERNEL,
            launch: |device, [q, k, v], out, _| kernels::widest::launch_on(device, q, k, v, out),
            score: None,
        },
    ]
}

/// One of [`WIDE_CAPS`].
fn bounded_by<const AT: usize>() -> Body {
    Body { score: |product, at| capped(product, at, WIDE_CAPS[AT]), operands: |_| vec![WIDE_CAPS[AT].into()] }
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
pub fn located() -> [Located<bf16>; 9] {
    [
        Located {
            kernel: &kernels::counted::KERNEL,
            launch: |device, [q, k, v], it, out, _| kernels::counted::launch_on(device, q, k, v, &it.lengths, out),
            score: None,
        },
        Located {
            kernel: &kernels::paged::KERNEL,
            launch: |device, [q, k, v], it, out, _| {
                kernels::paged::launch_on(device, q, k, v, &it.pages, &it.lengths, out)
            },
            score: None,
        },
        Located {
            kernel: &kernels::packed::KERNEL,
            launch: |device, [q, k, v], it, out, _| {
                kernels::packed::launch_on(device, q, k, v, &it.bounds[0], &it.bounds[1], out)
            },
            score: None,
        },
        Located {
            kernel: &kernels::chunked::KERNEL,
            launch: |device, [q, k, v], it, out, _| {
                kernels::chunked::launch_on(device, q, k, v, &it.bounds[0], &it.pages, &it.lengths, out)
            },
            score: Some(Body {
                score: |product, at| product * at.scale + 0.125 * at.distance,
                operands: |_| Vec::new(),
            }),
        },
        Located {
            kernel: &kernels::deep_paged::KERNEL,
            launch: |device, [q, k, v], it, out, _| {
                kernels::deep_paged::launch_on(device, q, k, v, &it.pages, &it.lengths, out)
            },
            score: None,
        },
        Located {
            kernel: &kernels::broad_paged::KERNEL,
            launch: |device, [q, k, v], it, out, _| {
                kernels::broad_paged::launch_on(device, q, k, v, &it.pages, &it.lengths, out)
            },
            score: None,
        },
        Located {
            kernel: &kernels::widest_paged::KERNEL,
            launch: |device, [q, k, v], it, out, _| {
                kernels::widest_paged::launch_on(device, q, k, v, &it.pages, &it.lengths, out)
            },
            score: None,
        },
        Located {
            kernel: &kernels::ragged::KERNEL,
            launch: |device, [q, k, v], it, out, sums| {
                kernels::ragged::launch_on(device, q, k, v, &it.bounds[0], &it.lengths, out, sums)
            },
            score: None,
        },
        Located {
            kernel: &kernels::capped_paged::KERNEL,
            launch: |device, [q, k, v], it, out, sums| {
                let slopes = slopes(device, q.shape()[1])?;
                kernels::capped_paged::launch_on(device, q, k, v, &it.pages, &it.lengths, &slopes, CAP, out, sums)
            },
            score: Some(Body {
                score: |product, at| {
                    let of_sequence = 1.0 + f64::from(at.batch);
                    capped(product, at, CAP) + f64::from(slope(at.head)) * at.distance / of_sequence
                },
                operands: |head| vec![slope(head).into(), CAP.into()],
            }),
        },
    ]
}

/// From which key on a body hides those that are not near.
const FIRST: f32 = 9.0;

/// The same of f16.
pub fn located_f16() -> [Located<f16>; 3] {
    [
        Located {
            kernel: &kernels::relative_paged::KERNEL,
            launch: |device, [q, k, v], it, out, sums| {
                let heads = q.shape()[1];
                let (factor, biases) = (Scalar::new(device, FACTOR)?, biases(device, heads)?);
                let slopes = slopes(device, heads)?;
                kernels::relative_paged::launch_on(
                    device,
                    q,
                    k,
                    v,
                    &it.pages,
                    &it.lengths,
                    &factor,
                    &biases,
                    &slopes,
                    out,
                    sums,
                )
            },
            score: Some(Body {
                score: |product, at| {
                    let bias = bias_at(at);
                    let near = if bias > 0.0 { bias } else { f64::from(slope(at.head)) * bias };
                    f64::from(FACTOR) * (product * at.scale + near)
                },
                operands: |head| vec![FACTOR.into(), of_distances(head), slope(head).into()],
            }),
        },
        Located {
            kernel: &kernels::packed_sums::KERNEL,
            launch: |device, [q, k, v], it, out, sums| {
                kernels::packed_sums::launch_on(device, q, k, v, &it.bounds[0], &it.bounds[1], out, sums)
            },
            score: None,
        },
        Located {
            kernel: &kernels::chosen::KERNEL,
            launch: |device, [q, k, v], it, out, sums| {
                kernels::chosen::launch_on(device, q, k, v, &it.lengths, FIRST, out, sums)
            },
            score: Some(Body {
                score: |product, at| {
                    let is_seen = at.key < f64::from(FIRST) || -at.distance < 20.0;
                    if is_seen { product * at.scale } else { -1e30 }
                },
                operands: |_| vec![FIRST.into()],
            }),
        },
    ]
}

/// Every kernel of [`located`] and [`located_f16`], by so many random problems.
///
/// # Panics
/// A result is not fp64's.
pub fn check_located(device: &Device, count: u64, longest: usize) {
    let mut rng = StdRng::seed_from_u64(settings::number("AUTOKERNEL_SEED", 52));
    let count = settings::number("AUTOKERNEL_CASES", count);
    located().iter().for_each(|kernel| kernel.check(device, &mut rng, count, longest));
    located_f16().iter().for_each(|kernel| kernel.check(device, &mut rng, count, longest));
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
