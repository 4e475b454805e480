//! Which rows of a first factor an index picks, drawn and read as kernels read them.

use rand::RngExt;
use rand::rngs::StdRng;

use crate::sizes::Sizes;

/// The row of the factor that each row of the results is of.
#[derive(Debug)]
pub struct Picked {
    /// What the index holds.
    pub numbers: Vec<i32>,
    /// Rows of the factor.
    pub rows: usize,
}

impl Picked {
    /// Of so many rows of results: of a factor of fewer, as many or more, some twice and others never; now and then any numbers.
    pub fn random(rng: &mut StdRng, results: usize) -> Self {
        let rows = rng.random_range(1..=2 * results.max(1));
        let most = rows as i32;
        let is_any = rng.random_range(0..4) == 0;
        let mut number = || match rng.random_range(0..if is_any { 4 } else { 1 }) {
            0 => rng.random_range(0..most),
            1 => -1,
            2 => rng.random_range(-3 * most - 5..3 * most + 5),
            _ => *[i32::MIN, i32::MAX, most].get(rng.random_range(0..3)).unwrap_or(&most),
        };
        Picked { numbers: (0..results).map(|_| number()).collect(), rows }
    }

    /// The row of the factor, if there is one.
    pub fn row(&self, result: usize) -> Option<usize> {
        usize::try_from(self.numbers[result]).ok().filter(|row| *row < self.rows)
    }

    /// Whether anything may depend on row `row` of the factor.
    pub fn is_read(&self, sizes: &Sizes, row: usize) -> bool {
        (0..self.numbers.len()).any(|result| self.row(result) == Some(row) && sizes.is_read(0, result))
    }
}
