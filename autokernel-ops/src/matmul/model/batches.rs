//! What batches of products show that single ones do not, by 259 and 300 schedules at each of 70 drawn batches on an H200
//! (`docs/results/batches-h200/choice-schedules.txt.gz` and `fresh-schedules.txt.gz`): short sums, and many tiles an SM.

use super::constants::Constants;
use super::load::Load;
use super::traits::Traits;

/// What rows past an edge cost over rows that are there, where single products, of few rows and long sums, say 4.5 and 6.5. Fitted to
/// batches alone it is 1.0 to 1.4, by which choices are no better.
const PADDING: f64 = 2.04;
/// What loads of rows along K that begin between lines cost: where sums are short, no next stage takes the other half of a line.
const STRADDLING: f64 = 1.8;
/// What a tile of one consumer takes beyond that of others, in microseconds: nobody multiplies or asks for the next tile's operands
/// while it stores. Choices are as good between 0.3 and 0.6.
const ALONE_US: f64 = 0.4;

impl Constants {
    /// Those that hold for `load`.
    pub(super) fn of_load(self, load: &Load) -> Self {
        if load.is_batch() { Constants { padding: PADDING, straddling: STRADDLING, ..self } } else { self }
    }
}

impl Load {
    /// Whether there are several products or groups.
    pub(super) fn is_of_many(&self) -> bool {
        self.weights > 1.0
    }

    /// Whether there are several products, each past whose edges nothing is.
    fn is_batch(&self) -> bool {
        self.is_of_many() && !self.next_rows_follow
    }

    /// What a tile takes beyond the model's other terms, in microseconds, where one consumer has it to itself.
    pub(super) fn alone_us(&self, image: &Traits) -> f64 {
        if self.is_batch() && image.consumers == 1 { ALONE_US } else { 0.0 }
    }
}
