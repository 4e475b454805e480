//! A Llama-style decoder in candle from a checkpoint, with candle's operations and with autokernel's kernels: the same logits, and the
//! time of both.
#![forbid(unsafe_code)]

mod checkpoint;
mod config;
mod measure;
mod model;
mod operations;

use std::path::PathBuf;

use anyhow::Result;
use candle_core::{DType, Device};
use clap::Parser;

use checkpoint::Checkpoint;
use config::Preset;
use measure::{Taken, Task, generate, logits, prompts, relative_error};
use model::Model;
use operations::Operations;

/// Runs a decoder by candle's operations and by kernels, and compares logits and times.
#[derive(Parser)]
struct Arguments {
    /// The checkpoint; written with random weights if it is not there.
    #[arg(long, default_value = "target/candle-llama.safetensors")]
    checkpoint: PathBuf,
    /// Its sizes.
    #[arg(long, value_enum, default_value = "small")]
    preset: Preset,
    /// Sequences at once.
    #[arg(long, default_value_t = 1)]
    batch: usize,
    /// Tokens of each prompt.
    #[arg(long, default_value_t = 64)]
    prompt: usize,
    /// Tokens that follow each prompt.
    #[arg(long, default_value_t = 16)]
    tokens: usize,
    /// Rounds, of which the fastest counts; both ways take turns.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
}

fn main() -> Result<()> {
    let Arguments { checkpoint: path, preset, batch, prompt, tokens, rounds } = Arguments::parse();
    let config = preset.config();
    let task = Task { batch, prompt, generated: tokens };
    if !path.is_file() {
        checkpoint::write(&path, &config, 1)?;
    }
    let device = Device::cuda_if_available(0)?;
    let weights = Checkpoint::read(&path, &device, DType::BF16)?;
    let model = |operations| Model::new(config, &weights, operations);
    let (candle, kernels) = (model(Operations::Candle)?, model(Operations::Kernels)?);
    let prompts = prompts(task, &config, &device)?;

    let (following, _) = generate(&candle, &prompts, task)?;
    let (theirs, ours) = (logits(&candle, &prompts, &following)?, logits(&kernels, &prompts, &following)?);
    println!("{} prompts of {prompt} tokens, {tokens} more each, bf16, on {:?}", batch, device.location());
    println!("logits apart, relative to candle's: {:.4}", relative_error(&ours, &theirs)?);

    let mut best = [Taken { prefill: f64::INFINITY, decode: f64::INFINITY }; 2];
    for _ in 0..rounds {
        for (best, model) in best.iter_mut().zip([&candle, &kernels]) {
            let (_, Taken { prefill, decode }) = generate(model, &prompts, task)?;
            *best = Taken { prefill: best.prefill.min(prefill), decode: best.decode.min(decode) };
        }
    }
    for (name, taken) in ["candle", "kernels"].iter().zip(best) {
        let rate = (batch * tokens) as f64 / taken.decode;
        println!("{name:8} prefill {:9.2} ms   decode {rate:9.1} tokens/s", taken.prefill * 1e3);
    }
    let [theirs, ours] = best;
    let (prefill, decode) = (theirs.prefill / ours.prefill, theirs.decode / ours.decode);
    println!("kernels are {prefill:.2} × as fast at prefill, {decode:.2} × at decoding (fastest of {rounds} rounds)");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::Config;

    #[test]
    fn kernels_are_as_near_to_the_logits_in_f32_as_candles_operations_are() {
        let config = Config { vocabulary: 300, hidden: 128, layers: 2, heads: 2, groups: 1, ..Preset::Small.config() };
        let config = Config { feed_forward: 200, ..config };
        let task = Task { batch: 2, prompt: 13, generated: 4 };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("weights.safetensors");
        checkpoint::write(&path, &config, 1).unwrap();

        let model = |dtype, operations| {
            let weights = Checkpoint::read(&path, &Device::Cpu, dtype).unwrap();
            Model::new(config, &weights, operations).unwrap()
        };
        let prompts = prompts(task, &config, &Device::Cpu).unwrap();
        let reference = model(DType::F32, Operations::Candle);
        let (following, _) = generate(&reference, &prompts, task).unwrap();
        assert_eq!(following.len(), 4);

        let expected = logits(&reference, &prompts, &following).unwrap();
        let error = |operations| {
            let got = logits(&model(DType::BF16, operations), &prompts, &following).unwrap();
            relative_error(&got, &expected).unwrap()
        };
        let (candle, kernels) = (error(Operations::Candle), error(Operations::Kernels));
        println!("relative errors: candle {candle:.4}, kernels {kernels:.4}");
        assert!(candle > 1e-4 && candle < 0.05, "bf16 rounds: {candle}");
        assert!(kernels < 1.25 * candle, "candle {candle}, kernels {kernels}");
    }

    #[test]
    fn a_cache_gives_what_all_tokens_at_once_give() {
        let config = Config { layers: 2, vocabulary: 100, ..Preset::Small.config() };
        let task = Task { batch: 1, prompt: 6, generated: 0 };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("weights.safetensors");
        checkpoint::write(&path, &config, 2).unwrap();
        let weights = Checkpoint::read(&path, &Device::Cpu, DType::BF16).unwrap();
        for operations in [Operations::Candle, Operations::Kernels] {
            let model = Model::new(config, &weights, operations).unwrap();
            let tokens = prompts(task, &config, &Device::Cpu).unwrap();
            let at_once = logits(&model, &tokens, &[]).unwrap();
            let one_by_one: Vec<_> = (1..6).map(|at| tokens.narrow(1, at, 1).unwrap()).collect();
            let in_steps = logits(&model, &tokens.narrow(1, 0, 1).unwrap(), &one_by_one).unwrap();
            let error = relative_error(&in_steps[5..], &at_once).unwrap();
            assert!(error < 0.02, "{operations:?}: {error}");
        }
    }
}
