//! The operands of a launch on an emulated GPU, in host memory.

use autokernel_codegen::problem::Problem;
use autokernel_core::{Dtype, Extents, Operand, Passed, Role};
use autokernel_runtime::{Argument, IndexView, MatrixView, MatrixViewMut, Number, Result, bf16, e4m3, e5m2, f16, i4x2};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::group_sizes::GroupSizes;
use crate::numbers;
use crate::operand::{argument as argument_of_rows, outer, rows_and_columns, seed_of};

/// How the rows of a matrix follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// One right after the other.
    Dense,
    /// With a gap after each, and at 16-byte aligned starts.
    Gapped,
    /// With a gap after each, and at starts that nothing divides.
    Unaligned,
}

impl Rows {
    fn ld(self, columns: usize) -> usize {
        match self {
            Rows::Dense => columns,
            Rows::Gapped => columns.next_multiple_of(8) + 8,
            Rows::Unaligned => (columns + 2) | 1,
        }
    }
}

/// Uneven groups, some empty.
const GROUP_SIZES: GroupSizes = GroupSizes::Zipf;

/// The operands of one launch, in the order of a signature.
pub struct Operands {
    operands: Vec<HostOperand>,
}

/// One operand.
pub struct HostOperand {
    /// What it is.
    pub operand: Operand,
    rows: usize,
    columns: usize,
    ld: usize,
    outer: Vec<usize>,
    elements: Elements,
}

enum Elements {
    Bf16(Vec<bf16>),
    F16(Vec<f16>),
    F32(Vec<f32>),
    E4m3(Vec<e4m3>),
    E5m2(Vec<e5m2>),
    I8(Vec<i8>),
    I4x2(Vec<i4x2>),
    Index(Vec<i32>),
}

impl Elements {
    /// Whole numbers that no kernel wrote.
    fn unwritten(dtype: Dtype, count: usize) -> Self {
        match dtype {
            Dtype::I4x2 => Elements::I4x2(vec![i4x2::from_bits(UNWRITTEN_BYTE); count]),
            _ => Elements::I8(vec![UNWRITTEN_BYTE.cast_signed(); count]),
        }
    }
}

/// What outputs are filled with: a NaN that no kernel computes, so that what none wrote is known from what is none.
pub const UNWRITTEN: f32 = f32::from_bits(u32::MAX);

/// The same of whole numbers, of which each is one that a kernel may compute: seen where nothing is to be written, and in a result wherever
/// another is expected.
const UNWRITTEN_BYTE: u8 = 0x55;

/// What every scalar of a launch is, as in the GPU's worker.
const SCALAR: Argument<'static> = Argument::Scalar(1.0);

impl Operands {
    /// Inputs of `problem` that `seed` draws, the same however rows lie, with NaN in the gaps; and of `operands`, which are
    /// the problem's or those of its reference, outputs of NaN.
    pub fn new(problem: &Problem, operands: Vec<Operand>, shape: &Extents, rows: Rows, seed: u64) -> Self {
        let signature = problem.signature();
        let drawn = operands.into_iter().enumerate().map(|(number, operand)| {
            let scale = problem.scale(number, shape);
            let seed = seed_of(number, seed);
            if let Some(numbers) = numbers::draw(&signature, number, shape, GROUP_SIZES, seed) {
                return HostOperand::of_numbers(operand, numbers);
            }
            let size = rows_and_columns(&signature, number, shape);
            HostOperand::new(operand, size, outer(&signature.operands[number], shape), rows, seed, scale)
        });
        Operands { operands: drawn.collect() }
    }

    /// What a launch takes.
    ///
    /// # Errors
    /// A matrix has more elements than can be counted.
    pub fn arguments(&mut self) -> Result<Vec<Argument<'_>>> {
        self.operands.iter_mut().map(HostOperand::argument).collect()
    }

    /// Those that were written.
    pub fn outputs(&self) -> impl Iterator<Item = &HostOperand> {
        self.operands.iter().filter(|host| host.operand.role == Role::Output)
    }
}

impl HostOperand {
    fn of_numbers(operand: Operand, numbers: Vec<i32>) -> Self {
        let (rows, columns) = (1, numbers.len());
        HostOperand { operand, rows, columns, ld: columns, outer: Vec::new(), elements: Elements::Index(numbers) }
    }

