//! The cache of the model: what a wave reads from memory, by how much was touched since it was touched before.

use std::collections::{BTreeMap, HashMap};

/// A part of an operand that a cluster touches as one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Piece {
    /// Its number in the signature.
    pub operand: usize,
    /// Where it lies along each of its axes.
    pub place: Vec<u32>,
    /// Whether it is read.
    pub is_input: bool,
}

/// What the clusters of a wave touch.
#[derive(Default)]
pub struct Wave {
    /// Bytes of inputs that they ask for, one by one.
    pub requested: u64,
    /// What they touch, with its bytes, each once.
    pub touched: HashMap<Piece, u64>,
}

/// Bytes of inputs that come from memory with a cache of so many.
pub fn from_memory(waves: &[Wave], cache: u64) -> u64 {
    let mut last_use = HashMap::<&Piece, usize>::new();
    // Bytes of the pieces whose last use was in each wave.
    let mut last_used = BTreeMap::<usize, u64>::new();
    let mut read = 0;
    for (number, wave) in waves.iter().enumerate() {
        // By the wave that used them last: those never used before, then the oldest.
        let mut by_age = BTreeMap::<Option<usize>, Vec<(&Piece, u64)>>::new();
        for (piece, bytes) in &wave.touched {
            by_age.entry(last_use.get(piece).copied()).or_default().push((piece, *bytes));
        }
        let mut no_newer = 0;
        for (age, pieces) in by_age {
            no_newer += pieces.iter().map(|(_, bytes)| bytes).sum::<u64>();
            let newer = |age| last_used.range(age + 1..).map(|(_, bytes)| bytes).sum::<u64>();
            if age.is_none_or(|age| no_newer + newer(age) > cache) {
                read += pieces.iter().filter(|(piece, _)| piece.is_input).map(|(_, bytes)| bytes).sum::<u64>();
            }
        }
        for (piece, bytes) in &wave.touched {
            if let Some(before) = last_use.insert(piece, number) {
                last_used.entry(before).and_modify(|all| *all -= bytes);
            }
            *last_used.entry(number).or_default() += bytes;
        }
    }
    read
}
