//! How operands are realigned by the kernel of `pad_rows.cuh`, which this mirrors.

use std::mem::offset_of;

use super::region::Region;
use crate::Dtype;

/// `autokernel::PadRowsArgs`.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub(crate) struct Args {
    matrices: [Matrix; 2],
}

/// `autokernel::PadRows`.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct Matrix {
    source: u64,
    target: u64,
    source_ld: i64,
    target_ld: i64,
    rows: i64,
    columns: i64,
}

const _: () = assert!(offset_of!(Matrix, source_ld) == 16 && offset_of!(Matrix, rows) == 32);
const _: () = assert!(size_of::<Matrix>() == 48 && size_of::<Args>() == 96);

pub(crate) const SYMBOL: &str = "autokernel_pad_rows";
pub(crate) const THREADS: u32 = 256;
/// Rows that a block copies at a time: one for each warp.
const ROWS_PER_BLOCK: u64 = 8;
/// Bytes of a row that a warp copies at a time.
const SEGMENT_BYTES: u64 = 512;
/// Blocks that one multiprocessor holds at once.
const BLOCKS_PER_SM: u64 = 8;
/// The widest unit that there is a kernel for; wider elements are copied as several.
const WIDEST_UNIT: u32 = 2;

/// A matrix, and where its rows are copied.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowCopy {
    pub source: Region,
    pub target: Region,
}

impl RowCopy {
    /// That of each matrix of what is copied.
    pub fn matrices(self) -> impl Iterator<Item = RowCopy> {
        self.source.matrices().zip(self.target.matrices()).map(|(source, target)| RowCopy { source, target })
    }
}

/// The same in the units that the kernel of an image copies.
#[derive(Debug, Clone, Copy)]
pub(crate) struct UnitCopy {
    copy: RowCopy,
    unit_bytes: u64,
    /// Units of a row.
    columns: u64,
}

impl RowCopy {
    /// As the kernel of an image takes it whose narrowest operand that it may realign has elements of type `narrowest`.
    pub fn in_units(&self, dtype: Dtype, narrowest: Dtype) -> UnitCopy {
        let unit_bytes = u64::from(narrowest.bytes().min(WIDEST_UNIT));
        UnitCopy { copy: *self, unit_bytes, columns: self.source.columns * u64::from(dtype.bytes()) / unit_bytes }
    }
}

impl From<&UnitCopy> for Matrix {
    fn from(UnitCopy { copy: RowCopy { source, target }, unit_bytes, columns }: &UnitCopy) -> Self {
        Self {
            source: source.address,
            target: target.address,
            source_ld: (source.stride / unit_bytes) as i64,
            target_ld: (target.stride / unit_bytes) as i64,
            rows: source.rows as i64,
            columns: *columns as i64,
        }
    }
}

impl Args {
    /// One matrix, or two, with the blocks of the launch along x, y and z.
    pub fn new(first: &UnitCopy, second: Option<&UnitCopy>, sm_count: u32) -> (Self, [u32; 3]) {
        let largest = |extent: fn(&UnitCopy) -> u64| extent(first).max(second.map_or(0, extent));
        let (rows, row_bytes) = (largest(|it| it.copy.source.rows), largest(|it| it.columns * it.unit_bytes));
        let (x, y) = along(rows, row_bytes, sm_count);
        let args = Self { matrices: [first.into(), second.map_or_else(Matrix::default, Matrix::from)] };
        (args, [x, y, if second.is_some() { 2 } else { 1 }])
    }

    /// As the kernel takes them.
    #[cfg(feature = "emulator")]
    pub fn to_bytes(self) -> Vec<u8> {
        let fields = |it: Matrix| {
            let [source_ld, target_ld, rows, columns] =
                [it.source_ld, it.target_ld, it.rows, it.columns].map(i64::cast_unsigned);
            [it.source, it.target, source_ld, target_ld, rows, columns]
        };
        self.matrices.into_iter().flat_map(fields).flat_map(u64::to_ne_bytes).collect()
    }
}

/// Enough blocks to fill the GPU once with one matrix: along the rows first, then along the segments of a row.
fn along(rows: u64, row_bytes: u64, sm_count: u32) -> (u32, u32) {
    let fill = u64::from(sm_count.max(1)) * BLOCKS_PER_SM;
    let x = rows.div_ceil(ROWS_PER_BLOCK).clamp(1, fill);
    let y = (fill / x).clamp(1, row_bytes.div_ceil(SEGMENT_BYTES).max(1));
    (x as u32, y as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wider_elements_are_copied_as_more_units_and_8_bit_ones_as_bytes() {
        let region = Region { address: 4, columns: 9, rows: 5, stride: 36, ..Region::default() };
        let copy = RowCopy { source: region, target: Region { address: 0, stride: 48, ..region } };
        let units = |dtype| {
            let Matrix { columns, source_ld, target_ld, .. } = Matrix::from(&copy.in_units(dtype, dtype));
            (columns, source_ld, target_ld)
        };
        assert_eq!(units(Dtype::F32), (18, 18, 24));
        assert_eq!(units(Dtype::F16), (9, 18, 24));
        assert_eq!(units(Dtype::E4m3), (9, 36, 48));
        let beside_bytes = Matrix::from(&copy.in_units(Dtype::F16, Dtype::I8));
        assert_eq!((beside_bytes.columns, beside_bytes.source_ld, beside_bytes.target_ld), (18, 36, 48));
    }

    #[test]
    fn the_grid_fills_the_gpu_and_no_more() {
        assert_eq!(along(1 << 20, 1 << 20, 132), (1056, 1));
        assert_eq!(along(8, 1 << 20, 132), (1, 1056));
        assert_eq!(along(80, 1024, 132), (10, 2));
        assert_eq!(along(1, 1, 0), (1, 1));
    }
}
