//! Attention of one query in fp64, and how far a kernel's result may be from it: tests compare with that.

use autokernel_core::Dtype;

use super::problem::Problem;

/// What a query's result is.
#[derive(Clone, Debug, PartialEq)]
pub struct Expected {
    /// Each element; NaN where a score that is seen is none.
    pub out: Vec<f64>,
    /// How far each may be off.
    pub error: Vec<f64>,
    /// The logarithm of the sum of exponentials; −∞ of a query that sees no key.
    pub log_sum_exp: f64,
    /// How far that may be off.
    pub log_sum_exp_error: f64,
}

/// A query among others, and the keys of its sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The query.
    pub query: u32,
    /// Queries of the sequence.
    pub queries: u32,
    /// Keys of the sequence.
    pub keys: u32,
}

/// What the sums of fp32 may be off, as a share of the sum of sizes: of products, and of what is exponentiated.
const FP32: f64 = 1.0 / (1 << 22) as f64;

/// The result of the query `q` at `place` on the keys and values that `k` and `v` give by their numbers.
pub fn expected<'e>(
    problem: &Problem,
    place: Place,
    q: &[f64],
    k: impl Fn(u32) -> &'e [f64],
    v: impl Fn(u32) -> &'e [f64],
) -> Expected {
    let scale = f64::from(problem.scale);
    scored(problem, place, q, k, v, |product, _| product * scale)
}

/// The same where `score` makes scores of sums of products, given the key's number: no steeper than the scale.
pub fn scored<'e>(
    problem: &Problem,
    place: Place,
    q: &[f64],
    k: impl Fn(u32) -> &'e [f64],
    v: impl Fn(u32) -> &'e [f64],
    score: impl Fn(f64, u32) -> f64,
) -> Expected {
    let seen = problem.keys_of(place.query, place.queries, place.keys);
    let scale = f64::from(problem.scale);
    let dot = |key: u32| score(q.iter().zip(k(key)).map(|(q, k)| q * k).sum::<f64>(), key);
    let size = |key: u32| q.iter().zip(k(key)).map(|(q, k)| (q * k * scale).abs()).sum::<f64>();
    let scores: Vec<f64> = seen.clone().map(dot).collect();
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, |a, b| if b.is_nan() || b > a { b } else { a });
    let weights: Vec<f64> = scores.iter().map(|score| (score - largest).exp()).collect();
    let sum: f64 = weights.iter().sum();
    let off = FP32 * seen.clone().map(size).fold(1.0, f64::max);

    let dim = problem.value_dim as usize;
    let (mut out, mut sizes) = (vec![0.0; dim], vec![0.0; dim]);
    for (key, weight) in seen.zip(&weights) {
        for ((out, size), value) in out.iter_mut().zip(&mut sizes).zip(v(key)) {
            *out += weight / sum * value;
            *size += weight / sum * value.abs();
        }
    }
    let unit = unit(problem.dtype);
    let error = sizes.iter().zip(&out).map(|(size, out)| size * (unit + 4.0 * off) + out.abs() * unit + unit * unit);
    let error = error.collect();
    let log_sum_exp = if weights.is_empty() { f64::NEG_INFINITY } else { largest + sum.ln() };
    Expected { out, error, log_sum_exp, log_sum_exp_error: 4.0 * off }
}

/// Half of the distance from 1 to the next number: what rounding is off at most, as a share.
fn unit(dtype: Dtype) -> f64 {
    match dtype {
        Dtype::Bf16 => 2f64.powi(-8),
        _ => 2f64.powi(-11),
    }
}

impl Expected {
    /// Whether a kernel's result is this; numbers that are none must be none.
    pub fn is(&self, got: &[f64]) -> bool {
        let close = |((expected, error), got): ((&f64, &f64), &f64)| {
            if expected.is_nan() { got.is_nan() } else { (expected - got).abs() <= *error }
        };
        self.out.len() == got.len() && self.out.iter().zip(&self.error).zip(got).all(close)
    }

    /// The same of the logarithm of its sum.
    pub fn has_log_sum_exp(&self, got: f64) -> bool {
        let expected = self.log_sum_exp;
        if expected.is_finite() {
            (expected - got).abs() <= self.log_sum_exp_error
        } else {
            got == expected || (got.is_nan() && expected.is_nan())
        }
    }
}
