//! Both ways side by side: what they compute, and how long they take.

use std::time::Instant;

use candle_core::{Device, Result, Tensor};

use crate::config::Config;
use crate::model::{Cache, Model, likeliest};

/// What is asked of a decoder.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    pub batch: usize,
    /// Tokens of each prompt.
    pub prompt: usize,
    /// Tokens that follow each.
    pub generated: usize,
}

/// What it took.
#[derive(Clone, Copy, Debug)]
pub struct Taken {
    /// Seconds for the prompts.
    pub prefill: f64,
    /// Seconds for all tokens behind them.
    pub decode: f64,
}

/// Of some numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub median: f64,
    pub lowest: f64,
    pub highest: f64,
}

impl Spread {
    /// Of at least one.
    pub fn of(values: &[f64]) -> Self {
        let mut values = values.to_vec();
        values.sort_by(f64::total_cmp);
        let last = values.len() - 1;
        let median = (values[last / 2] + values[last.div_ceil(2)]) / 2.0;
        Spread { median, lowest: values[0], highest: values[last] }
    }
}

/// Prompts that look random, `[batch, tokens]`.
pub fn prompts(task: Task, config: &Config, device: &Device) -> Result<Tensor> {
    let token = |at: usize| ((at as u64 * 2_654_435_761 + 12_345) >> 7) as u32 % config.vocabulary as u32;
    Tensor::from_iter((0..task.batch * task.prompt).map(token), device)?.reshape((task.batch, task.prompt))
}

/// The logits behind the prompts and behind each of `following`, `[batch, vocabulary]` each.
pub fn logits(model: &Model, prompts: &Tensor, following: &[Tensor]) -> Result<Vec<Tensor>> {
    let mut cache = Cache::default();
    std::iter::once(prompts).chain(following).map(|tokens| model.forward(tokens, &mut cache)).collect()
}

/// Goes on with the likeliest tokens: those, and the time of it.
pub fn generate(model: &Model, prompts: &Tensor, task: Task) -> Result<(Vec<Tensor>, Taken)> {
    let device = prompts.device();
    device.synchronize()?;
    let start = Instant::now();
    let mut cache = Cache::default();
    let mut logits = model.forward(prompts, &mut cache)?;
    device.synchronize()?;
    let prefill = start.elapsed().as_secs_f64();

    let start = Instant::now();
    let mut tokens = Vec::with_capacity(task.generated);
    for _ in 0..task.generated {
        let token = likeliest(&logits)?;
        logits = model.forward(&token, &mut cache)?;
        tokens.push(token);
    }
    device.synchronize()?;
    Ok((tokens, Taken { prefill, decode: start.elapsed().as_secs_f64() }))
}

/// The root of the mean square of the differences, over that of what is expected.
pub fn relative_error(got: &[Tensor], expected: &[Tensor]) -> Result<f64> {
    let (mut apart, mut whole) = (0.0, 0.0);
    for (got, expected) in got.iter().zip(expected) {
        apart += f64::from((got - expected)?.sqr()?.sum_all()?.to_scalar::<f32>()?);
        whole += f64::from(expected.sqr()?.sum_all()?.to_scalar::<f32>()?);
    }
    Ok((apart / whole).sqrt())
}
