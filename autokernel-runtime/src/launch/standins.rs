//! Which operands a kernel cannot address where they are, and where their stand-ins lie.

use autokernel_core::Alignment;

use super::MAX_OPERANDS;
use super::pad_rows::RowCopy;
use super::region::{LINE, Region, Span, TMA_ALIGNMENT};
use crate::{Dtype, Operand, Passed, Role, Signature};

/// From each operand that needs a stand-in to its place in scratch memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Places {
    copies: [Option<RowCopy>; MAX_OPERANDS],
    /// The narrowest type of the operands that may need one: what the image's kernel copies.
    pub narrowest: Dtype,
}

impl Places {
    /// Puts the stand-ins, whose places were offsets, behind `address`, and each into `regions` for its operand.
    pub fn put_at(&mut self, address: u64, regions: &mut [Region]) {
        for (region, copy) in regions.iter_mut().zip(&mut self.copies) {
            let Some(RowCopy { target, .. }) = copy else { continue };
            target.address += address;
            *region = *target;
        }
    }

    /// Those that are copied before the launch, matrix by matrix, with their element types: inputs, and outputs of which
    /// rows that are between no bounds stay as they are.
    pub fn copied_before(&self, signature: &Signature) -> impl Iterator<Item = (RowCopy, Dtype)> {
        let leaves_rows = signature.operands.iter().any(|operand| operand.passed == Passed::Bounds);
        self.of(signature, move |role| role == Role::Input || leaves_rows)
    }

    /// Those that are copied back: the outputs.
    pub fn copied_back(&self, signature: &Signature) -> impl Iterator<Item = (RowCopy, Dtype)> {
        self.of(signature, |role| role == Role::Output)
    }

    fn of(&self, signature: &Signature, is_one: impl Fn(Role) -> bool) -> impl Iterator<Item = (RowCopy, Dtype)> {
        let operands = signature.operands.iter().zip(self.copies);
        let copies =
            operands.filter_map(move |(operand, copy)| Some((copy?, operand.dtype)).filter(|_| is_one(operand.role)));
        copies.flat_map(|(copy, dtype)| copy.matrices().map(move |copy| (copy, dtype)))
    }
}

/// The places of all stand-ins as offsets in scratch memory, and its bytes. None where no operand needs one.
pub(crate) fn plan(signature: &Signature, alignments: &[Alignment], regions: &[Region]) -> Option<(Places, u64)> {
    let needs_one = |alignment: &&Alignment| {
        let region = regions.get(usize::from(alignment.operand));
        region.is_some_and(|it| !it.is_empty() && !it.is_aligned(u64::from(alignment.bytes), alignment.rows))
    };
    let mut needing = alignments.iter().filter(needs_one).peekable();
    needing.peek()?;
    let (mut copies, mut bytes) = ([None; MAX_OPERANDS], 0u64);
    for alignment in needing {
        let number = usize::from(alignment.operand);
        let (Some(operand), Some(region), Some(slot)) =
            (signature.operands.get(number), regions.get(number), copies.get_mut(number))
        else {
            continue;
        };
        let target = in_scratch(region, operand, *alignment, bytes);
        bytes = bytes.saturating_add(scratch_bytes(&target));
        *slot = Some(RowCopy { source: *region, target });
    }
    let operands = alignments.iter().filter_map(|alignment| signature.operands.get(usize::from(alignment.operand)));
    let narrowest = operands.map(|operand| operand.dtype).min_by_key(|dtype| dtype.bytes()).unwrap_or(Dtype::Bf16);
    Some((Places { copies, narrowest }, bytes))
}

/// A matrix of that size at an offset in scratch memory, a multiple of a line.
fn in_scratch(region: &Region, operand: &Operand, alignment: Alignment, offset: u64) -> Region {
    let row_bytes = region.columns * u64::from(operand.dtype.bytes());
    let stride = stride_for(row_bytes, u64::from(alignment.bytes));
    let mut apart = stride.saturating_mul(region.rows);
    let [first, second] = region.outer;
    let mut behind = |axis: Span| {
        let stride = if axis.distinct() == axis.size { apart } else { 0 };
        apart = apart.saturating_mul(axis.distinct());
        Span { stride, ..axis }
    };
    let second = behind(second);
    Region { address: offset, stride, outer: [behind(first), second], ..*region }
}

/// Its bytes: whole lines, so that another one may follow.
fn scratch_bytes(target: &Region) -> u64 {
    let [first, second] = target.outer;
    let matrices = first.distinct().saturating_mul(second.distinct());
    target
        .stride
        .saturating_mul(target.rows)
        .saturating_mul(matrices)
        .max(1)
        .checked_next_multiple_of(LINE)
        .unwrap_or(u64::MAX)
}

