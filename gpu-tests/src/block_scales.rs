//! Declared products of 8-bit floats whose blocks have scales, held against sums of whole numbers, which are exact.

use autokernel::{AnyKernel, Argument, Column, Device, Matrix, Result, Row, bf16, e4m3, e5m2};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// A linear layer with a bias.
#[autokernel::fused_matmul(block = 128)]
pub fn linear(
    x: &Matrix<e4m3>,
    x_scales: &Matrix<f32>,
    w: &Matrix<e4m3>,
    w_scales: &Matrix<f32>,
    bias: &Row<bf16>,
    out: &mut Matrix<f32>,
) {
    out = dot(x * x_scales, (w * w_scales).t()) + bias;
}

/// Two products of the same first factor, which is of another type than the second ones.
#[autokernel::fused_matmul(block = 128)]
pub fn gated(
    x: &Matrix<e5m2>,
    of_x: &Matrix<f32>,
    gate: &Matrix<e4m3>,
    of_gate: &Matrix<f32>,
    up: &Matrix<e4m3>,
    of_up: &Matrix<f32>,
    out: &mut Matrix<f32>,
) {
    out = relu(dot(x * of_x, (gate * of_gate).t())) + dot(x * of_x, (up * of_up).t());
}

/// The kernels above, which a build without nvcc has no images of.
pub const KERNELS: [&AnyKernel; 3] = [&linear::KERNEL, &gated::KERNEL, &quantise::KERNEL];

const BLOCK: usize = 128;

/// Small whole numbers of `[rows, k]`, and for each block of `height` rows of them a power of two.
struct Factor {
    numbers: Vec<f32>,
    scales: Vec<f32>,
    sizes: [usize; 2],
    of_scales: [usize; 2],
}

impl Factor {
    fn random(rng: &mut StdRng, rows: usize, k: usize, height: usize) -> Self {
        let of_scales = [rows.div_ceil(height), k.div_ceil(BLOCK)];
        let [blocks, of_row] = of_scales;
        Factor {
            numbers: (0..rows * k).map(|_| f32::from(rng.random_range(-4i8..=4))).collect(),
            scales: (0..blocks * of_row).map(|_| 2f32.powi(rng.random_range(-2..=2))).collect(),
            sizes: [rows, k],
            of_scales,
        }
    }

    /// Number `at` of a row of those that share a scale with `height` rows.
    fn scaled(&self, row: usize, at: usize, height: usize) -> f64 {
        let ([_, k], [_, of_row]) = (self.sizes, self.of_scales);
        f64::from(self.numbers[row * k + at]) * f64::from(self.scales[row / height * of_row + at / BLOCK])
    }

    fn there<T: autokernel::Element>(&self, device: &Device, of: fn(f32) -> T) -> Result<(Matrix<T>, Matrix<f32>)> {
        let numbers: Vec<T> = self.numbers.iter().map(|number| of(*number)).collect();
        let ([rows, k], [blocks, of_row]) = (self.sizes, self.of_scales);
        let scales = Matrix::from_slice(device, &self.scales, blocks, of_row)?;
        Ok((Matrix::from_slice(device, &numbers, rows, k)?, scales))
    }
}

/// `x · wᵀ` of what is scaled.
fn product(x: &Factor, w: &Factor) -> Vec<f32> {
    let ([m, k], [n, _]) = (x.sizes, w.sizes);
    let sum = |row, column| (0..k).map(|at| x.scaled(row, at, 1) * w.scaled(column, at, BLOCK)).sum::<f64>() as f32;
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
        let sizes = [rng.random_range(1..200), rng.random_range(1..300), rng.random_range(1..700)];
        check_linear(device, &mut rng, sizes)?;
        check_gated(device, &mut rng, sizes)?;
    }
    Ok(())
}

fn check_linear(device: &Device, rng: &mut StdRng, [m, n, k]: [usize; 3]) -> Result<()> {
    let (x, w) = (Factor::random(rng, m, k, 1), Factor::random(rng, n, k, BLOCK));
    let bias: Vec<bf16> = (0..n).map(|_| bf16::from_f32(f32::from(rng.random_range(-4i8..=4)))).collect();
    let mut out = Matrix::zeros(device, m, n)?;
    let ((x_there, x_scales), (w_there, w_scales)) =
        (x.there(device, e4m3::from_f32)?, w.there(device, e4m3::from_f32)?);
    linear(&x_there, &x_scales, &w_there, &w_scales, &Row::from_slice(device, &bias)?, &mut out)?;
    let expected: Vec<f32> = product(&x, &w).iter().enumerate().map(|(at, sum)| sum + bias[at % n].to_f32()).collect();
    assert_eq!(out.to_vec()?, expected, "linear, {m}x{n}x{k}");
    Ok(())
}

