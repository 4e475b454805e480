//! A two-layer perceptron, `gelu_tanh(x · W₁ᵀ) · W₂ᵀ` in bf16: two kernels, compiled when this crate was.
#![forbid(unsafe_code)]

mod reference;

use autokernel::timing::{Cache, Timer};
use autokernel::{Device, Dtype, Matrix, Result, bf16, matmul};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const FEATURES: usize = 1024;
const HIDDEN: usize = 4096;

/// Weights lie as `[out, in]`, hence `transpose_b`. The activation costs no pass over memory.
#[autokernel::fused_matmul(gelu_tanh, transpose_b, n = 4096, k = 1024)]
fn up(x: &Matrix<bf16>, w: &Matrix<bf16>, hidden: &mut Matrix<bf16>);

#[autokernel::matmul(transpose_b)]
fn down(hidden: &Matrix<bf16>, w: &Matrix<bf16>, out: &mut Matrix<bf16>);

struct Mlp {
    up: Matrix<bf16>,
    down: Matrix<bf16>,
}

impl Mlp {
    /// Weights that keep the variance of what passes through them.
    fn random(device: &Device) -> Result<Self> {
        let up = random(device, HIDDEN, FEATURES, 1.0 / FEATURES as f32, 1)?;
        Ok(Self { up, down: random(device, FEATURES, HIDDEN, 1.0 / HIDDEN as f32, 2)? })
    }

    fn forward(&self, x: &Matrix<bf16>, hidden: &mut Matrix<bf16>, out: &mut Matrix<bf16>) -> Result<()> {
        up(x, &self.up, hidden)?;
        down(hidden, &self.down, out)
    }
}

/// Uniform values of that variance.
fn random(device: &Device, rows: usize, columns: usize, variance: f32, seed: u64) -> Result<Matrix<bf16>> {
    let (mut rng, bound) = (StdRng::seed_from_u64(seed), (3.0 * variance).sqrt());
    let values: Vec<bf16> = (0..rows * columns).map(|_| bf16::from_f32(rng.random_range(-bound..bound))).collect();
    Matrix::from_slice(device, &values, rows, columns)
}

fn main() -> Result<()> {
    let device = Device::best(); // a GPU where there is one, else the CPU
    let tokens: usize = if device.is_cpu() { 99 } else { 4001 }; // any number: tiles need not divide it
    let shape = |n: usize, k: usize| matmul::extents(tokens as u32, n as u32, k as u32);
    println!("{tokens} tokens on {device}");
    println!("up:   {}", up::KERNEL.plan(&device, &shape(HIDDEN, FEATURES))?);
    println!("down: {}", down::KERNEL.plan(&device, &shape(FEATURES, HIDDEN))?);

    let mlp = Mlp::random(&device)?;
    let x = random(&device, tokens, FEATURES, 1.0, 3)?;
    let (mut hidden, mut out) = (Matrix::zeros(&device, tokens, HIDDEN)?, Matrix::zeros(&device, tokens, FEATURES)?);
    mlp.forward(&x, &mut hidden, &mut out)?;
    println!("relative error against fp64: {:.1e}", reference::relative_error(&mlp, &x, &out)?);

    if !device.is_cpu() {
        let time = Timer::new(&device, Cache::Cold)?.sample(50, || mlp.forward(&x, &mut hidden, &mut out))?;
        let work = matmul::work(&shape(HIDDEN, FEATURES), Dtype::Bf16, Dtype::Bf16);
        let tflops = 2.0 * work.tflops(time.median_ms);
        println!("forward: {:.4} ms, {tflops:.0} TFLOP/s, median of 50 with a cold L2", time.median_ms);
        println!("         spread {:.1} % (interquartile range over median)", time.spread_pct);
    }
    Ok(())
}
