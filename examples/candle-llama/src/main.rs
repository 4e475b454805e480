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
use measure::{Spread, Taken, Task, generate, logits, prompts, relative_error};
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
    /// Rounds, of which the median counts; both ways take turns.
    #[arg(long, default_value_t = 3, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..))]
    rounds: usize,
    /// How far the logits may be apart, relative to their size.
    #[arg(long, default_value_t = 0.05)]
    tolerance: f64,
}

fn main() -> Result<()> {
    let Arguments { checkpoint: path, preset, batch, prompt, tokens, rounds, tolerance } = Arguments::parse();
    let config = preset.config();
    let task = Task { batch, prompt, generated: tokens };
    let places = config.places;
    anyhow::ensure!(
        prompt >= 1 && prompt + tokens <= places,
        "a sequence has 1 to {places} tokens: change --prompt and --tokens"
    );
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
    let apart = relative_error(&ours, &theirs)?;
    println!("logits apart, relative to candle's: {apart:.4}");

    anyhow::ensure!(apart <= tolerance, "the logits are further apart than --tolerance {tolerance}");

    let mut taken = [Vec::with_capacity(rounds), Vec::with_capacity(rounds)];
    for _ in 0..rounds {
        for (taken, model) in taken.iter_mut().zip([&candle, &kernels]) {
            taken.push(generate(model, &prompts, task)?.1);
        }
    }
    let of = |way: usize, part: fn(&Taken) -> f64| taken[way].iter().map(part).collect::<Vec<f64>>();
    for (way, name) in ["candle", "kernels"].iter().enumerate() {
        let (prefill, decode) = (Spread::of(&of(way, |it| it.prefill)), Spread::of(&of(way, |it| it.decode)));
        let rate = |seconds: f64| (batch * tokens) as f64 / seconds;
        println!(
            "{name:8} prefill {:9.2} ms ({:.2} to {:.2})   decode {:9.1} tokens/s ({:.1} to {:.1})",
            1e3 * prefill.median,
            1e3 * prefill.lowest,
            1e3 * prefill.highest,
            rate(decode.median),
            rate(decode.highest),
            rate(decode.lowest)
        );
    }
    let ratio = |part: fn(&Taken) -> f64| {
        let ratios = of(0, part).iter().zip(of(1, part)).map(|(theirs, ours)| theirs / ours).collect::<Vec<f64>>();
        let Spread { median, lowest, highest } = Spread::of(&ratios);
        format!("{median:.2} × ({lowest:.2} to {highest:.2})")
    };
    let (prefill, decode) = (ratio(|it| it.prefill), ratio(|it| it.decode));
    println!("kernels are {prefill} as fast at prefill, {decode} at decoding (median of {rounds} rounds, in turn)");
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
