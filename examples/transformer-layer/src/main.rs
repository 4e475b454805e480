//! Runs the layer on a GPU where there is one, else a small one on the CPU: how far it is from fp64, and on a GPU how long it takes.
#![forbid(unsafe_code)]

use autokernel::timing::{Cache as L2, Timer, Timing};
use autokernel::{Device, Matrix, Result};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use transformer_layer::cache::{Cache, Prompt, Rotation, Step};
use transformer_layer::check::{THETA, errors};
use transformer_layer::layer::{Layer, Scratch};
use transformer_layer::sizes::Sizes;
use transformer_layer::stream::Stream;
use transformer_layer::weights::{Weights, random_tokens};

const TOKENS: usize = 4096;
const SEQUENCES: usize = 16;
const LONGEST: usize = 8192;
const ROUNDS: usize = 30;

fn main() -> Result<()> {
    let device = Device::best(); // a GPU where there is one, else the CPU
    let sizes = if device.is_cpu() { Sizes::SMALL } else { Sizes::LARGE };
    println!("{sizes:?} on {device}");
    let weights = Weights::random(sizes, 1);
    let layer = Layer::new(&device, sizes, &weights)?;
    let errors = errors(&device, sizes, &weights, &layer, &[9, 1, 5])?;
    println!(
        "relative error against fp64: {:.1e} of prompts, {:.1e} of the tokens behind",
        errors.prefill, errors.decode
    );
    if device.is_cpu() {
        return Ok(());
    }
    prefill(&device, sizes, &layer)?;
    decode(&device, sizes, &layer)
}

/// A prompt of so many tokens.
fn prefill(device: &Device, sizes: Sizes, layer: &Layer) -> Result<()> {
    let rotation = Rotation::new(device, TOKENS, THETA)?;
    let mut cache = Cache::new(device, sizes, 1, TOKENS)?;
    let prompt = Prompt::new(device, sizes, &cache, 0, 0, TOKENS)?;
    let (input, mut out) = streams(device, sizes, TOKENS)?;
    let mut scratch = Scratch::zeros(device, sizes, TOKENS)?;
    let mut run = |_| layer.prefill(&input, &prompt, &rotation, &mut cache, &mut scratch, &mut out);
    let times = Timer::new(device, L2::Cold)?.interleave(ROUNDS, 1, &mut [&mut run])?;
    let Timing { median_ms, spread_pct, .. } = times.timing(0)?;
    println!("a prompt of {TOKENS} tokens: {median_ms:.4} ms, spread {spread_pct:.1} %");
    Ok(())
}

/// A token of each of some sequences, which have 2048 to 8191 before it.
fn decode(device: &Device, sizes: Sizes, layer: &Layer) -> Result<()> {
    let rotation = Rotation::new(device, LONGEST, THETA)?;
    let mut cache = Cache::new(device, sizes, SEQUENCES, LONGEST)?;
    let mut rng = StdRng::seed_from_u64(3);
    let cached: Vec<usize> = (0..SEQUENCES).map(|_| rng.random_range(2048..LONGEST)).collect();
    let step = Step::new(device, sizes, &cache, &cached)?;
    let (input, mut out) = streams(device, sizes, SEQUENCES)?;
    let mut scratch = Scratch::zeros(device, sizes, SEQUENCES)?;
    let mut run = |_| layer.decode(&input, &step, &rotation, &mut cache, &mut scratch, &mut out);
    let times = Timer::new(device, L2::Cold)?.interleave(ROUNDS, 1, &mut [&mut run])?;
    let Timing { median_ms, spread_pct, .. } = times.timing(0)?;
    let keys: usize = cached.iter().sum();
    println!("a token of {SEQUENCES} sequences on {keys} keys: {median_ms:.4} ms, spread {spread_pct:.1} %");
    Ok(())
}

/// Random tokens, and room for what the layer makes of them.
fn streams(device: &Device, sizes: Sizes, tokens: usize) -> Result<(Stream, Stream)> {
    let x = Matrix::from_slice(device, &random_tokens(tokens, sizes.features, 2), tokens, sizes.features)?;
    Ok((Stream::new(x)?, Stream::zeros(device, tokens, sizes.features)?))
}