    fn new(
        operand: Operand,
        (height, columns): (usize, usize),
        outer: Vec<usize>,
        rows: Rows,
        seed: u64,
        scale: f32,
    ) -> Self {
        // What is counted by one dimension has one row.
        let ld = if operand.axes.len() < 2 { columns } else { rows.ld(columns) };
        let mut rng = Pcg64::seed_from_u64(seed);
        // Evenly, with the standard deviation that the worker's normal numbers have.
        let most = scale * 3f32.sqrt();
        let mut draw = |at: usize| match operand.role {
            Role::Input if at % ld < columns => rng.random_range(-most..=most),
            Role::Input => f32::NAN,
            Role::Output => UNWRITTEN,
        };
        // Up to the last element, so that one more is out of bounds.
        let count = if height == 0 || columns == 0 { 0 } else { (height - 1) * ld + columns };
        let values = (0..count).map(&mut draw);
        let elements = match operand.dtype {
            Dtype::Bf16 => Elements::Bf16(values.map(bf16::from_f32).collect()),
            Dtype::F16 => Elements::F16(values.map(f16::from_f32).collect()),
            Dtype::F32 => Elements::F32(values.collect()),
            Dtype::E4m3 => Elements::E4m3(values.map(e4m3::from_f32).collect()),
            Dtype::E5m2 => Elements::E5m2(values.map(e5m2::from_f32).collect()),
            Dtype::I8 | Dtype::I4x2 if operand.role == Role::Output => Elements::unwritten(operand.dtype, count),
            Dtype::I8 => Elements::I8(values.map(i8::from_f32).collect()),
            // Any byte is two numbers; between rows there are none, which nothing is drawn for.
            Dtype::I4x2 => {
                let byte = |at: usize| if at % ld < columns { i4x2::from_bits(rng.random()) } else { i4x2::default() };
                Elements::I4x2((0..count).map(byte).collect())
            }
            Dtype::I32 => Elements::Index((0..).take(count).collect()),
        };
        HostOperand { operand, rows: height, columns, ld, outer, elements }
    }

    fn argument(&mut self) -> Result<Argument<'_>> {
        let HostOperand { operand, rows, columns, ld, outer, elements } = self;
        let (rows, columns, ld) = (*rows, *columns, (*ld).max(1));
        macro_rules! argument {
            ($data:expr) => {
                match operand.role {
                    Role::Input => {
                        argument_of_rows!(MatrixView::from_slice_with_ld($data, rows, columns, ld)?, outer, HeadsView)?
                    }
                    Role::Output => argument_of_rows!(
                        MatrixViewMut::from_slice_with_ld($data, rows, columns, ld)?,
                        outer,
                        HeadsViewMut
                    )?,
                }
            };
        }
        Ok(match elements {
            _ if operand.passed == Passed::ByValue => SCALAR,
            Elements::Bf16(data) => argument!(data),
            Elements::F16(data) => argument!(data),
            Elements::F32(data) => argument!(data),
            Elements::E4m3(data) => argument!(data),
            Elements::E5m2(data) => argument!(data),
            Elements::I8(data) => argument!(data),
            Elements::I4x2(data) => argument!(data),
            Elements::Index(data) => IndexView::from_slice(data).into(),
        })
    }

    /// Its elements row by row, without the gaps.
    pub fn values(&self) -> impl Iterator<Item = f32> + '_ {
        (0..self.rows).flat_map(move |row| (0..self.columns).map(move |column| self.at(row * self.ld + column)))
    }

    /// Rows and columns.
    pub fn size(&self) -> (usize, usize) {
        (self.rows, self.columns)
    }

    /// The first place in a gap that was written to: the row, and the columns behind its last one.
    pub fn first_written_gap(&self) -> Option<(usize, usize)> {
        let gaps = (0..self.rows.saturating_sub(1)).flat_map(|row| (self.columns..self.ld).map(move |at| (row, at)));
        let mut written = gaps.filter(|(row, column)| self.is_written(row * self.ld + column));
        written.next().map(|(row, column)| (row, column - self.columns + 1))
    }

    fn is_written(&self, index: usize) -> bool {
        match &self.elements {
            Elements::I8(data) => data.get(index).is_some_and(|number| number.cast_unsigned() != UNWRITTEN_BYTE),
            Elements::I4x2(data) => data.get(index).is_some_and(|pair| pair.to_bits() != UNWRITTEN_BYTE),
            _ => !self.at(index).is_nan(),
        }
    }

    fn at(&self, index: usize) -> f32 {
        match &self.elements {
            Elements::Bf16(data) => data.get(index).map_or(f32::NAN, |element| element.to_f32()),
            Elements::F16(data) => data.get(index).map_or(f32::NAN, |element| element.to_f32()),
            Elements::F32(data) => data.get(index).copied().unwrap_or(f32::NAN),
            Elements::E4m3(data) => data.get(index).map_or(f32::NAN, |element| element.to_f32()),
            Elements::E5m2(data) => data.get(index).map_or(f32::NAN, |element| element.to_f32()),
            Elements::I8(data) => data.get(index).map_or(f32::NAN, |element| f32::from(*element)),
            // Both numbers as the one that their byte is.
            Elements::I4x2(data) => data.get(index).map_or(f32::NAN, |pair| pair.to_bits().cast_signed().into()),
            Elements::Index(data) => data.get(index).map_or(f32::NAN, |row| *row as f32),
        }
    }
}

