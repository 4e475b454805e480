//! Attention of one query in fp64, and how far a kernel's result may be from it: tests compare with that.

use std::ops::Range;

use autokernel_core::Dtype;

use super::lower::ball::At;
use super::lower::lower;
use super::problem::Problem;
use super::score::{SCALE, SCORE, Score, column_of};

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
/// From where on kernels multiply the largest score by a power of two.
const EXACT_FROM: f64 = (1 << 28) as f64;

/// The result of the query `q` at `place` on the keys and values that `k` and `v` give by their numbers.
pub fn expected<'e>(
    problem: &Problem,
    place: Place,
    q: &[f64],
    k: impl Fn(u32) -> &'e [f64],
    v: impl Fn(u32) -> &'e [f64],
) -> Expected {
    let scale = f64::from(problem.scale);
    let pairs = Pairs { problem, place, q, k: &k };
    let largest = pairs.seen().map(|key| pairs.size(key) * scale).fold(1.0, f64::max);
    softmax(&pairs, v, |key| pairs.product(key) * scale, |_| FP32 * largest)
}

/// What scores are of and what their body reads.
#[derive(Clone, Copy, Debug)]
pub struct Of<'b> {
    /// The number of the sequence.
    pub batch: u32,
    /// The head.
    pub head: u32,
    /// What each operand of the body is for the head.
    pub operands: &'b [Value],
}

/// What an operand of a body is for a head.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A number for each distance, of which that in the middle is the query's own place.
    ByDistance(Vec<f64>),
}

impl From<f32> for Value {
    fn from(number: f32) -> Self {
        Value::Number(number.into())
    }
}

/// The same of a problem with a body, where `score` makes scores of sums of products, given the key's number. The body itself says
/// how far a kernel may be from that.
pub fn scored<'e>(
    problem: &Problem,
    place: Place,
    of: Of<'_>,
    q: &[f64],
    k: impl Fn(u32) -> &'e [f64],
    v: impl Fn(u32) -> &'e [f64],
    score: impl Fn(f64, u32) -> f64,
) -> Expected {
    let body = problem.score.as_ref().map(|score| (score, lower(score, problem.scale)));
    let off = |product: f64, size: f64, key: u32| {
        let Some((body, lowered)) = &body else { return 0.0 };
        let names = |name: &str| of.value(body, place, key, name);
        lowered.ball(At { product, size, names: &names }).error
    };
    let pairs = Pairs { problem, place, q, k: &k };
    softmax(&pairs, v, |key| score(pairs.product(key), key), |key| off(pairs.product(key), pairs.size(key), key))
}

/// The same with what the problem's body says of scores, in fp64.
///
/// # Panics
/// The problem has no body.
pub fn by_body<'e>(
    problem: &Problem,
    place: Place,
    of: Of<'_>,
    q: &[f64],
    k: impl Fn(u32) -> &'e [f64],
    v: impl Fn(u32) -> &'e [f64],
) -> Expected {
    let body = problem.score.as_ref().expect("a body");
    scored(problem, place, of, q, k, v, |product, key| {
        body.eval(&|name| match name {
            SCORE => product,
            SCALE => f64::from(problem.scale),
            name => of.value(body, place, key, name),
        })
    })
}

impl Of<'_> {
    /// The value of a name of a body.
    fn value(&self, body: &Score, place: Place, key: u32, name: &str) -> f64 {
        let query = i64::from(place.query) + i64::from(place.keys) - i64::from(place.queries);
        let operand = || body.operands.iter().zip(self.operands).find(|(own, _)| own.name == name).map(|(_, of)| of);
        match name {
            "batch" => f64::from(self.batch),
            "head" => f64::from(self.head),
            "query" => query as f64,
            "key" => f64::from(key),
            _ => match operand() {
                Some(Value::Number(number)) => *number,
                Some(Value::ByDistance(row)) => row[column_of(i64::from(key) - query, row.len())],
                None => f64::NAN,
            },
        }
    }
}

/// A query and the keys of its sequence.
struct Pairs<'p, K> {
    problem: &'p Problem,
    place: Place,
    q: &'p [f64],
    k: &'p K,
}

impl<'e, K: Fn(u32) -> &'e [f64]> Pairs<'_, K> {
    fn seen(&self) -> Range<u32> {
        self.problem.keys_of(self.place.query, self.place.queries, self.place.keys)
    }

    fn product(&self, key: u32) -> f64 {
        self.q.iter().zip((self.k)(key)).map(|(q, k)| q * k).sum()
    }

    /// The sum of the sizes of what is summed.
    fn size(&self, key: u32) -> f64 {
        self.q.iter().zip((self.k)(key)).map(|(q, k)| (q * k).abs()).sum()
    }
}

/// The softmax of the scores of a query, of which that with each key may be off by so much.
fn softmax<'e, K: Fn(u32) -> &'e [f64]>(
    pairs: &Pairs<'_, K>,
    v: impl Fn(u32) -> &'e [f64],
    score: impl Fn(u32) -> f64,
    off: impl Fn(u32) -> f64,
) -> Expected {
    let seen = pairs.seen();
    let scores: Vec<f64> = seen.clone().map(score).collect();
    let largest = scores.iter().copied().fold(f64::NEG_INFINITY, |a, b| if b.is_nan() || b > a { b } else { a });
    // Of a query from which a body hides all keys by -inf, nothing.
    let from = if largest == f64::NEG_INFINITY { 0.0 } else { largest };
    let weights: Vec<f64> = scores.iter().map(|score| (score - from).exp()).collect();
    let sum: f64 = weights.iter().sum();
    let inverse = if sum == 0.0 { 0.0 } else { 1.0 / sum };
    // What the largest is multiplied by is rounded, up to where kernels take a multiple that is not.
    let of_all = FP32 * if largest.abs() < EXACT_FROM { largest.abs().max(1.0) } else { 1.0 };
    let off: Vec<f64> = seen.clone().map(|key| of_all + off(key)).collect();
    let share = |weight: f64, off: f64| if weight == 0.0 { 0.0 } else { weight / sum * off };
    let mean: f64 = weights.iter().zip(&off).map(|(weight, off)| share(*weight, *off)).sum();

    let (dim, unit) = (pairs.problem.value_dim as usize, unit(pairs.problem.dtype));
    let (mut out, mut error) = (vec![0.0; dim], vec![unit * unit; dim]);
    for ((key, weight), off) in seen.zip(&weights).zip(&off) {
        let size = share(*weight, unit + 4.0 * (off + mean));
        for ((out, error), value) in out.iter_mut().zip(&mut error).zip(v(key)) {
            *out += weight * inverse * value;
            *error += size * value.abs();
        }
    }
    out.iter().zip(&mut error).for_each(|(out, error)| *error += out.abs() * unit);
    let log_sum_exp = if weights.is_empty() { f64::NEG_INFINITY } else { largest + sum.ln() };
    let log_sum_exp_error = 4.0 * (mean + FP32 * largest.abs().max(1.0));
    Expected { out, error, log_sum_exp, log_sum_exp_error }
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
