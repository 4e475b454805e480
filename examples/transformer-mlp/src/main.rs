//! The gated feed-forward half of a transformer block in bf16: `x + scale ∘ ((silu(y · Gᵀ) ∘ y · Uᵀ) · Dᵀ)` with `y = norm(x)`.
//! Three kernels whose bodies stand here: a row-wise one, two products of `y` in one, and the product that leads back. Beside
//! them, on a GPU, the same by six kernels that fuse nothing.
#![forbid(unsafe_code)]

mod reference;
mod unfused;

use autokernel::timing::{Cache, Timer, Timing};
use autokernel::{Device, Matrix, Result, Row, bf16, matmul, rows};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const FEATURES: usize = 512;
const HIDDEN: usize = 2048;
const EPS: f32 = 1e-5;
/// Kernels that a forward pass launches.
const KERNELS: usize = 3;
const ROUNDS: usize = 50;

/// LayerNorm. Both means are taken of a row that is read once; the residual stream is `f32`, the products' input bf16.
#[autokernel::rows]
fn norm(x: &Matrix<f32>, weight: &Row<f32>, bias: &Row<f32>, eps: f32, out: &mut Matrix<bf16>) {
    let centred = x - row_mean(x);
    let variance = row_mean(centred * centred);
    out = centred / (variance + eps).sqrt() * weight + bias;
}

/// SwiGLU: neither product is written to memory, nor the activation of one.
#[autokernel::fused_matmul(n = 2048, k = 512)]
fn swiglu(x: &Matrix<bf16>, gate: &Matrix<bf16>, up: &Matrix<bf16>, hidden: &mut Matrix<bf16>) {
    hidden = silu(dot(x, gate.t())) * dot(x, up.t());
}

/// The step back onto the residual stream, with a learnt scale for each feature, costs no pass over memory either.
#[autokernel::fused_matmul]
fn down(hidden: &Matrix<bf16>, w: &Matrix<bf16>, scale: &Row<f32>, x: &Matrix<f32>, out: &mut Matrix<f32>) {
    out = x + scale * dot(hidden, w.t());
}

struct Mlp {
    weight: Row<f32>,
    bias: Row<f32>,
    /// Of both products, `up` behind `gate`: kernels take views of it.
    gate_and_up: Matrix<bf16>,
    down: Matrix<bf16>,
    scale: Row<f32>,
}

/// What a forward pass writes on its way.
struct Scratch {
    normed: Matrix<bf16>,
    hidden: Matrix<bf16>,
}

impl Mlp {
    /// Weights that keep the variance of what passes through them.
    fn random(device: &Device) -> Result<Self> {
        let row = |seed| Row::from_slice(device, &uniform(FEATURES, 1.0, seed));
        let matrix = |rows, columns, seed| {
            let values = uniform(rows * columns, 1.0 / columns as f32, seed);
            Matrix::from_slice(device, &values.into_iter().map(bf16::from_f32).collect::<Vec<_>>(), rows, columns)
        };
        let (gate_and_up, down) = (matrix(2 * HIDDEN, FEATURES, 1)?, matrix(FEATURES, HIDDEN, 2)?);
        Ok(Self { weight: row(3)?, bias: row(4)?, gate_and_up, down, scale: row(5)? })
    }

    fn forward(&self, x: &Matrix<f32>, scratch: &mut Scratch, out: &mut Matrix<f32>) -> Result<()> {
        let Scratch { normed, hidden } = scratch;
        norm(x, &self.weight, &self.bias, EPS, normed)?;
        let weights = self.gate_and_up.view();
        swiglu::launch(normed.view(), weights.rows(..HIDDEN)?, weights.rows(HIDDEN..)?, hidden.view_mut())?;
        down(hidden, &self.down, &self.scale, x, out)
    }
}

impl Scratch {
    fn zeros(device: &Device, tokens: usize) -> Result<Self> {
        let matrix = |columns| Matrix::zeros(device, tokens, columns);
        Ok(Self { normed: matrix(FEATURES)?, hidden: matrix(HIDDEN)? })
    }
}

/// Uniform values of that variance.
fn uniform(count: usize, variance: f32, seed: u64) -> Vec<f32> {
    let (mut rng, bound) = (StdRng::seed_from_u64(seed), (3.0 * variance).sqrt());
    (0..count).map(|_| rng.random_range(-bound..bound)).collect()
}

fn main() -> Result<()> {
    let device = Device::best(); // a GPU where there is one, else the CPU
    let tokens: usize = if device.is_cpu() { 99 } else { 16_000 };
    println!("{tokens} tokens on {device}");
    println!("norm:   {}", norm::KERNEL.plan(&device, &rows::extents(tokens as u32, FEATURES as u32))?);
    println!(
        "swiglu: {}",
        swiglu::KERNEL.plan(&device, &matmul::extents(tokens as u32, HIDDEN as u32, FEATURES as u32))?
    );

    let mlp = Mlp::random(&device)?;
    let x = Matrix::from_slice(&device, &uniform(tokens * FEATURES, 1.0, 6), tokens, FEATURES)?;
    let (mut scratch, mut out) = (Scratch::zeros(&device, tokens)?, Matrix::zeros(&device, tokens, FEATURES)?);
    mlp.forward(&x, &mut scratch, &mut out)?;
    let error = reference::relative_error(&mlp, &x, &out)?;
    println!("relative error against fp64: {error:.1e}");

    if !device.is_cpu() {
        let (mut steps, mut same) =
            (unfused::Scratch::zeros(&device, tokens)?, Matrix::zeros(&device, tokens, FEATURES)?);
        let mut fused = |_| mlp.forward(&x, &mut scratch, &mut out);
        let mut unfused = |_| unfused::forward(&mlp, &x, &mut steps, &mut same);
        let times = Timer::new(&device, Cache::Cold)?.interleave(ROUNDS, 1, &mut [&mut fused, &mut unfused])?;
        for (what, number, kernels) in [("fused", 0, KERNELS), ("unfused", 1, unfused::KERNELS)] {
            let Timing { median_ms, spread_pct, .. } = times.timing(number)?;
            println!("{what}: {kernels} kernels, {median_ms:.4} ms, spread {spread_pct:.1} %");
        }
        let ratio = times.ratio(1, 0)?;
        println!("{:.3} x, median of {ROUNDS} rounds with a cold L2, spread {:.1} %", ratio.median, ratio.spread_pct);
    }
    Ok(())
}
