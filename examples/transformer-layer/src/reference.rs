//! The same in fp64, a sequence at a time, from the weights as the checkpoint has them.

use autokernel::bf16;

use crate::cache::angle;
use crate::sizes::{EPS, HEAD_DIM, Sizes};
use crate::weights::Weights;

/// What the layer adds to each token of a sequence, `[tokens, features]`.
pub fn added(sizes: Sizes, weights: &Weights, theta: f64, x: &[bf16]) -> Vec<f64> {
    let x: Vec<f64> = x.iter().map(|value| value.to_f64()).collect();
    let tokens: Vec<&[f64]> = x.chunks(sizes.features).collect();
    let qkv: Vec<_> = tokens.iter().map(|x| linear(&normed(x, &weights.attention_norm), &weights.qkv)).collect();
    let rotated: Vec<_> = qkv.iter().enumerate().map(|(position, qkv)| rotated(sizes, theta, position, qkv)).collect();
    let each = |token: usize| {
        let branch = linear(&attended(sizes, &rotated[..=token]), &weights.output);
        let between = sum(tokens[token], &branch);
        let gate_and_up = linear(&normed(&between, &weights.feed_forward_norm), &weights.gate_and_up);
        let (gate, up) = gate_and_up.split_at(sizes.hidden);
        let hidden: Vec<f64> = gate.iter().zip(up).map(|(gate, up)| gate / (1.0 + (-gate).exp()) * up).collect();
        sum(&branch, &linear(&hidden, &weights.down))
    };
    (0..tokens.len()).flat_map(each).collect()
}

/// ‖(out − x) − added‖ / ‖added‖: the error of what was added to `x`.
pub fn relative_error(x: &[bf16], out: &[bf16], added: &[f64]) -> f64 {
    let errors = x.iter().zip(out).zip(added).map(|((x, out), added)| out.to_f64() - x.to_f64() - added);
    let norm = |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>().sqrt();
    norm(&mut errors.into_iter()) / norm(&mut added.iter().copied())
}

fn sum(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a + b).collect()
}

fn normed(x: &[f64], weight: &[f32]) -> Vec<f64> {
    let mean = x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64;
    let scale = 1.0 / (mean + f64::from(EPS)).sqrt();
    x.iter().zip(weight).map(|(x, weight)| x * scale * f64::from(*weight)).collect()
}

fn linear(x: &[f64], weights: &[bf16]) -> Vec<f64> {
    weights.chunks(x.len()).map(|row| row.iter().zip(x).map(|(w, x)| w.to_f64() * x).sum()).collect()
}

/// A token's `qkv` with its queries and keys turned.
fn rotated(sizes: Sizes, theta: f64, position: usize, qkv: &[f64]) -> Vec<f64> {
    let turned = sizes.of_queries() + sizes.of_keys();
    let element = |at: usize| {
        let (head, element, half) = (at / HEAD_DIM * HEAD_DIM, at % HEAD_DIM, HEAD_DIM / 2);
        let (sine, cosine) = angle(position, element, theta).sin_cos();
        let partner = if element < half { -qkv[head + element + half] } else { qkv[head + element - half] };
        qkv[at] * cosine + partner * sine
    };
    (0..qkv.len()).map(|at| if at < turned { element(at) } else { qkv[at] }).collect()
}

/// Attention of the last token to all, whose `qkv` these are.
fn attended(sizes: Sizes, tokens: &[Vec<f64>]) -> Vec<f64> {
    let Some(last) = tokens.last() else { return Vec::new() };
    let head = |values: &'_ [f64], number: usize| values[number * HEAD_DIM..(number + 1) * HEAD_DIM].to_vec();
    let of_head = |number: usize| {
        let (query, group) = (head(last, number), number * sizes.groups / sizes.heads);
        let scores = tokens.iter().map(|token| {
            let key = head(token, sizes.heads + group);
            query.iter().zip(&key).map(|(q, k)| q * k).sum::<f64>() / (HEAD_DIM as f64).sqrt()
        });
        let scores: Vec<f64> = scores.collect();
        let greatest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> = scores.iter().map(|score| (score - greatest).exp()).collect();
        let total: f64 = weights.iter().sum();
        let mut mean = vec![0.0; HEAD_DIM];
        for (token, weight) in tokens.iter().zip(&weights) {
            let value = head(token, sizes.heads + sizes.groups + group);
            mean.iter_mut().zip(&value).for_each(|(mean, value)| *mean += weight / total * value);
        }
        mean
    };
    (0..sizes.heads).flat_map(of_head).collect()
}
