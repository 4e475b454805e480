//! What batches of products show that single ones do not, by 259 and 300 schedules at each of 70 drawn batches on an H200
//! (`docs/results/batches-h200/choice-schedules.txt.gz` and `fresh-schedules.txt.gz`) and 200 at 60 more (`candidates.txt.gz`): short
//! sums, tiles that hang over an edge, and many of them an SM.

use super::constants::Constants;
use super::load::Load;
use super::traits::Traits;

/// What rows past an edge cost over rows that are there, where single products, of few rows and long sums, say 4.5 and 6.5. Fitted to
/// batches alone it is 1.0 to 1.4, by which choices are no better.
const PADDING: f64 = 2.04;
/// What loads of rows along K that begin at sectors cost: where sums are short, no next stage takes the other half of a line.
const STRADDLING: f64 = 1.45;
/// What a tile of one consumer takes beyond that of others, in microseconds: nobody multiplies or asks for the next tile's operands
/// while it stores; and one of consumers that take turns.
const ALONE_US: f64 = 0.22;
const IN_TURN_US: f64 = 0.042;
/// What the stores of a tile ask for over those of its elements, and what of that goes with the share of them that is there: TMA writes
/// nothing past an edge, where a batch of small products has much of its tiles.
const STORED: f64 = 0.34;
const STORED_THERE: f64 = 0.79;
/// Columns of a store box of tiles that are not transposed, of 16 bits a line. A tile of 160 is stored in three of them.
const BOX_COLUMNS: u32 = 64;

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
    pub(super) fn is_batch(&self) -> bool {
        self.is_of_many() && !self.next_rows_follow
    }

    /// What the stores of a tile ask for in the mean, over those of all its elements where products are large.
    pub(super) fn stored_of_tile(&self, image: &Traits) -> f64 {
        if !self.is_batch() {
            return 1.0;
        }
        let [m, n, _] = self.sizes;
        let (tile_m, tile_n) = (image.geometry.tile_m, image.geometry.columns);
        let (rows, columns) = (m.div_ceil(tile_m).max(1), n.div_ceil(tile_n).max(1));
        let boxed = |columns: u32| if image.transposed { columns } else { columns.next_multiple_of(BOX_COLUMNS) };
        let last = n.saturating_sub((columns - 1) * tile_n);
        let stored = f64::from(columns - 1) * f64::from(boxed(tile_n)) + f64::from(boxed(last));
        let of_rows = f64::from(m) / (f64::from(rows) * f64::from(tile_m));
        STORED + STORED_THERE * of_rows * stored / (f64::from(columns) * f64::from(tile_n))
    }

    /// What a tile takes beyond the model's other terms, in microseconds, where consumers share none of it.
    pub(super) fn alone_us(&self, image: &Traits) -> f64 {
        match image.consumers {
            1 if self.is_batch() => ALONE_US,
            2 if self.is_batch() && image.ping_pong => IN_TURN_US,
            _ => 0.0,
        }
    }
}
