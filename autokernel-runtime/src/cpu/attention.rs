//! Attention on the CPU: each query against the keys that it sees, in `f32` with sums in `f64`, rounded once. Queries are shared
//! out to the threads of rayon's pool.

use std::ops::Range;

use autokernel_ops::attention::problem::keys_of;
use autokernel_ops::attention::score::{Kind, column_of};
use autokernel_ops::attention::sequences::Sequences;
use rayon::prelude::*;

use super::elements::{Elements, ElementsMut};
use super::sequences::{self, Row, Sequence};
use crate::operands::alloc;
use crate::operands::layout::Layout;
use crate::{AnyView, Argument, Error, Result};

/// What a kernel has compiled in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// Whether a query sees no key behind its own place.
    pub causal: bool,
    /// A query sees no key so far from its own place, or farther.
    pub window: Option<u32>,
    /// What scores are multiplied by.
    pub scale: f32,
    /// How sequences lie.
    pub sequences: Sequences,
    /// By what each operand of a body is indexed.
    pub operands: &'static [Kind],
}

/// A score and where it stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct At {
    /// The sum of products.
    pub score: f32,
    /// The sequence.
    pub batch: f32,
    /// The head.
    pub head: f32,
    /// The query's place among the keys.
    pub query: f32,
    /// The key.
    pub key: f32,
}

/// What a score becomes before the softmax, given a body's operands.
pub type ScoreFunction = fn(At, &[f32]) -> f32;

/// Computes `softmax(scale · q kᵀ + mask) v` from the first three of `arguments` into the first that is written, and the logarithms of
/// sums of exponentials into the second, if there is one.
///
/// # Errors
/// [`Error::Operands`] for other operands, [`Error::DeviceMismatch`] for one that is on a GPU, [`Error::OutOfMemory`].
pub fn attention(arguments: &mut [Argument<'_>], settings: Settings) -> Result<()> {
    let scale = settings.scale;
    attend(arguments, settings, &|at, _| scale * at.score)
}

/// The same with what a body makes of scores, whose operands stand behind what says where sequences are, before those that are
/// written.
///
/// # Errors
/// As [`attention`].
pub fn scored_attention(arguments: &mut [Argument<'_>], settings: Settings, score: ScoreFunction) -> Result<()> {
    attend(arguments, settings, &score)
}

fn refused(reason: &str) -> Error {
    Error::Operands { kernel: "attention".to_owned(), reason: reason.to_owned() }
}

/// What is read.
struct Tensor<'a> {
    elements: Elements<'a>,
    layout: Layout,
}

impl<'a> Tensor<'a> {
    fn new(view: &'a AnyView<'_>) -> Result<Self> {
        let (elements, layout) = Elements::of(view)?;
        Ok(Tensor { elements, layout })
    }

    /// Rows of one head, widened, one behind the other; zeros for what is nowhere.
    fn rows(&self, head: usize, rows: impl ExactSizeIterator<Item = Option<Row>>) -> Result<Vec<f32>> {
        let Layout { columns, ld, .. } = self.layout;
        let [of_matrix, of_head, _] = self.layout.strides();
        let mut wide = alloc::host_zeros(rows.len() * columns)?;
        for (row, wide) in rows.zip(wide.chunks_exact_mut(columns.max(1))) {
            // A cache of values may have fewer pages than one of keys.
            if let Some(Row { matrix, row }) = row.filter(|row| row.matrix < self.layout.shape()[0]) {
                self.elements.widen(matrix * of_matrix + head * of_head + row * ld, wide);
            }
        }
        Ok(wide)
    }
}

/// What the queries of a head are computed from.
struct Head<'h, S> {
    k: &'h [f32],
    v: &'h [f32],
    /// Elements of a value.
    values: usize,
    batch: usize,
    head: usize,
    operands: Vec<Operand>,
    score: &'h S,
}

/// What a head has of a body's operand.
enum Operand {
    Number(f32),
    /// A number for each distance.
    ByDistance(Vec<f32>),
}

impl Operand {
    /// For a key so far behind a query.
    fn at(&self, distance: i64) -> f32 {
        match self {
            Operand::Number(number) => *number,
            // A table without columns is zeros.
            Operand::ByDistance(row) => row.get(column_of(distance, row.len())).copied().unwrap_or(0.0),
        }
    }
}