/// How far apart rows of that many bytes begin in scratch memory, in bytes: always at what copies write at once.
fn stride_for(row_bytes: u64, alignment: u64) -> u64 {
    row_bytes.next_multiple_of(if row_bytes < Alignment::LINED_ROW { alignment.max(TMA_ALIGNMENT) } else { LINE })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two inputs and an output, all of bf16.
    fn signature() -> Signature {
        let operand = |role| Operand {
            name: String::new(),
            role,
            dtype: Dtype::Bf16,
            axes: vec![0, 1],
            passed: crate::Passed::ByAddress,
        };
        Signature {
            dims: Vec::new(),
            operands: [Role::Input, Role::Input, Role::Output].map(operand).to_vec(),
            ..Signature::default()
        }
    }

    const ALL: [Alignment; 3] = [
        Alignment { operand: 0, bytes: 16, rows: true },
        Alignment { operand: 1, bytes: 16, rows: true },
        Alignment { operand: 2, bytes: 16, rows: false },
    ];

    fn dense(address: u64, rows: u64, columns: u64) -> Region {
        Region { address, rows, columns, stride: 2 * columns, ..Region::default() }
    }

    #[test]
    fn operands_that_lie_as_the_plan_asks_have_no_stand_ins() {
        let odd_output = Region { stride: 18, ..dense(512, 8, 8) };
        assert!(plan(&signature(), &ALL, &[dense(0, 8, 8), dense(256, 8, 8), odd_output]).is_none());
        let odd = dense(2, 9, 9);
        assert!(plan(&signature(), &[], &[odd, odd, odd]).is_none(), "nothing was asked for");
    }

    #[test]
    fn operands_without_elements_are_left_alone() {
        assert!(plan(&signature(), &ALL, &[dense(2, 9, 0), dense(2, 0, 9), dense(16, 9, 9)]).is_none());
    }

    #[test]
    fn stand_ins_lie_behind_each_other_at_lines() {
        let regions = [dense(2, 3, 9), dense(0, 4099, 4101), dense(6, 5, 8)];
        let (Places { copies, .. }, bytes) = plan(&signature(), &ALL, &regions).unwrap();
        let targets = copies.map(|copy| {
            copy.map(|RowCopy { target: Region { address, rows, columns, stride, .. }, .. }| {
                [address, rows, columns, stride]
            })
        });
        assert_eq!(targets[0], Some([0, 3, 9, 32]));
        assert_eq!(targets[1], Some([128, 4099, 4101, 8320]));
        let third = 128 + 4099 * 8320;
        assert_eq!(targets[2], Some([third, 5, 8, 16]));
        assert_eq!(bytes, third + 128);
        assert!(targets[3..].iter().all(Option::is_none));
        assert!(copies.iter().flatten().zip(regions).all(|(copy, region)| copy.source == region));
    }

    #[test]
    fn matrices_of_a_tensor_of_four_axes_are_copied_one_by_one_to_rows_without_gaps_between_them() {
        let outer = [Span { size: 2, stride: 900 }, Span { size: 3, stride: 300 }];
        let heads = Region { stride: 26, outer, ..dense(0, 4, 8) };
        let (places, bytes) = plan(&signature(), &ALL, &[heads, dense(0, 8, 8), dense(0, 8, 8)]).unwrap();
        let copies: Vec<_> = places.copied_before(&signature()).collect();
        let addresses = copies.iter().map(|(copy, _)| (copy.source.address, copy.target.address));
        assert_eq!(
            addresses.collect::<Vec<_>>(),
            [(0, 0), (300, 64), (600, 128), (900, 192), (1200, 256), (1500, 320)]
        );
        assert!(copies.iter().all(|(copy, _)| (copy.target.stride, copy.target.rows) == (16, 4)));
        assert_eq!(bytes, 384);
    }

    #[test]
    fn an_output_is_copied_before_the_launch_where_rows_between_no_bounds_stay_as_they_are() {
        let regions = [dense(0, 8, 8), dense(256, 8, 8), dense(514, 8, 8)];
        let copied_before = |signature: &Signature| {
            let (places, _) = plan(signature, &[Alignment { rows: true, ..ALL[2] }], &regions).unwrap();
            assert_eq!(places.copied_back(signature).count(), 1);
            places.copied_before(signature).count()
        };
        let whole = signature();
        assert_eq!(copied_before(&whole), 0);
        let mut packed = signature();
        packed.operands[1].passed = Passed::Bounds;
        assert_eq!(copied_before(&packed), 1);
    }

    #[test]
    fn copies_of_long_rows_begin_at_lines_and_those_of_short_rows_at_16_bytes() {
        let stride = |row_bytes| stride_for(row_bytes, 16);
        assert_eq!([2 * 4101, 2 * 4095, 1024].map(stride), [8320, 8192, 1024]);
        assert_eq!([2, 2 * 9, 1022].map(stride), [16, 32, 1024]);
        assert_eq!((stride_for(18, 4), stride_for(18, 64)), (32, 64));
    }

    #[test]
    fn more_than_memory_holds_is_counted_without_overflow() {
        assert_eq!(scratch_bytes(&Region { rows: u64::MAX, ..dense(0, 0, 9) }), u64::MAX);
    }
}
