//! A matrix in device memory: an address, and how its rows lie.

use autokernel_core::Alignment;

use crate::Dtype;
use crate::operands::layout::{Axis, Layout};

/// A line of the L2 cache, in bytes.
pub(crate) const LINE: u64 = Alignment::LINE;

/// TMA's unit: bases and row strides are multiples of it, in bytes.
pub(crate) const TMA_ALIGNMENT: u64 = 16;

/// A row-major matrix in device memory.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) struct Region {
    /// Address of the first element.
    pub address: u64,
    /// Elements of a row.
    pub columns: u64,
    pub rows: u64,
    /// Bytes from one row to the next.
    pub stride: u64,
    /// The axes outside of rows, outermost first.
    pub outer: [Span; 2],
}

/// An axis outside of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Span {
    pub size: u64,
    /// Bytes from one index to the next; of a single one, aligned.
    pub stride: u64,
}

impl Span {
    pub const ONE: Span = Span { size: 1, stride: TMA_ALIGNMENT };

    /// Indices of which each has memory of its own: along an axis whose stride is 0 all have that of the first.
    pub const fn distinct(&self) -> u64 {
        if self.stride == 0 && self.size > 1 { 1 } else { self.size }
    }

    const fn is_aligned(&self, bytes: u64) -> bool {
        self.size <= 1 || self.stride.is_multiple_of(bytes)
    }
}

impl Default for Span {
    fn default() -> Self {
        Span::ONE
    }
}

impl Region {
    /// A matrix of elements of that type, at an address.
    ///
    /// A single row has no next one, so its stride is free: it is chosen aligned.
    pub fn new(address: u64, layout: Layout, dtype: Dtype) -> Self {
        let Layout { rows, columns, ld, outer, is_heads: _ } = layout;
        let bytes = u64::from(dtype.bytes());
        let stride = match rows {
            0 | 1 => (columns as u64 * bytes).next_multiple_of(TMA_ALIGNMENT),
            // Without elements a layout has any stride.
            _ => (ld as u64).saturating_mul(bytes),
        };
        let outer = outer.map(|Axis { size, stride }| match size {
            0 | 1 => Span { size: size as u64, ..Span::ONE },
            _ => Span { size: size as u64, stride: (stride as u64).saturating_mul(bytes) },
        });
        Self { address, columns: columns as u64, rows: rows as u64, stride, outer }
    }

    pub const fn is_empty(&self) -> bool {
        self.rows == 0 || self.columns == 0 || self.outer[0].size == 0 || self.outer[1].size == 0
    }

    /// Elements from one index to the next along the axis of an operand of `rank` axes, from 0, outermost first.
    pub fn stride_along(&self, axis: u8, rank: usize, dtype: Dtype) -> i64 {
        let bytes = match rank.saturating_sub(usize::from(axis)) {
            0 | 1 => return 1,
            2 => self.stride,
            3 => self.outer[1].stride,
            _ => self.outer[0].stride,
        };
        (bytes / u64::from(dtype.bytes())) as i64
    }

    /// Whether the first element, and with `rows` each row, begins at a multiple of that many bytes.
    pub const fn is_aligned(&self, bytes: u64, rows: bool) -> bool {
        let rows_are = !rows || self.rows <= 1 || self.stride.is_multiple_of(bytes);
        let [first, second] = self.outer;
        self.address.is_multiple_of(bytes) && rows_are && first.is_aligned(bytes) && second.is_aligned(bytes)
    }

    /// Each of its matrices, one that several indices share once.
    pub fn matrices(self) -> impl Iterator<Item = Region> {
        let [first, second] = self.outer;
        let at = move |i: u64, j: u64| self.address + i * first.stride + j * second.stride;
        let addresses = (0..first.distinct()).flat_map(move |i| (0..second.distinct()).map(move |j| at(i, j)));
        addresses.map(move |address| Region { address, outer: [Span::ONE; 2], ..self })
    }

    /// Whether TMA can store the matrix without touching what is beside it: a store writes whole 16-byte units, so a
    /// row that ends inside one would overwrite up to 14 bytes after its end. (Loads are exact: they give zeros there.)
    pub const fn is_storable(&self, dtype: Dtype) -> bool {
        let row_bytes = self.columns * dtype.bytes() as u64;
        self.is_aligned(TMA_ALIGNMENT, true) && row_bytes.is_multiple_of(TMA_ALIGNMENT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_matrix_is_aligned_when_its_base_is_and_where_that_counts_its_stride() {
        let aligned = Region { address: 256, columns: 3, rows: 5, stride: 16, ..Region::default() };
        assert!(aligned.is_aligned(16, true));
        assert!(!Region { address: 258, ..aligned }.is_aligned(16, false));
        let odd = Region { stride: 18, ..aligned };
        assert!(!odd.is_aligned(16, true) && odd.is_aligned(16, false));
    }

    #[test]
    fn a_row_that_ends_inside_a_16_byte_unit_is_not_stored_by_tma() {
        let row = Region { address: 256, columns: 8, rows: 5, stride: 64, ..Region::default() };
        assert!(row.is_storable(Dtype::Bf16) && row.is_storable(Dtype::F32));
        assert!(!Region { columns: 12, ..row }.is_storable(Dtype::Bf16));
        assert!(Region { columns: 12, ..row }.is_storable(Dtype::F32));
        assert!(!Region { columns: 1, rows: 1, stride: 16, ..row }.is_storable(Dtype::F16));
    }

    #[test]
    fn a_single_row_is_aligned_whatever_its_leading_dimension() {
        let row = Layout::matrix(1, 5, 7);
        let region = Region::new(32, row, Dtype::F16);
        assert_eq!(region, Region { address: 32, columns: 5, rows: 1, stride: 16, ..Region::default() });
        assert_eq!(Region::new(32, Layout { rows: 2, ..row }, Dtype::F16).stride, 14);
        assert_eq!((region.stride_along(0, 2, Dtype::F16), region.stride_along(1, 2, Dtype::F16)), (8, 1));
    }

    #[test]
    fn a_tensor_without_elements_has_any_strides() {
        let layout = Layout::strided_batch(0, [3, 2, 0], [usize::MAX; 2]).unwrap();
        assert!(Region::new(256, layout, Dtype::F32).is_empty());
    }

    #[test]
    fn what_all_of_a_batch_share_is_one_matrix_whose_stride_is_none() {
        let layout = Layout::matrix(5, 8, 16).broadcast(3);
        let region = Region::new(256, layout, Dtype::F16);
        assert_eq!((region.stride_along(0, 3, Dtype::F16), region.matrices().count()), (0, 1));
        let layout = Layout::strided_batch(1000, [3, 5, 8], [100, 16]).unwrap();
        let region = Region::new(256, layout, Dtype::F16);
        assert_eq!([0, 1, 2].map(|axis| region.stride_along(axis, 3, Dtype::F16)), [100, 16, 1]);
        assert!(!region.is_aligned(16, true) && region.is_aligned(8, true) && region.matrices().count() == 3);
    }
}
