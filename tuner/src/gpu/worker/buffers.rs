//! A problem's operands in device memory, each between guard zones.

use autokernel_codegen::problem::Problem;
use autokernel_core::{Extents, Operand, Passed, Role, Signature};
use autokernel_runtime::{Argument, Device, Index};

use super::error::Result;
use super::guarded::Buffer;
use super::instruments::Instruments;
use crate::group_sizes::GroupSizes;
use crate::numbers;
use crate::operand::{outer, rows_and_columns, seed_of};

/// Bytes before and after a matrix that is checked: more than a row of a large matrix.
pub const GUARD_BYTES: usize = 1 << 20;

/// Where the rows of a matrix lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// One after the other.
    Dense,
    /// With a gap after each, and at 16-byte aligned starts.
    Gapped,
}

impl Rows {
    fn ld(self, columns: usize) -> usize {
        match self {
            Rows::Dense => columns,
            Rows::Gapped => columns.next_multiple_of(8) + 8,
        }
    }
}

/// The operands of one launch, in the order of the problem's signature.
pub struct Operands {
    signature: Signature,
    shape: Extents,
    group_sizes: GroupSizes,
    buffers: Vec<OperandBuffer>,
}

/// One operand.
pub enum OperandBuffer {
    /// A matrix, or several.
    Matrix(MatrixBuffer),
    /// Whole numbers that say where groups begin, how many rows count, or which are picked.
    Numbers {
        /// On the GPU.
        index: Index,
        /// On the host.
        drawn: Vec<i32>,
    },
}

/// An operand of elements.
pub struct MatrixBuffer {
    /// What it is.
    pub operand: Operand,
    /// Where it lies.
    pub buffer: Buffer,
    /// Matrices along the axes outside of rows.
    pub outer: Vec<usize>,
    /// The standard deviation of what it is filled with.
    scale: f32,
}

/// What every scalar of a launch is.
pub const SCALAR: Argument<'static> = Argument::Scalar(1.0);

impl Operands {
    /// Random inputs, and outputs of NaN.
    pub fn new(
        (device, tools): (&Device, &Instruments),
        problem: &Problem,
        (shape, group_sizes): (Extents, GroupSizes),
        rows: Rows,
        guard_bytes: usize,
        seed: u64,
    ) -> Result<Self> {
        let mut buffers = Vec::new();
        let signature = problem.signature();
        for (number, operand) in signature.operands.iter().cloned().enumerate() {
            if let Some(drawn) = numbers::draw(&signature, number, &shape, group_sizes, seed_of(number, seed)) {
                buffers.push(OperandBuffer::Numbers { index: Index::from_slice(device, &drawn)?, drawn });
                continue;
            }
            let (height, width) = rows_and_columns(&signature, number, &shape);
            let buffer = Buffer::new(tools, operand.dtype, height, width, rows.ld(width), guard_bytes)?;
            let scale = problem.scale(number, &shape);
            let outer = outer(&operand, &shape);
            buffers.push(OperandBuffer::Matrix(MatrixBuffer { operand, buffer, outer, scale }));
        }
        let operands = Operands { signature, shape, group_sizes, buffers };
        operands.draw(tools, seed)?;
        Ok(operands)
    }

    /// Draws the elements of inputs anew. Whole numbers stay, so that what is timed has groups of the same sizes in each trial.
    pub fn draw(&self, tools: &Instruments, seed: u64) -> Result<()> {
        for (number, MatrixBuffer { operand, buffer, scale, .. }) in self.matrices() {
            if operand.role == Role::Input {
                tools.fill_normal(buffer.dtype(), buffer.rectangle(tools), seed_of(number, seed), *scale)?;
            }
        }
        Ok(())
    }

    /// Draws whole numbers anew: of what is checked and not timed.
    pub fn draw_numbers(&mut self, seed: u64) -> Result<()> {
        let Operands { signature, shape, group_sizes, buffers } = self;
        for (number, buffer) in buffers.iter_mut().enumerate() {
            let OperandBuffer::Numbers { index, drawn } = buffer else { continue };
            if let Some(others) = numbers::draw(signature, number, shape, *group_sizes, seed_of(number, seed)) {
                index.copy_from_slice(&others)?;
                *drawn = others;
            }
        }
        Ok(())
    }

