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
/// Elements of a row that a warp copies at a time.
const SEGMENT: u64 = 256;
/// Blocks that one multiprocessor holds at once.
const BLOCKS_PER_SM: u64 = 8;
/// Elements are 16 bits wide.
const ELEMENT_BYTES: u64 = 2;

/// A matrix, and where its rows are copied.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RowCopy {
    pub source: Region,
    pub target: Region,
}

impl RowCopy {
    /// The same bytes as a matrix of 16-bit elements.
    pub fn in_halves(&self, dtype: Dtype) -> Self {
        let widen =
            |region: Region| Region { columns: region.columns * u64::from(dtype.bytes()) / ELEMENT_BYTES, ..region };
        Self { source: widen(self.source), target: widen(self.target) }
    }
}

impl From<&RowCopy> for Matrix {
    fn from(RowCopy { source, target }: &RowCopy) -> Self {
        Self {
            source: source.address,
            target: target.address,
            source_ld: (source.stride / ELEMENT_BYTES) as i64,
            target_ld: (target.stride / ELEMENT_BYTES) as i64,
            rows: source.rows as i64,
            columns: source.columns as i64,
        }
    }
}

impl Args {
    /// One matrix of 16-bit elements, or two, with the blocks of the launch along x, y and z.
    pub fn new(first: &RowCopy, second: Option<&RowCopy>, sm_count: u32) -> (Self, [u32; 3]) {
        let largest = |extent: fn(&Region) -> u64| extent(&first.source).max(second.map_or(0, |c| extent(&c.source)));
        let (x, y) = along(largest(|matrix| matrix.rows), largest(|matrix| matrix.columns), sm_count);
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
fn along(rows: u64, columns: u64, sm_count: u32) -> (u32, u32) {
    let fill = u64::from(sm_count.max(1)) * BLOCKS_PER_SM;
    let x = rows.div_ceil(ROWS_PER_BLOCK).clamp(1, fill);
    let y = (fill / x).clamp(1, columns.div_ceil(SEGMENT).max(1));
    (x as u32, y as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wider_elements_are_copied_as_more_halves() {
        let region = Region { address: 4, columns: 9, rows: 5, stride: 36 };
        let copy = RowCopy { source: region, target: Region { address: 0, stride: 48, ..region } };
        let halves = Matrix::from(&copy.in_halves(Dtype::F32));
        assert_eq!((halves.columns, halves.source_ld, halves.target_ld), (18, 18, 24));
        assert_eq!(copy.in_halves(Dtype::F16).source, region);
    }

    #[test]
    fn the_grid_fills_the_gpu_and_no_more() {
        assert_eq!(along(1 << 20, 1 << 20, 132), (1056, 1));
        assert_eq!(along(8, 1 << 20, 132), (1, 1056));
        assert_eq!(along(80, 512, 132), (10, 2));
        assert_eq!(along(1, 1, 0), (1, 1));
    }
}