#[cfg(test)]
mod tests {
    use autokernel_codegen::dtype::Dtype;
    use autokernel_codegen::matmul::extents;
    use autokernel_codegen::problem::Layout;

    use super::*;

    fn operands(rows: Rows) -> Operands {
        let problem = Problem::matmul(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap());
        Operands::new(&problem, problem.signature().operands, &extents(3, 5, 7), rows, 1)
    }

    #[test]
    fn the_same_numbers_are_drawn_however_rows_lie_and_outputs_hold_none() {
        let values = |rows| operands(rows).operands.iter().map(|host| host.values().collect()).collect::<Vec<Vec<_>>>();
        let [dense, gapped, unaligned] = [Rows::Dense, Rows::Gapped, Rows::Unaligned].map(values);
        assert_eq!((&dense[..2], &dense[..2]), (&gapped[..2], &unaligned[..2]));
        assert!(dense[0].iter().all(|value| value.is_finite()) && dense[2].iter().all(|value| value.is_nan()));
    }

    #[test]
    fn packed_numbers_are_the_same_however_rows_lie() {
        let operand = |rows| {
            let signature = Problem::matmul(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap()).signature();
            let operand = Operand { dtype: Dtype::I4x2, ..signature.operands[1].clone() };
            HostOperand::new(operand, (5, 16), Vec::new(), rows, 3, 1.0).values().collect::<Vec<f32>>()
        };
        assert_eq!((operand(Rows::Dense), operand(Rows::Gapped)), (operand(Rows::Gapped), operand(Rows::Unaligned)));
    }

    #[test]
    fn an_element_between_two_rows_is_seen_when_it_is_written() {
        let mut operands = operands(Rows::Gapped);
        let c = operands.operands.last_mut().unwrap();
        assert_eq!(c.first_written_gap(), None);
        let Elements::Bf16(data) = &mut c.elements else { panic!("bf16") };
        data[c.ld + c.columns] = bf16::ONE;
        assert_eq!(c.first_written_gap(), Some((1, 1)));
    }

    #[test]
    fn a_whole_number_between_two_rows_is_seen_when_it_is_written() {
        let signature = Problem::matmul(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap()).signature();
        for dtype in [Dtype::I8, Dtype::I4x2] {
            let operand = Operand { dtype, ..signature.operands[2].clone() };
            let mut host = HostOperand::new(operand, (3, 8), Vec::new(), Rows::Gapped, 3, 1.0);
            assert_eq!(host.first_written_gap(), None, "{dtype}");
            let at = host.ld + host.columns;
            match &mut host.elements {
                Elements::I8(data) => data[at] = 0,
                Elements::I4x2(data) => data[at] = i4x2::default(),
                _ => panic!("whole numbers"),
            }
            assert_eq!(host.first_written_gap(), Some((1, 1)), "{dtype}");
        }
    }
}
