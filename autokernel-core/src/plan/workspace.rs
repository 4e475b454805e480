//! Device memory of a launch beside its operands.

use serde::{Deserialize, Serialize};

use super::Axis;
use crate::Extents;

/// A buffer of a launch's workspace. Launches that follow one another on a stream share it, so its size is no more than a
/// launch asks for, and nobody clears it between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Buffer {
    /// Bytes for each of these.
    pub bytes: u32,
    /// Of what there are so many.
    pub each: Each,
    /// What a kernel finds there.
    pub contents: Contents,
}

/// What a buffer has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Each {
    /// The blocks of the launch, of the kernel that has most.
    Block,
    /// The parts that two dimensions are divided into.
    Part([Axis; 2]),
}

/// What a kernel finds in a buffer of its workspace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Contents {
    /// Whatever was left there: it reads nothing that it has not written.
    Anything,
    /// Zeros, and it leaves zeros behind.
    Zeros,
}

impl Buffer {
    /// One of so many bytes for each block.
    pub const fn of_block(bytes: u32, contents: Contents) -> Self {
        Self { bytes, each: Each::Block, contents }
    }

    /// The dimensions that say how large it is.
    pub fn dims(&self) -> impl Iterator<Item = u8> + use<> {
        let axes = match self.each {
            Each::Block => None,
            Each::Part(axes) => Some(axes),
        };
        axes.into_iter().flatten().map(|axis| axis.dim)
    }

    /// Bytes of it, in a launch of at most so many blocks a kernel.
    pub fn size(&self, extents: &Extents, blocks: u64) -> u64 {
        let parts = |axis: Axis| u64::from(extents.size(axis.dim).div_ceil(axis.step.max(1)));
        let count = match self.each {
            Each::Block => blocks,
            Each::Part(axes) => axes.into_iter().map(parts).fold(1, u64::saturating_mul),
        };
        count.saturating_mul(self.bytes.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dim;

    #[test]
    fn a_buffer_has_room_for_each_block_or_for_each_part_of_two_dimensions() {
        let extents = Extents::new([(dim("m"), 300), (dim("n"), 5000)]);
        let of_block = Buffer::of_block(12, Contents::Zeros);
        assert_eq!(of_block.size(&extents, 132), 12 * 132);
        let part = |m, n| {
            let each = Each::Part([Axis { dim: 0, step: m }, Axis { dim: 1, step: n }]);
            Buffer { each, ..of_block }.size(&extents, 132)
        };
        assert_eq!((part(1, 128), part(128, u32::MAX), part(0, 5000)), (12 * 300 * 40, 12 * 3, 12 * 300));
        assert_eq!(Buffer::of_block(u32::MAX, Contents::Anything).size(&extents, u64::MAX), u64::MAX);
    }
}