    /// Fills the outputs with NaN.
    pub fn poison_outputs(&self, tools: &Instruments) -> Result<()> {
        self.outputs().try_for_each(|output| output.buffer.poison_all(tools))
    }

    /// What the kernel takes.
    pub const fn signature(&self) -> &Signature {
        &self.signature
    }

    /// All of them.
    pub fn all(&self) -> &[OperandBuffer] {
        &self.buffers
    }

    /// Those of elements, for a library that names none.
    pub fn matrices_mut(&mut self) -> Vec<&mut MatrixBuffer> {
        let matrices = self.buffers.iter_mut().filter_map(|buffer| match buffer {
            OperandBuffer::Matrix(matrix) => Some(matrix),
            OperandBuffer::Numbers { .. } => None,
        });
        matrices.collect()
    }

    /// Those that are written.
    pub fn outputs(&self) -> impl Iterator<Item = &MatrixBuffer> {
        self.matrices().map(|(_, matrix)| matrix).filter(|matrix| matrix.operand.role == Role::Output)
    }

    /// What a launch takes.
    pub fn arguments(&mut self) -> Result<Vec<Argument<'_>>> {
        let of = self.buffers.iter_mut().map(|buffer| match buffer {
            OperandBuffer::Numbers { index, .. } => Ok(Argument::from(index.view())),
            OperandBuffer::Matrix(MatrixBuffer { operand, buffer, outer, .. }) => match operand.role {
                _ if operand.passed == Passed::ByValue => Ok(SCALAR),
                Role::Input => buffer.argument(outer),
                Role::Output => buffer.argument_mut(outer),
            },
        });
        of.collect()
    }

    /// Those of elements, by their numbers.
    fn matrices(&self) -> impl Iterator<Item = (usize, &MatrixBuffer)> {
        self.buffers.iter().enumerate().filter_map(|(number, buffer)| match buffer {
            OperandBuffer::Matrix(matrix) => Some((number, matrix)),
            OperandBuffer::Numbers { .. } => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use autokernel_codegen::dtype::Dtype;
    use autokernel_codegen::matmul::{self, extents, sizes};
    use autokernel_codegen::problem::Layout;
    use autokernel_core::Coarse;

    use super::*;

    #[test]
    fn the_sibling_is_ragged_in_every_extent_that_is_not_compiled_in() {
        let product = matmul::Problem::new(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap());
        let shape = extents(4096, 4096, 4096);
        assert_eq!(Problem::from(product.clone()).ragged(&shape), extents(389, 523, 203));
        assert_eq!(Problem::from(product.clone()).ragged(&extents(16, 64, 64)), extents(16, 523, 203));
        let known = matmul::Problem { known_n: Some(4096), ..product };
        assert_eq!(sizes(&Problem::from(known).ragged(&shape))[1], 4096);
    }

    #[test]
    fn an_operand_has_the_rows_and_columns_of_its_axes() {
        let signature = Problem::matmul(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap()).signature();
        let shape = extents(2, 3, 5);
        let sizes = |signature: &Signature| -> Vec<_> {
            (0..signature.operands.len()).map(|number| rows_and_columns(signature, number, &shape)).collect()
        };
        assert_eq!(sizes(&signature), [(2, 5), (3, 5), (2, 3)]);
        let mut other = signature.clone();
        (other.operands[0].axes, other.operands[1].axes) = (vec![1], vec![0, 1, 2]);
        assert_eq!(sizes(&other)[..2], [(1, 3), (6, 5)]);
        let coarse = vec![Coarse { operand: 1, axis: 1, indices: 2, together: 16, is_ragged: false }];
        assert_eq!(sizes(&Signature { coarse, ..signature })[1], (3, 3));
    }

    #[test]
    fn no_two_operands_are_drawn_alike() {
        let seeds: std::collections::BTreeSet<u64> =
            (0..8).flat_map(|seed| (0..4).map(move |operand| seed_of(operand, seed))).collect();
        assert_eq!(seeds.len(), 8 * 4);
    }
}
