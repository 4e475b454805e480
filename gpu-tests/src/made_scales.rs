//! Declared products that make the scales of their 8-bit outputs, and the products that take these: bit for bit what is said of the values,
//! sums of whole numbers, which are exact.

use autokernel::{AnyKernel, Argument, Column, Device, Matrix, Result, bf16, e4m3, e5m2};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::block_scales::linear;

/// The first layer of a perceptron, whose result is a factor of the next.
#[autokernel::fused_matmul(block = 128)]
pub fn hidden(
    x: &Matrix<e4m3>,
    x_scales: &Matrix<f32>,
    w: &Matrix<e4m3>,
    w_scales: &Matrix<f32>,
    out_scales: &mut Matrix<f32>,
    out: &mut Matrix<e4m3>,
) {
    out * out_scales = relu(dot(x * x_scales, (w * w_scales).t()));
}

/// Of factors of 16 bits, two products.
#[autokernel::fused_matmul(block = 128)]
pub fn gated(
    x: &Matrix<bf16>,
    gate: &Matrix<bf16>,
    up: &Matrix<bf16>,
    out: &mut Matrix<e5m2>,
    out_scales: &mut Matrix<f32>,
) {
    let y = relu(dot(x, gate.t())) + dot(x, up.t());
    out * out_scales = y;
}

/// A projection into a head that a tile holds whole: a scale for each row.
#[autokernel::fused_matmul(n = 192)]
pub fn head(x: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<e4m3>, out_scale: &mut Column<f32>) {
    out * out_scale = dot(x, w.t());
}

/// The kernels above, which a build without nvcc has no images of.
pub const KERNELS: [&AnyKernel; 3] = [&hidden::KERNEL, &gated::KERNEL, &head::KERNEL];

const BLOCK: usize = 128;

/// Small whole numbers.
fn integers(rng: &mut StdRng, count: usize) -> Vec<f32> {
    (0..count).map(|_| f32::from(rng.random_range(-4i8..=4))).collect()
}

/// `x · wᵀ` of rows of `k`.
fn product(x: &[f32], w: &[f32], k: usize) -> Vec<f32> {
    let dot = |x: &[f32], w: &[f32]| x.iter().zip(w).map(|(x, w)| f64::from(*x) * f64::from(*w)).sum::<f64>() as f32;
    x.chunks(k).flat_map(|x| w.chunks(k).map(move |w| dot(x, w))).collect()
}

/// The scales of blocks of rows of `n`, and what is rounded by them.
fn scaled(values: &[f32], n: usize, largest: f32) -> (Vec<f32>, Vec<f32>) {
    scaled_in_blocks(values, (n, BLOCK), largest)
}

fn scaled_in_blocks(values: &[f32], (n, width): (usize, usize), largest: f32) -> (Vec<f32>, Vec<f32>) {
    let block = |values: &[f32]| {
        let most = values.iter().fold(0f32, |most, value| most.max(value.abs()));
        (most.min(f32::MAX) / largest).max(f32::MIN_POSITIVE)
    };
    let scales: Vec<f32> = values.chunks(n).flat_map(|row| row.chunks(width)).map(block).collect();
    let of_row = n.div_ceil(width);
    let numbers = values.iter().enumerate().map(|(at, value)| value * (1.0 / scales[at / n * of_row + at % n / width]));
    (numbers.collect(), scales)
}

/// Ragged products of each kernel and seed on `device`, whose scales and elements must be those.
///
/// # Errors
/// A launch fails.
///
/// # Panics
/// One gives something else.
pub fn check(device: &Device, seeds: u64) -> Result<()> {
    for seed in 0..seeds {
        let mut rng = StdRng::seed_from_u64(seed);
        let sizes = [rng.random_range(1..200), rng.random_range(1..400), rng.random_range(1..400)];
        check_chain(device, &mut rng, sizes)?;
        check_gated(device, &mut rng, sizes)?;
        check_head(device, &mut rng, sizes)?;
    }
    Ok(())
}

