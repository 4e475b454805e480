//! Declared products of floats and of weights of 8 and 4 bits, held against sums of whole numbers, which are exact.

use autokernel::{AnyKernel, Argument, Device, Matrix, Result, Row, bf16, f16, i4x2, pack};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// A scale for each column, and a bias.
#[autokernel::fused_matmul]
pub fn bytes(x: &Matrix<bf16>, w: &Matrix<i8>, scale: &Row<f32>, bias: &Row<bf16>, out: &mut Matrix<f32>) {
    out = dot(x, w.t()) * scale + bias;
}

/// A scale for each group.
#[autokernel::fused_matmul(group = 128)]
pub fn packed(x: &Matrix<f16>, w: &Matrix<i4x2>, scales: &Matrix<f16>, out: &mut Matrix<f32>) {
    out = dot(x, (w * scales).t());
}

/// Two products of small groups.
#[autokernel::fused_matmul(group = 32)]
pub fn gated(
    x: &Matrix<bf16>,
    gate: &Matrix<i4x2>,
    of_gate: &Matrix<f32>,
    up: &Matrix<i4x2>,
    of_up: &Matrix<f32>,
    out: &mut Matrix<f32>,
) {
    out = relu(dot(x, (gate * of_gate).t())) + dot(x, (up * of_up).t());
}

/// A scale and a zero point for each group.
#[autokernel::fused_matmul(group = 64)]
pub fn shifted(x: &Matrix<bf16>, w: &Matrix<i4x2>, zeros: &Matrix<i8>, scales: &Matrix<bf16>, out: &mut Matrix<f32>) {
    out = dot(x, ((w - zeros) * scales).t());
}

/// The kernels above, which a build without nvcc has no images of.
pub const KERNELS: [&AnyKernel; 4] = [&bytes::KERNEL, &packed::KERNEL, &gated::KERNEL, &shifted::KERNEL];

/// `[n, k]` whole numbers of that many bits.
fn numbers(rng: &mut StdRng, count: usize, bits: u32) -> Vec<i8> {
    let most = 1i16 << (bits - 1);
    (0..count).map(|_| rng.random_range(-most..most) as i8).collect()
}

/// Powers of two about that one, and zeros among them, so that sums of what is scaled by them are exact.
fn scales(rng: &mut StdRng, count: usize, about: i32) -> Vec<f32> {
    let mut one = || if rng.random_range(0..16) == 0 { 0.0 } else { 2f32.powi(about + rng.random_range(-3..=2)) };
    (0..count).map(|_| one()).collect()
}

/// What scales are about: one mostly, else so little that they and the results are no normal numbers, or so much that results are near the
/// largest. `least` is that of the scales' type; `most` leaves room for a sum.
fn magnitude(rng: &mut StdRng, least: i32, most: i32) -> i32 {
    [0, 0, least, most][rng.random_range(0..4)]
}

fn small(rng: &mut StdRng, count: usize) -> Vec<f32> {
    (0..count).map(|_| f32::from(rng.random_range(-4i8..=4))).collect()
}

/// Every how many seeds tiles are wide and K takes several stages.
const WIDE_SEEDS: u64 = 8;
/// Beside so large scales activations are as small as their type has them.
const HUGE: i32 = 100;
/// The smallest power of two that a bf16 is.
const LEAST_OF_BF16: i32 = -133;

/// `x · (w · scales)ᵀ`, a scale for each `group` numbers of a row.
fn product([m, n, k]: [usize; 3], x: &[f32], w: &[i8], scales: &[f32], group: usize) -> Vec<f32> {
    let sum = |row: usize, column: usize| {
        let of_k = |at: usize| {
            f64::from(x[row * k + at]) * f64::from(w[column * k + at]) * f64::from(scales[at / group * n + column])
        };
        (0..k).map(of_k).sum::<f64>() as f32
    };
    (0..m).flat_map(|row| (0..n).map(move |column| (row, column))).map(|(row, column)| sum(row, column)).collect()
}

