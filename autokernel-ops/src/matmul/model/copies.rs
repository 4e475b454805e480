//! What a launch copies before it multiplies, and how factors lie then.

use autokernel_core::Alignment;

use super::load::Load;
use super::traits::Traits;
use crate::forecast::Machine;
use crate::matmul::plan::VECTOR_BYTES;

/// A launch that copies, in microseconds, and the share of the datasheet's bandwidth at which it reads and writes: an H200 showed 1.0
/// to 1.9 µs over what the product alone was predicted to take, and 3.2 to 3.4 TB/s (`docs/results/drawn-h200/grid-seed1.txt`).
const LAUNCH_US: f64 = 1.1;
const SHARE_OF_MEMORY: f64 = 0.68;

const SECTOR_BYTES: u64 = 32;

/// Of a launch on dense matrices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Copies {
    /// Bytes that are read and written again; none where every factor is loaded from where it is.
    pub bytes: f64,
    /// What each row that the product then loads begins at.
    pub a_begins: Begins,
    pub b_begins: Begins,
}

/// The largest unit of L2 at which every row of an operand begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begins {
    AtLines,
    AtSectors,
    Anywhere,
}

impl Begins {
    /// Rows of so many bytes, one behind the other.
    pub fn of(row_bytes: u64) -> Self {
        if row_bytes.is_multiple_of(Alignment::LINE) {
            Begins::AtLines
        } else if row_bytes.is_multiple_of(SECTOR_BYTES) {
            Begins::AtSectors
        } else {
            Begins::Anywhere
        }
    }
}

/// Matrices of a factor, one behind the other.
struct Factor {
    rows: f64,
    row_bytes: u64,
    matrices: f64,
}

impl Copies {
    /// What a launch of `load` by `image` copies.
    pub fn new(image: &Traits, load: &Load) -> Self {
        let (a, b) = (load.a(image), load.b(image));
        if image.reads_in_place {
            return Copies { bytes: 0.0, a_begins: Begins::of(a.row_bytes), b_begins: Begins::of(b.row_bytes) };
        }
        let second_factors = f64::from(image.geometry.tile_n / image.geometry.columns);
        Copies {
            bytes: a.copied_bytes() + second_factors * b.copied_bytes(),
            a_begins: a.loaded(),
            b_begins: b.loaded(),
        }
    }

    /// The time that they take.
    pub fn ms(&self, machine: &Machine) -> f64 {
        if self.bytes == 0.0 {
            return 0.0;
        }
        LAUNCH_US * 1e-3 + 2.0 * self.bytes / (machine.memory_gb_per_s * 1e6 * SHARE_OF_MEMORY)
    }
}

impl Factor {
    /// Whether a row or a matrix begins where a kernel cannot load it.
    fn is_copied(&self) -> bool {
        let is_aligned = |bytes: f64| bytes % f64::from(VECTOR_BYTES) == 0.0;
        let row_bytes = self.row_bytes as f64;
        let rows_are = self.rows <= 1.0 || is_aligned(row_bytes);
        !rows_are || (self.matrices > 1.0 && !is_aligned(self.rows * row_bytes))
    }

    fn copied_bytes(&self) -> f64 {
        if self.is_copied() { self.rows * self.row_bytes as f64 * self.matrices } else { 0.0 }
    }

    /// What rows begin at where they are loaded from.
    fn loaded(&self) -> Begins {
        let is_lined = self.row_bytes >= Alignment::LINED_ROW && self.is_copied();
        if is_lined { Begins::AtLines } else { Begins::of(self.row_bytes) }
    }
}

impl Load {
    /// The first factor, as rows of all products where they lie along K.
    fn a(&self, image: &Traits) -> Factor {
        let [m, _, k] = self.sizes;
        if image.a_is_row_major {
            Factor { rows: self.rows, row_bytes: bytes_of(k, image.input_bytes), matrices: 1.0 }
        } else {
            Factor { rows: k.into(), row_bytes: bytes_of(m, image.input_bytes), matrices: self.weights }
        }
    }

    /// A second one.
    fn b(&self, image: &Traits) -> Factor {
        let [_, n, k] = self.sizes;
        let (rows, columns) = if image.b_is_row_major { (k, n) } else { (n, k) };
        Factor { rows: rows.into(), row_bytes: bytes_of(columns, image.weight_bytes), matrices: self.weights }
    }
}

fn bytes_of(elements: u32, bytes: f64) -> u64 {
    (f64::from(elements) * bytes) as u64
}

#[cfg(test)]
mod tests {
    use autokernel_core::{Dtype, Extents};

    use super::*;
    use crate::matmul::extents::{batched_extents, extents};
    use crate::matmul::problem::{Layout, Problem};
    use crate::matmul::schedule::{Schedule, Sm90Schedule};

    fn copied(layout: Layout, extents: Extents) -> (f64, bool, bool) {
        let class = Problem::new(Dtype::Bf16, layout, "identity".parse().unwrap()).class();
        let image = Traits::new(&class, &Schedule::Sm90(Sm90Schedule::PLAIN));
        let Copies { bytes, a_begins, b_begins } = Copies::new(&image, &Load::of_products(&extents));
        (bytes, a_begins == Begins::AtLines, b_begins == Begins::AtLines)
    }

    #[test]
    fn a_factor_is_copied_where_its_rows_are_no_multiple_of_16_bytes() {
        let weight = 2.0 * 1001.0 * 1280.0;
        assert_eq!(copied(Layout::Nn, extents(8192, 1001, 1280)), (weight, true, true));
        assert_eq!(copied(Layout::Nt, extents(8192, 1001, 1280)), (0.0, true, true));
        assert_eq!(copied(Layout::Tn, extents(1001, 1001, 1280)), (2.0 * weight, true, true));
        assert_eq!(copied(Layout::Nt, extents(3, 1152, 588)), (2.0 * 588.0 * (3.0 + 1152.0), true, true));
        assert_eq!(
            copied(Layout::Nt, extents(1, 1152, 588)),
            (2.0 * 588.0 * 1152.0, false, true),
            "one row has no next one"
        );
    }

    #[test]
    fn rows_of_short_copies_and_of_what_is_not_copied_may_straddle_lines() {
        assert_eq!(copied(Layout::Nn, extents(3, 1000, 2000)), (0.0, false, false));
        assert_eq!(copied(Layout::Nn, extents(3, 1024, 27)), (2.0 * 3.0 * 27.0, false, true));
    }

    #[test]
    fn matrices_of_a_batch_that_begin_between_two_units_are_copied() {
        let copied = |rows| copied(Layout::Nn, batched_extents(3, 5, 1001, rows)).0;
        assert_eq!(copied(68), 2.0 * 3.0 * 68.0 * (1001.0 + 5.0));
    }
}
