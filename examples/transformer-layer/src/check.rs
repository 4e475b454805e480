//! How far the layer is from fp64: prompts of some sequences, and then a token more of each.

use autokernel::{Device, Matrix, Result, bf16};

use crate::cache::{Cache, Prompt, Rotation, Step};
use crate::layer::{Layer, Scratch};
use crate::reference::{added, relative_error};
use crate::sizes::Sizes;
use crate::stream::Stream;
use crate::weights::{Weights, random_tokens};

/// The base of the wavelengths of positions.
pub const THETA: f64 = 500_000.0;

/// The greatest relative error of what the layer adds to tokens of prompts, and of the tokens behind them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Errors {
    /// Of prompts.
    pub prefill: f64,
    /// Of the tokens behind them.
    pub decode: f64,
}

/// Runs a sequence behind a prompt of each of `prompts` tokens, and the same in fp64.
///
/// # Errors
/// A launch fails, or memory does not suffice.
pub fn errors(device: &Device, sizes: Sizes, weights: &Weights, layer: &Layer, prompts: &[usize]) -> Result<Errors> {
    let width = sizes.features;
    let capacity = prompts.iter().max().map_or(1, |longest| longest + 1);
    let rotation = Rotation::new(device, capacity, THETA)?;
    let mut cache = Cache::new(device, sizes, prompts.len(), capacity)?;
    let tokens: Vec<_> =
        prompts.iter().zip(0..).map(|(prompt, seed)| random_tokens(prompt + 1, width, 100 + seed)).collect();
    let expected: Vec<_> = tokens.iter().map(|tokens| added(sizes, weights, THETA, tokens)).collect();

    let mut worst = Errors { prefill: 0.0, decode: 0.0 };
    // Each prompt in two pieces, of which the second one sees the first in the cache.
    for (sequence, &prompt) in prompts.iter().enumerate() {
        for piece in [0..prompt / 2, prompt / 2..prompt].into_iter().filter(|piece| !piece.is_empty()) {
            let (count, elements) = (piece.len(), piece.start * width..piece.end * width);
            let x = &tokens[sequence][elements.clone()];
            let input = Stream::new(Matrix::from_slice(device, x, count, width)?)?;
            let (mut scratch, mut out) = (Scratch::zeros(device, sizes, count)?, Stream::zeros(device, count, width)?);
            let prompt = Prompt::new(device, sizes, &cache, sequence, piece.start, count)?;
            layer.prefill(&input, &prompt, &rotation, &mut cache, &mut scratch, &mut out)?;
            let error = relative_error(x, &out.x.to_vec()?, &expected[sequence][elements]);
            worst.prefill = worst.prefill.max(error);
        }
    }

    let last: Vec<bf16> = tokens.iter().flat_map(|tokens| &tokens[tokens.len() - width..]).copied().collect();
    let input = Stream::new(Matrix::from_slice(device, &last, prompts.len(), width)?)?;
    let mut scratch = Scratch::zeros(device, sizes, prompts.len())?;
    let mut out = Stream::zeros(device, prompts.len(), width)?;
    let step = Step::new(device, sizes, &cache, prompts)?;
    layer.decode(&input, &step, &rotation, &mut cache, &mut scratch, &mut out)?;
    let out = out.x.to_vec()?;
    for ((x, out), expected) in last.chunks(width).zip(out.chunks(width)).zip(&expected) {
        let error = relative_error(x, out, &expected[expected.len() - width..]);
        worst.decode = worst.decode.max(error);
    }
    Ok(worst)
}