/// A ragged product of each kernel and seed on `device`, which must be exact.
///
/// # Errors
/// A launch fails.
///
/// # Panics
/// One gives something else.
pub fn check(device: &Device, seeds: u64) -> Result<()> {
    for seed in 0..seeds {
        let mut rng = StdRng::seed_from_u64(seed);
        // Wide tiles, and several stages of K, now and then.
        let most = if seed % WIDE_SEEDS == WIDE_SEEDS - 1 { [300, 300, 1500] } else { [40, 300, 300] };
        let sizes = most.map(|most| rng.random_range(1..most));
        check_bytes(device, &mut rng, sizes)?;
        let [m, n, k] = sizes;
        check_packed(device, &mut rng, [m, n, k.div_ceil(128) * 128])?;
        check_gated(device, &mut rng, [m, n, k.div_ceil(32) * 32])?;
        check_shifted(device, &mut rng, [m, n, k.div_ceil(64) * 64])?;
    }
    Ok(())
}

fn check_bytes(device: &Device, rng: &mut StdRng, [m, n, k]: [usize; 3]) -> Result<()> {
    let about = magnitude(rng, -140, HUGE);
    let of_x = if about == HUGE && rng.random() { 2f32.powi(LEAST_OF_BF16) } else { 1.0 };
    let x: Vec<f32> = small(rng, m * k).into_iter().map(|x| x * of_x).collect();
    let w = numbers(rng, n * k, 8);
    let (scale, bias) = (scales(rng, n, about), small(rng, n));
    let of_bf16 = |values: &[f32]| values.iter().map(|value| bf16::from_f32(*value)).collect::<Vec<_>>();
    let mut out = Matrix::zeros(device, m, n)?;
    bytes(
        &Matrix::from_slice(device, &of_bf16(&x), m, k)?,
        &Matrix::from_slice(device, &w, n, k)?,
        &Row::from_slice(device, &scale)?,
        &Row::from_slice(device, &of_bf16(&bias))?,
        &mut out,
    )?;
    let sums = product([m, n, k], &x, &w, &scale, usize::MAX);
    let expected: Vec<f32> = sums.iter().enumerate().map(|(at, sum)| sum + bias[at % n]).collect();
    assert_eq!(out.to_vec()?, expected, "bytes, {m}x{n}x{k}");
    Ok(())
}

fn check_packed(device: &Device, rng: &mut StdRng, [m, n, k]: [usize; 3]) -> Result<()> {
    let about = magnitude(rng, -21, 13);
    let (x, w, scale) = (small(rng, m * k), numbers(rng, n * k, 4), scales(rng, k / 128 * n, about));
    let of_f16 = |values: &[f32]| values.iter().map(|value| f16::from_f32(*value)).collect::<Vec<_>>();
    let mut out = Matrix::zeros(device, m, n)?;
    packed(
        &Matrix::from_slice(device, &of_f16(&x), m, k)?,
        &Matrix::from_slice(device, &pack(&w, k)?, n, k / 2)?,
        &Matrix::from_slice(device, &of_f16(&scale), k / 128, n)?,
        &mut out,
    )?;
    assert_eq!(out.to_vec()?, product([m, n, k], &x, &w, &scale, 128), "packed, {m}x{n}x{k}");
    Ok(())
}

fn check_gated(device: &Device, rng: &mut StdRng, [m, n, k]: [usize; 3]) -> Result<()> {
    let (x, about) = (small(rng, m * k), magnitude(rng, -130, HUGE));
    let mut factor = || (numbers(rng, n * k, 4), scales(rng, k / 32 * n, about));
    let ((gate, of_gate), (up, of_up)) = (factor(), factor());
    let of_bf16: Vec<bf16> = x.iter().map(|value| bf16::from_f32(*value)).collect();
    let packed = |numbers: &[i8]| Matrix::from_slice(device, &pack(numbers, k)?, n, k / 2);
    let of_scales = |scales: &[f32]| Matrix::from_slice(device, scales, k / 32, n);
    let mut out = Matrix::zeros(device, m, n)?;
    let x_there = Matrix::from_slice(device, &of_bf16, m, k)?;
    gated(&x_there, &packed(&gate)?, &of_scales(&of_gate)?, &packed(&up)?, &of_scales(&of_up)?, &mut out)?;
    let gates = product([m, n, k], &x, &gate, &of_gate, 32);
    let expected: Vec<f32> =
        gates.iter().zip(product([m, n, k], &x, &up, &of_up, 32)).map(|(gate, up)| gate.max(0.0) + up).collect();
    assert_eq!(out.to_vec()?, expected, "gated, {m}x{n}x{k}");
    Ok(())
}