/// A layer, and one behind it that takes what it made as it lies.
fn check_chain(device: &Device, rng: &mut StdRng, [m, n, k]: [usize; 3]) -> Result<()> {
    let (x, w, next) = (integers(rng, m * k), integers(rng, n * k), integers(rng, 72 * n));
    let there = |values: &[f32], rows, columns| {
        let numbers: Vec<e4m3> = values.iter().map(|value| e4m3::from_f32(*value)).collect();
        Matrix::from_slice(device, &numbers, rows, columns)
    };
    let ones = |rows: usize, columns: usize| Matrix::from_slice(device, &vec![1f32; rows * columns], rows, columns);
    let (of_n, of_k) = (n.div_ceil(BLOCK), k.div_ceil(BLOCK));
    let (mut out, mut scales) = (Matrix::<e4m3>::zeros(device, m, n)?, Matrix::<f32>::zeros(device, m, of_n)?);
    hidden(&there(&x, m, k)?, &ones(m, of_k)?, &there(&w, n, k)?, &ones(of_n, of_k)?, &mut scales, &mut out)?;
    let values: Vec<f32> = product(&x, &w, k).into_iter().map(|sum| sum.max(0.0)).collect();
    let (numbers, of_blocks) = scaled(&values, n, 448.0);
    let numbers: Vec<f32> = numbers.into_iter().map(|number| e4m3::from_f32(number).to_f32()).collect();
    assert_eq!(scales.to_vec()?, of_blocks, "scales, {m}x{n}x{k}");
    let got: Vec<f32> = out.to_vec()?.iter().map(e4m3::to_f32).collect();
    assert_eq!(got, numbers, "elements, {m}x{n}x{k}");

    let bias = autokernel::Row::from_slice(device, &[bf16::ZERO; 72])?;
    let mut behind = Matrix::<f32>::zeros(device, m, 72)?;
    linear(&out, &scales, &there(&next, 72, n)?, &ones(1, of_n)?, &bias, &mut behind)?;
    for (at, got) in behind.to_vec()?.into_iter().enumerate() {
        let (row, column) = (at / 72, at % 72);
        let term = |at: usize| {
            let value = f64::from(numbers[row * n + at]) * f64::from(of_blocks[row * of_n + at / BLOCK]);
            value * f64::from(next[column * n + at])
        };
        let (sum, size) = (0..n).map(term).fold((0.0, 0.0), |(sum, size), term| (sum + term, size + term.abs()));
        // Of 8-bit floats the tensor cores keep 13 digits of a sum.
        let allowed = size * 2f64.powi(-12) + 1e-6;
        assert!((f64::from(got) - sum).abs() <= allowed, "[{row}, {column}] behind is {got}, not {sum}, {m}x{n}x{k}");
    }
    Ok(())
}

fn check_gated(device: &Device, rng: &mut StdRng, [m, n, k]: [usize; 3]) -> Result<()> {
    let (x, gate, up) = (integers(rng, m * k), integers(rng, n * k), integers(rng, n * k));
    let there = |values: &[f32], rows| {
        let numbers: Vec<bf16> = values.iter().map(|value| bf16::from_f32(*value)).collect();
        Matrix::from_slice(device, &numbers, rows, k)
    };
    let (mut out, mut scales) =
        (Matrix::<e5m2>::zeros(device, m, n)?, Matrix::<f32>::zeros(device, m, n.div_ceil(BLOCK))?);
    gated(&there(&x, m)?, &there(&gate, n)?, &there(&up, n)?, &mut out, &mut scales)?;
    let sums = product(&x, &gate, k).into_iter().zip(product(&x, &up, k)).map(|(gate, up)| gate.max(0.0) + up);
    let (numbers, of_blocks) = scaled(&sums.collect::<Vec<_>>(), n, 57_344.0);
    assert_eq!(scales.to_vec()?, of_blocks, "scales, {m}x{n}x{k}");
    let got: Vec<f32> = out.to_vec()?.iter().map(e5m2::to_f32).collect();
    let most = |number: f32| number.clamp(-57_344.0, 57_344.0);
    let numbers: Vec<f32> = numbers.into_iter().map(|number| e5m2::from_f32(most(number)).to_f32()).collect();
    assert_eq!(got, numbers, "elements, {m}x{n}x{k}");
    Ok(())
}

fn check_head(device: &Device, rng: &mut StdRng, [m, _, k]: [usize; 3]) -> Result<()> {
    const N: usize = 192;
    let (x, w) = (integers(rng, m * k), integers(rng, N * k));
    let there = |values: &[f32], rows| {
        let numbers: Vec<bf16> = values.iter().map(|value| bf16::from_f32(*value)).collect();
        Matrix::from_slice(device, &numbers, rows, k)
    };
    let (mut out, mut scales) = (Matrix::<e4m3>::zeros(device, m, N)?, Column::<f32>::zeros(device, m)?);
    head(&there(&x, m)?, &there(&w, N)?, &mut out, &mut scales)?;
    let (numbers, of_rows) = scaled_in_blocks(&product(&x, &w, k), (N, N), 448.0);
    assert_eq!(scales.to_vec()?, of_rows, "scales, {m}x{N}x{k}");
    let got: Vec<f32> = out.to_vec()?.iter().map(e4m3::to_f32).collect();
    let numbers: Vec<f32> = numbers.into_iter().map(|number| e4m3::from_f32(number).to_f32()).collect();
    assert_eq!(got, numbers, "elements, {m}x{N}x{k}");
    Ok(())
}

/// What a launch says of scales of so many columns for a result of `n` columns.
///
/// # Panics
/// The launch succeeds.
pub fn refusal(device: &Device, n: usize, of_scales: usize) -> String {
    let factor = |rows| Matrix::<bf16>::zeros(device, rows, 16).expect("memory");
    let (x, gate, up) = (factor(3), factor(n), factor(n));
    let mut out = Matrix::<e5m2>::zeros(device, 3, n).expect("memory");
    let mut scales = Matrix::<f32>::zeros(device, 3, of_scales).expect("memory");
    let arguments: &mut [Argument<'_>] =
        &mut [(&x).into(), (&gate).into(), (&up).into(), (&mut out).into(), (&mut scales).into()];
    gated::KERNEL.launch(device, arguments).expect_err("scales that do not fit").to_string()
}