fn attend<S>(arguments: &mut [Argument<'_>], settings: Settings, score: &S) -> Result<()>
where
    S: Fn(At, &[f32]) -> f32 + Sync,
{
    let form = || refused("it reads three tensors and what a body asks for, and writes one");
    let first = arguments.iter().position(|argument| matches!(argument, Argument::Write(_))).ok_or_else(form)?;
    let (read, written) = arguments.split_at_mut(first);
    let ([Argument::Read(q), Argument::Read(k), Argument::Read(v), others @ ..], [Argument::Write(out), rest @ ..]) =
        (&*read, written)
    else {
        return Err(form());
    };
    let mut log_sum_exp = match rest {
        [] => None,
        [Argument::Write(view)] => Some(ElementsMut::of(view)?),
        _ => return Err(form()),
    };
    let [q, k, v] = [Tensor::new(q)?, Tensor::new(k)?, Tensor::new(v)?];
    let (mut out, layout) = ElementsMut::of(out)?;
    let [_, heads, _, values] = layout.shape();
    let [_, groups, ..] = k.layout.shape();
    if layout.is_empty() {
        return Ok(());
    }
    let located = settings.sequences.locators().count().min(others.len());
    let (located, others) = others.split_at(located);
    let [of_matrix, of_head, ld] = layout.strides();
    let heads_of_group = (heads / groups.max(1)).max(1);
    let all = sequences::all(settings.sequences, located, [&q, &k, &v].map(|it| it.layout.shape()))?;
    for (sequence, group) in all.iter().flat_map(|sequence| (0..groups).map(move |group| (sequence, group))) {
        let &Sequence { number: batch, first_query, queries, ref keys } = sequence;
        let (k, v) = (k.rows(group, keys.iter().copied())?, v.rows(group, keys.iter().copied())?);
        for head in group * heads_of_group..(group + 1) * heads_of_group {
            let rows = (0..queries).map(|query| Some(Row { row: first_query.row + query, ..first_query }));
            let q = q.rows(head, rows)?;
            let kinds = settings.operands.iter().zip(others);
            let operands = kinds.map(|(kind, operand)| of_the_head(*kind, operand, head)).collect::<Result<_>>()?;
            let of = Head { k: &k, v: &v, values, batch, head, operands, score };
            let (dim, keys) = (q.len() / queries.max(1), keys.len());
            let rows: Vec<(Vec<f32>, f32)> = (0..queries)
                .into_par_iter()
                .map(|query| {
                    let seen = keys_of(settings.causal, settings.window, [query, queries, keys]);
                    of.row(&q[query * dim..(query + 1) * dim], query as i64 + keys as i64 - queries as i64, seen)
                })
                .collect();
            for (query, (row, of_row)) in (first_query.row..).zip(&rows) {
                out.narrow(first_query.matrix * of_matrix + head * of_head + query * ld, row);
                if let Some((elements, layout)) = &mut log_sum_exp {
                    // [1, batch, heads, queries], or packed [1, 1, heads, queries].
                    let [_, of_matrix, of_head] = layout.strides();
                    elements.narrow(first_query.matrix * of_matrix + head * of_head + query, &[*of_row]);
                }
            }
        }
    }
    Ok(())
}

/// What a head has of a body's operand.
fn of_the_head(kind: Kind, operand: &Argument<'_>, head: usize) -> Result<Operand> {
    let view = match operand {
        Argument::Scalar(value) => return Ok(Operand::Number(*value)),
        Argument::Read(view) => view,
        Argument::Write(_) => return Err(refused("a body writes nothing but scores")),
    };
    let (elements, layout) = Elements::of(view)?;
    Ok(match kind {
        Kind::Number | Kind::DeviceScalar => Operand::Number(elements.one(0)),
        Kind::PerHead => Operand::Number(elements.one(head)),
        Kind::PerDistance => {
            let mut row = alloc::host_zeros(layout.columns)?;
            elements.widen(head * layout.ld, &mut row);
            Operand::ByDistance(row)
        }
    })
}

impl<S: Fn(At, &[f32]) -> f32> Head<'_, S> {
    /// The result of one query, at `place` among the keys, on those that it sees, and the logarithm of its sum of exponentials; zeros
    /// and −∞ where it sees none.
    fn row(&self, q: &[f32], place: i64, seen: Range<usize>) -> (Vec<f32>, f32) {
        let &Head { k, v, values, .. } = self;
        let (dim, first) = (q.len(), seen.start);
        let (k, v) = (&k[seen.start * dim..seen.end * dim], &v[seen.start * values..seen.end * values]);
        let of_distance = |distance| self.operands.iter().map(move |operand| operand.at(distance));
        let mut operands: Vec<f32> = of_distance(0).collect();
        let vary = self.operands.iter().any(|operand| matches!(operand, Operand::ByDistance(_)));
        let score = |(key, k): (usize, &[f32])| {
            let score = q.iter().zip(k).map(|(q, k)| q * k).sum::<f32>();
            let key = first + key;
            if vary {
                operands.iter_mut().zip(of_distance(key as i64 - place)).for_each(|(operand, value)| *operand = value);
            }
            let (query, key) = (place as f32, key as f32);
            let at = At { score, batch: self.batch as f32, head: self.head as f32, query, key };
            (self.score)(at, &operands)
        };
        let scores: Vec<f32> = k.chunks_exact(dim.max(1)).enumerate().map(score).collect();
        // `f32::max` passes over what is no number, which the weights then show.
        let largest = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        // Of a query from which a body hides all keys, nothing.
        let from = if largest == f32::NEG_INFINITY { 0.0 } else { largest };
        let (mut sum, mut sums) = (0f64, vec![0f64; values]);
        for (score, v) in scores.iter().zip(v.chunks_exact(values.max(1))) {
            let weight = f64::from((score - from).exp());
            sum += weight;
            sums.iter_mut().zip(v).for_each(|(sum, v)| *sum += weight * f64::from(*v));
        }
        let inverse = if sum == 0.0 { 0.0 } else { 1.0 / sum };
        let log_sum_exp = (f64::from(from) + sum.ln()) as f32;
        (sums.into_iter().map(|sum| (sum * inverse) as f32).collect(), log_sum_exp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Device, Heads, HeadsView, HeadsViewMut, MatrixView, Scalar};

    /// Numbers that look random.
    fn numbers(count: usize, seed: u32) -> Vec<f32> {
        let mut state = seed.wrapping_mul(2_654_435_761) | 1;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    /// The same in fp64, from the definition.
    fn expected(q: &[f32], k: &[f32], v: &[f32], sees: impl Fn(usize) -> bool, scale: f32, column: usize) -> f64 {
        let dim = q.len();
        let weight = |key: usize| {
            let dot: f64 = q.iter().zip(&k[key * dim..]).map(|(q, k)| f64::from(*q) * f64::from(*k)).sum();
            (dot * f64::from(scale)).exp()
        };
        let (mut sum, mut weighted) = (0.0, 0.0);
        for key in (0..k.len() / dim).filter(|key| sees(*key)) {
            sum += weight(key);
            weighted += weight(key) * f64::from(v[key * dim + column]);
        }
        if sum == 0.0 { 0.0 } else { weighted / sum }
    }

    #[test]
    fn it_is_softmax_of_scaled_scores_for_every_mask_and_for_heads_that_share_keys() {
        let (batches, heads, groups, dim, scale) = (2, 4, 2, 3, 0.7);
        for (queries, keys) in [(5, 5), (3, 9), (9, 4), (1, 1)] {
            for (causal, window) in [(false, None), (true, None), (true, Some(2)), (false, Some(3))] {
                let q = numbers(batches * heads * queries * dim, 1);
                let (k, v) = (numbers(batches * groups * keys * dim, 2), numbers(batches * groups * keys * dim, 3));
                let mut out = vec![f32::NAN; q.len()];
                let of = |data, heads, rows| HeadsView::from_slice(data, [batches, heads, rows, dim]).unwrap().into();
                let written = HeadsViewMut::from_slice(&mut out, [batches, heads, queries, dim]).unwrap();
                let mut arguments =
                    [of(&q, heads, queries), of(&k, groups, keys), of(&v, groups, keys), written.into()];
                attention(
                    &mut arguments,
                    Settings { causal, window, scale, sequences: Sequences::default(), operands: &[] },
                )
                .unwrap();
                for (at, got) in out.iter().enumerate() {
                    let (row, column) = (at / dim, at % dim);
                    let (head, query) = (row / queries, row % queries);
                    let group = head / heads * groups + head % heads / (heads / groups);
                    let of_group = group * keys * dim..(group + 1) * keys * dim;
                    let place = query as i64 + keys as i64 - queries as i64;
                    let sees = |key: usize| {
                        let distance = place - key as i64;
                        !(causal && distance < 0) && window.is_none_or(|window| distance.abs() < i64::from(window))
                    };
                    let (k, v) = (&k[of_group.clone()], &v[of_group]);
                    let expected = expected(&q[row * dim..][..dim], k, v, sees, scale, column);
                    assert!((f64::from(*got) - expected).abs() < 1e-5, "{queries} on {keys}, {causal}, {window:?}");
                }
            }
        }
    }

    #[test]
    fn the_gaps_between_heads_are_left_alone_and_what_is_no_number_stays_none() {
        let mut q = numbers(2 * 8, 1);
        q[8] = f32::NAN;
        let (k, v) = (numbers(3 * 8, 2), numbers(3 * 8, 3));
        let mut out = vec![7.0f32; 40];
        let read = |data, rows| HeadsView::from_slice(data, [1, 1, rows, 8]).unwrap().into();
        let written = HeadsViewMut::from_slice_with_strides(&mut out, [1, 1, 2, 8], [0, 0, 20]).unwrap();
        let settings =
            Settings { causal: false, window: None, scale: 1.0, sequences: Sequences::default(), operands: &[] };
        attention(&mut [read(&q, 2), read(&k, 3), read(&v, 3), written.into()], settings).unwrap();
        assert!(out[..8].iter().all(|value| value.is_finite() && *value != 7.0));
        assert!(out[8..20].iter().chain(&out[28..]).all(|value| *value == 7.0));
        assert!(out[20..28].iter().all(|value| value.is_nan()));
    }

    #[test]
    fn a_query_from_which_a_body_hides_all_keys_gives_zeros_and_one_that_sees_some_those() {
        let (q, k, v) = (numbers(2 * 8, 1), numbers(3 * 8, 2), numbers(3 * 8, 3));
        let (mut out, mut sums) = ([7.0f32; 2 * 8], [7.0f32; 2]);
        let read = |data, rows| HeadsView::from_slice(data, [1, 1, rows, 8]).unwrap().into();
        let written = HeadsViewMut::from_slice(&mut out, [1, 1, 2, 8]).unwrap();
        let log_sum_exp = HeadsViewMut::from_slice(&mut sums, [1, 1, 1, 2]).unwrap();
        let mut arguments = [read(&q, 2), read(&k, 3), read(&v, 3), written.into(), log_sum_exp.into()];
        // Queries stand at keys 1 and 2.
        let score = |at: At, _: &[f32]| if at.query > 1.0 && at.key == 2.0 { at.score } else { f32::NEG_INFINITY };
        let settings =
            Settings { causal: false, window: None, scale: 1.0, sequences: Sequences::default(), operands: &[] };
        scored_attention(&mut arguments, settings, score).unwrap();
        assert_eq!((&out[..8], sums[0]), (&[0.0; 8][..], f32::NEG_INFINITY));
        assert_eq!(&out[8..], &v[16..]);
    }

    #[test]
    fn numbers_by_distance_are_the_heads_own_and_a_key_beyond_the_table_has_its_end() {
        let (q, k, v) = (numbers(2 * 8, 1), numbers(4 * 8, 2), numbers(4 * 8, 3));
        let table = [0.5f32, -1.0, 7.0, 2.0, 0.25, 7.0];
        let factor = Scalar::new(&Device::cpu(), 2.0f32).unwrap();
        let (mut out, mut sums) = ([0.0f32; 2 * 8], [0.0f32; 2]);
        let read = |data, heads, rows| HeadsView::from_slice(data, [1, heads, rows, 8]).unwrap().into();
        let mut arguments = [
            read(&q, 2, 1),
            read(&k, 1, 4),
            read(&v, 1, 4),
            MatrixView::from_slice(&table, 2, 3).unwrap().into(),
            factor.view().into(),
            HeadsViewMut::from_slice(&mut out, [1, 2, 1, 8]).unwrap().into(),
            HeadsViewMut::from_slice(&mut sums, [1, 1, 2, 1]).unwrap().into(),
        ];
        let settings = Settings {
            causal: false,
            window: None,
            scale: 1.0,
            sequences: Sequences::default(),
            operands: &[Kind::PerDistance, Kind::DeviceScalar],
        };
        scored_attention(&mut arguments, settings, |_, operands| operands[1] * operands[0]).unwrap();
        // The query stands at the last of four keys.
        let expected = |first: f32, own: f32| (3.0 * (2.0 * first).exp() + (2.0 * own).exp()).ln();
        for (got, expected) in sums.into_iter().zip([expected(0.5, -1.0), expected(2.0, 0.25)]) {
            assert!((got - expected).abs() < 1e-5, "{got}, not {expected}");
        }
    }

    #[test]
    fn other_operands_are_refused() {
        let heads = Heads::<f32>::zeros(&Device::cpu(), [1, 1, 1, 8]).unwrap();
        let settings =
            Settings { causal: false, window: None, scale: 1.0, sequences: Sequences::default(), operands: &[] };
        assert!(matches!(attention(&mut [heads.view().into()], settings), Err(Error::Operands { .. })));
    }
}
