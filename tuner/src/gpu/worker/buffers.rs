//! A problem's operands in device memory, each between guard zones.

use autokernel_codegen::problem::Problem;
use autokernel_core::{Extents, Operand, Passed, Role};
use autokernel_runtime::Argument;

use super::error::Result;
use super::guarded::Buffer;
use super::instruments::Instruments;
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
    buffers: Vec<OperandBuffer>,
}

/// One operand.
pub struct OperandBuffer {
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
        tools: &Instruments,
        problem: &Problem,
        shape: Extents,
        rows: Rows,
        guard_bytes: usize,
        seed: u64,
    ) -> Result<Self> {
        let mut buffers = Vec::new();
        let signature = problem.signature();
        for (number, operand) in signature.operands.iter().cloned().enumerate() {
            let (height, width) = rows_and_columns(&signature, number, &shape);
            let buffer = Buffer::new(tools, operand.dtype, height, width, rows.ld(width), guard_bytes)?;
            let scale = problem.scale(number, &shape);
            let outer = outer(&operand, &shape);
            buffers.push(OperandBuffer { operand, buffer, outer, scale });
        }
        let operands = Operands { buffers };
        operands.draw(tools, seed)?;
        Ok(operands)
    }

    /// Draws the inputs anew.
    pub fn draw(&self, tools: &Instruments, seed: u64) -> Result<()> {
        for (number, OperandBuffer { buffer, scale, .. }) in self.inputs() {
            tools.fill_normal(buffer.dtype(), buffer.rectangle(tools), seed_of(number, seed), *scale)?;
        }
        Ok(())
    }

    /// Fills the outputs with NaN.
    pub fn poison_outputs(&self, tools: &Instruments) -> Result<()> {
        self.outputs().try_for_each(|output| output.buffer.poison_all(tools))
    }

    /// All of them.
    pub fn all(&self) -> &[OperandBuffer] {
        &self.buffers
    }

    /// All of them, for a library that names none.
    pub fn all_mut(&mut self) -> &mut [OperandBuffer] {
        &mut self.buffers
    }

    /// Those that are written.
    pub fn outputs(&self) -> impl Iterator<Item = &OperandBuffer> {
        self.buffers.iter().filter(|buffer| buffer.operand.role == Role::Output)
    }

    /// What a launch takes.
    pub fn arguments(&mut self) -> Result<Vec<Argument<'_>>> {
        let of = self.buffers.iter_mut().map(|OperandBuffer { operand, buffer, outer, .. }| match operand.role {
            _ if operand.passed == Passed::ByValue => Ok(SCALAR),
            Role::Input => buffer.argument(outer),
            Role::Output => buffer.argument_mut(outer),
        });
        of.collect()
    }

    fn inputs(&self) -> impl Iterator<Item = (usize, &OperandBuffer)> {
        self.buffers.iter().enumerate().filter(|(_, buffer)| buffer.operand.role == Role::Input)
    }
}

#[cfg(test)]
mod tests {
    use autokernel_codegen::dtype::Dtype;
    use autokernel_codegen::matmul::{self, extents, sizes};
    use autokernel_codegen::problem::Layout;
    use autokernel_core::{Coarse, Signature};

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