fn check_shifted(device: &Device, rng: &mut StdRng, [m, n, k]: [usize; 3]) -> Result<()> {
    const GROUP: usize = 64;
    let about = magnitude(rng, LEAST_OF_BF16 + 3, HUGE);
    let (x, w, scale) = (small(rng, m * k), numbers(rng, n * k, 4), scales(rng, k / GROUP * n, about));
    let zeros: Vec<i8> = scale.iter().map(|_| rng.random_range(-8..=8)).collect();
    let of_bf16 = |values: &[f32]| values.iter().map(|value| bf16::from_f32(*value)).collect::<Vec<_>>();
    let mut out = Matrix::zeros(device, m, n)?;
    shifted(
        &Matrix::from_slice(device, &of_bf16(&x), m, k)?,
        &Matrix::from_slice(device, &pack(&w, k)?, n, k / 2)?,
        &Matrix::from_slice(device, &zeros, k / GROUP, n)?,
        &Matrix::from_slice(device, &of_bf16(&scale), k / GROUP, n)?,
        &mut out,
    )?;
    let zero = |at: usize| zeros[at % k / GROUP * n + at / k];
    let less_zeros: Vec<i8> = w.iter().enumerate().map(|(at, number)| number - zero(at)).collect();
    assert_eq!(out.to_vec()?, product([m, n, k], &x, &less_zeros, &scale, GROUP), "shifted, {m}x{n}x{k}");
    Ok(())
}

/// Scales so small that what groups are scaled to is below the smallest numbers that fp32 has: sums of groups are kept as 64ths until the end,
/// so that each is off by half of 64 of these at most.
///
/// # Errors
/// A launch fails.
///
/// # Panics
/// One is further off.
pub fn check_smallest(device: &Device) -> Result<()> {
    const LEAST: i32 = -149;
    let mut rng = StdRng::seed_from_u64(5);
    let [m, n, k, group] = [20, 70, 256, 64];
    let (x, w) = (small(&mut rng, m * k), numbers(&mut rng, n * k, 4));
    let scale = vec![2f32.powi(LEAST_OF_BF16); k / group * n];
    let x: Vec<f32> = x.iter().map(|x| x * 2f32.powi(-14)).collect();
    let of_bf16 = |values: &[f32]| values.iter().map(|value| bf16::from_f32(*value)).collect::<Vec<_>>();
    let mut out = Matrix::zeros(device, m, n)?;
    shifted(
        &Matrix::from_slice(device, &of_bf16(&x), m, k)?,
        &Matrix::from_slice(device, &pack(&w, k)?, n, k / 2)?,
        &Matrix::from_slice(device, &vec![0i8; scale.len()], k / group, n)?,
        &Matrix::from_slice(device, &of_bf16(&scale), k / group, n)?,
        &mut out,
    )?;
    let allowed = (k / group) as f64 * 32.0 * 2f64.powi(LEAST);
    for (at, (got, expected)) in out.to_vec()?.into_iter().zip(product([m, n, k], &x, &w, &scale, group)).enumerate() {
        let off = (f64::from(got) - f64::from(expected)).abs();
        assert!(off <= allowed, "element {at} is {got:e}, not {expected:e}");
    }
    Ok(())
}

/// What the launch of [`packed()`] says of operands of those sizes: of `x`, of `w` and of the scales.
///
/// # Panics
/// The launch succeeds.
pub fn refusal(device: &Device, [x, w, scales]: [[usize; 2]; 3]) -> String {
    let x = Matrix::<f16>::zeros(device, x[0], x[1]).expect("memory");
    let w = Matrix::<i4x2>::zeros(device, w[0], w[1]).expect("memory");
    let scales = Matrix::<f16>::zeros(device, scales[0], scales[1]).expect("memory");
    let mut out = Matrix::<f32>::zeros(device, x.nrows(), w.nrows()).expect("memory");
    let arguments: &mut [Argument<'_>] = &mut [(&x).into(), (&w).into(), (&scales).into(), (&mut out).into()];
    packed::KERNEL.launch(device, arguments).expect_err("sizes that do not fit").to_string()
}
