//! What a launch needs of a workspace, and where its buffers lie there.

use autokernel_core::plan::{Buffer, Contents};

/// The most buffers of a plan's workspace.
pub(crate) const MAX_BUFFERS: usize = 4;

/// Where each buffer begins, in bytes: what the driver's allocations begin at.
const ALIGNMENT: u64 = 256;

/// The memory that a launch needs beside its operands, and where in it each buffer lies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// Bytes that hold zeros, and bytes that hold anything.
    pub zeros: u64,
    pub anything: u64,
    places: [Option<(Contents, u64)>; MAX_BUFFERS],
}

/// The addresses of the buffers, by their numbers.
pub(crate) type Addresses = [u64; MAX_BUFFERS];

impl Needs {
    /// Those of a launch of so many blocks.
    pub fn new(workspace: &[Buffer], blocks: u64) -> Self {
        let mut needs = Needs::default();
        for (buffer, place) in workspace.iter().zip(&mut needs.places) {
            let end = match buffer.contents {
                Contents::Zeros => &mut needs.zeros,
                Contents::Anything => &mut needs.anything,
            };
            *place = Some((buffer.contents, *end));
            let bytes = blocks.saturating_mul(buffer.bytes_per_block.into());
            *end = end.saturating_add(bytes.checked_next_multiple_of(ALIGNMENT).unwrap_or(u64::MAX));
        }
        needs
    }

    /// Whether there is nothing that it needs.
    pub fn is_empty(&self) -> bool {
        self.zeros == 0 && self.anything == 0
    }

    /// Where the buffers lie, given where memory of each kind begins.
    pub fn addresses(&self, zeros: u64, anything: u64) -> Addresses {
        self.places.map(|place| match place {
            Some((Contents::Zeros, offset)) => zeros + offset,
            Some((Contents::Anything, offset)) => anything + offset,
            None => 0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffer(bytes_per_block: u32, contents: Contents) -> Buffer {
        Buffer { bytes_per_block, contents }
    }

    #[test]
    fn buffers_of_the_same_contents_lie_behind_each_other() {
        let workspace = [buffer(100, Contents::Anything), buffer(16, Contents::Zeros), buffer(8, Contents::Anything)];
        let needs = Needs::new(&workspace, 132);
        assert_eq!((needs.zeros, needs.anything), (2304, 13_312 + 1280));
        assert_eq!(needs.addresses(1 << 20, 1 << 30), [1 << 30, 1 << 20, (1 << 30) + 13_312, 0]);
    }

    #[test]
    fn a_plan_without_a_workspace_needs_nothing_and_none_overflows() {
        assert!(Needs::new(&[], 132).is_empty());
        assert_eq!(Needs::new(&[buffer(u32::MAX, Contents::Zeros)], u64::MAX).zeros, u64::MAX);
    }
}
