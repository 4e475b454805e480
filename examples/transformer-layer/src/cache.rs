//! Keys and values of tokens that were, and where those of the next ones go.

use std::ops::Range;

use autokernel::{Device, Error, HeadsView, Index, Matrix, Result, bf16, f16};

use crate::sizes::{HEAD_DIM, Sizes};

/// The keys and values of some sequences, each with room for as many tokens.
pub struct Cache {
    /// A token a row, its keys and then its values; `sequences · capacity` rows.
    pub tokens: Matrix<bf16>,
    /// Sequences that there is room for.
    pub sequences: usize,
    /// Tokens of each.
    pub capacity: usize,
}

impl Cache {
    /// An empty one.
    ///
    /// # Errors
    /// The device's memory does not suffice.
    pub fn new(device: &Device, sizes: Sizes, sequences: usize, capacity: usize) -> Result<Self> {
        let tokens = Matrix::zeros(device, sequences * capacity, 2 * sizes.of_keys())?;
        Ok(Self { tokens, sequences, capacity })
    }

    /// Some rows, of as many sequences, as heads of keys and of values.
    pub(crate) fn rows(&self, rows: Range<usize>, sequences: usize, groups: usize) -> Result<[HeadsView<'_, bf16>; 2]> {
        let (rows, width) = (self.tokens.view().rows(rows)?, self.tokens.ncols() / 2);
        let heads = |columns| HeadsView::of_tokens(rows.columns(columns)?, sequences, groups);
        Ok([heads(0..width)?, heads(width..2 * width)?])
    }
}

/// Where rows of `qkv` go, and the positions that their tokens have.
pub struct Places {
    pub(crate) positions: Index,
    pub(crate) to_queries: Index,
    pub(crate) to_cache: Index,
}

/// The number that picks no row.
const NOWHERE: i32 = -1;

impl Places {
    /// For a sequence and a position in it of each token.
    fn new(device: &Device, sizes: Sizes, capacity: usize, tokens: &[(usize, usize)]) -> Result<Self> {
        let of_queries = sizes.rows_of_queries();
        let index = |number: &dyn Fn(usize, usize) -> Option<usize>| {
            let rows = (0..tokens.len()).flat_map(|token| (0..of_queries + 2).map(move |row| (token, row)));
            let numbers = rows.map(|(token, row)| number(token, row).map_or(NOWHERE, |number| number as i32));
            Index::from_slice(device, &numbers.collect::<Vec<_>>())
        };
        let slot = |token: usize| tokens[token].0 * capacity + tokens[token].1;
        Ok(Self {
            positions: index(&|token, row| (row <= of_queries).then(|| tokens[token].1))?,
            to_queries: index(&|token, row| (row < of_queries).then(|| token * of_queries + row))?,
            to_cache: index(&|token, row| (row >= of_queries).then(|| 2 * slot(token) + row - of_queries))?,
        })
    }
}

/// Tokens of one sequence, of which so many are in the cache already.
pub struct Prompt {
    pub(crate) places: Places,
    pub(crate) sequence: usize,
    /// Tokens that the sequence then has.
    pub(crate) length: usize,
}

impl Prompt {
    /// So many tokens behind the `cached` ones of a sequence.
    ///
    /// # Errors
    /// The cache has no such sequence or no room for them, or the device's memory does not suffice.
    pub fn new(
        device: &Device,
        sizes: Sizes,
        cache: &Cache,
        sequence: usize,
        cached: usize,
        tokens: usize,
    ) -> Result<Self> {
        let length = cached.saturating_add(tokens);
        within("sequences", sequence, sequence.saturating_add(1), cache.sequences)?;
        within("tokens", cached, length, cache.capacity)?;
        let all: Vec<_> = (cached..length).map(|position| (sequence, position)).collect();
        Ok(Self { places: Places::new(device, sizes, cache.capacity, &all)?, sequence, length })
    }
}

fn within(axis: &'static str, start: usize, end: usize, extent: usize) -> Result<()> {
    if end <= extent { Ok(()) } else { Err(Error::OutOfRange { axis, start, end, extent }) }
}

/// The next token of each sequence.
pub struct Step {
    pub(crate) places: Places,
    /// Tokens that each then has.
    pub(crate) lengths: Index,
}

impl Step {
    /// Behind so many tokens of each.
    ///
    /// # Errors
    /// That is not a number for each sequence of the cache, one has no room for another token, or the device's memory does not suffice.
    pub fn new(device: &Device, sizes: Sizes, cache: &Cache, cached: &[usize]) -> Result<Self> {
        if cached.len() != cache.sequences {
            return Err(Error::OutOfRange { axis: "sequences", start: 0, end: cached.len(), extent: cache.sequences });
        }
        for &cached in cached {
            within("tokens", cached, cached.saturating_add(1), cache.capacity)?;
        }
        let all: Vec<_> = cached.iter().copied().enumerate().collect();
        let lengths: Vec<_> = cached.iter().map(|cached| *cached as i32 + 1).collect();
        Ok(Self {
            places: Places::new(device, sizes, cache.capacity, &all)?,
            lengths: Index::from_slice(device, &lengths)?,
        })
    }
}

/// Cosines and sines of the angles of a head's elements, a position a row. Of numbers up to 1 f16 keeps eight times as much as bf16, which
/// they turn.
pub struct Rotation {
    pub(crate) cosines: Matrix<f16>,
    pub(crate) sines: Matrix<f16>,
}

impl Rotation {
    /// Element `i` and its partner half a head behind it turn by `theta^(-2 i / 128)` a position (Su et al., RoFormer, 2021).
    ///
    /// # Errors
    /// The device's memory does not suffice.
    pub fn new(device: &Device, positions: usize, theta: f64) -> Result<Self> {
        let table = |function: fn(f64) -> f64| {
            let elements = (0..positions * HEAD_DIM).map(|at| function(angle(at / HEAD_DIM, at % HEAD_DIM, theta)));
            let elements: Vec<f16> = elements.map(f16::from_f64).collect();
            Matrix::from_slice(device, &elements, positions, HEAD_DIM)
        };
        Ok(Self { cosines: table(f64::cos)?, sines: table(f64::sin)? })
    }
}

/// The angle of an element of a head at a position.
pub fn angle(position: usize, element: usize, theta: f64) -> f64 {
    let half = HEAD_DIM / 2;
    position as f64 * theta.powf(-((element % half) as f64) / half as f64)
}