fn check_gated(device: &Device, rng: &mut StdRng, [m, n, k]: [usize; 3]) -> Result<()> {
    let x = Factor::random(rng, m, k, 1);
    let [gate, up] = [(); 2].map(|()| Factor::random(rng, n, k, BLOCK));
    let mut out = Matrix::zeros(device, m, n)?;
    let (x_there, of_x) = x.there(device, e5m2::from_f32)?;
    let ((gate_there, of_gate), (up_there, of_up)) =
        (gate.there(device, e4m3::from_f32)?, up.there(device, e4m3::from_f32)?);
    gated(&x_there, &of_x, &gate_there, &of_gate, &up_there, &of_up, &mut out)?;
    let expected: Vec<f32> =
        product(&x, &gate).iter().zip(product(&x, &up)).map(|(gate, up)| gate.max(0.0) + up).collect();
    assert_eq!(out.to_vec()?, expected, "gated, {m}x{n}x{k}");
    Ok(())
}

/// What the launch of [`linear()`] says of operands of those sizes: of `x`, its scales, `w` and its scales.
///
/// # Panics
/// The launch succeeds.
pub fn refusal(device: &Device, [x, of_x, w, of_w]: [[usize; 2]; 4]) -> String {
    let factor = |[rows, columns]: [usize; 2]| Matrix::<e4m3>::zeros(device, rows, columns).expect("memory");
    let scales = |[rows, columns]: [usize; 2]| Matrix::<f32>::zeros(device, rows, columns).expect("memory");
    let (x, of_x, w, of_w) = (factor(x), scales(of_x), factor(w), scales(of_w));
    let bias = Row::<bf16>::from_slice(device, &vec![bf16::ZERO; w.nrows()]).expect("memory");
    let mut out = Matrix::<f32>::zeros(device, x.nrows(), w.nrows()).expect("memory");
    let arguments: &mut [Argument<'_>] =
        &mut [(&x).into(), (&of_x).into(), (&w).into(), (&of_w).into(), bias.view().into(), (&mut out).into()];
    linear::KERNEL.launch(device, arguments).expect_err("sizes that do not fit").to_string()
}

/// Activations in blocks of 128 with the scale of each: rows of 128.
#[autokernel::rows]
pub fn quantise(x: &Matrix<bf16>, scale: &mut Column<f32>, out: &mut Matrix<e4m3>) {
    let largest = row_max(x.abs()).max(1e-12) / 448.0;
    scale = largest;
    out = x / largest;
}

/// A linear layer on activations of 16 bits: they are quantised on `device`, the weights on the host, and the product is as far from that
/// of what was given as both roundings allow.
///
/// # Errors
/// A launch fails.
///
/// # Panics
/// The result is further away.
pub fn check_from_16_bits(device: &Device, [m, n, k]: [usize; 3], seed: u64) -> Result<()> {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut numbers = |count: usize, most: f32| -> Vec<f32> {
        (0..count).map(|_| bf16::from_f32(rng.random_range(-most..most)).to_f32()).collect()
    };
    let (x, w) = (numbers(m * k, 3.0), numbers(n * k, 0.1));
    let (w_numbers, w_scales) = autokernel::quantise_blocks(&w, k)?;
    let of_bf16: Vec<bf16> = x.iter().map(|value| bf16::from_f32(*value)).collect();
    let x_there = Matrix::from_slice(device, &of_bf16, m, k)?;
    let (mut scales, mut quantised) = (Column::zeros(device, m * k / BLOCK)?, Matrix::<e4m3>::zeros(device, m, k)?);
    let rows = [m * k / BLOCK, BLOCK];
    quantise::launch(
        x_there.view().reshaped(rows[0], rows[1])?,
        scales.view_mut(),
        quantised.view_mut().reshaped(rows[0], rows[1])?,
    )?;
    let mut out = Matrix::zeros(device, m, n)?;
    linear::launch(
        quantised.view(),
        scales.view().as_matrix(m, k / BLOCK)?,
        Matrix::from_slice(device, &w_numbers, n, k)?.view(),
        Matrix::from_slice(device, &w_scales, n.div_ceil(BLOCK), k / BLOCK)?.view(),
        Row::from_slice(device, &vec![bf16::ZERO; n])?.view(),
        out.view_mut(),
    )?;
    let out = out.to_vec()?;
    for (row, column) in (0..m).flat_map(|row| (0..n).map(move |column| (row, column))) {
        let products = (0..k).map(|at| f64::from(x[row * k + at]) * f64::from(w[column * k + at]));
        let (sum, squares) =
            products.fold((0.0, 0.0), |(sum, squares), product| (sum + product, squares + product * product));
        // Each factor is off by up to a sixteenth of itself, either way.
        let (got, allowed) = (f64::from(out[row * n + column]), 0.35 * squares.sqrt() + 1e-3);
        assert!((got - sum).abs() <= allowed, "[{row}, {column}] of {m}x{n}x{k} is {got}, not {sum} within {allowed}");
    }
    Ok(())
}
