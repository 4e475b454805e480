//! What a launch needs of a workspace, and where its buffers lie there.

use autokernel_core::Extents;
use autokernel_core::plan::{Buffer, Contents};

/// The most buffers of a plan's workspace.
pub(crate) const MAX_BUFFERS: usize = 6;

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
    /// Those of a launch of at most so many blocks a kernel.
    pub fn new(workspace: &[Buffer], extents: &Extents, blocks: u64) -> Self {
        let mut needs = Needs::default();
        for (buffer, place) in workspace.iter().zip(&mut needs.places) {
            let end = match buffer.contents {
                Contents::Zeros => &mut needs.zeros,
                Contents::Anything => &mut needs.anything,
            };
            *place = Some((buffer.contents, *end));
            let bytes = buffer.size(extents, blocks);
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

    const NONE: Extents = Extents::new([]);

    #[test]
    fn buffers_of_the_same_contents_lie_behind_each_other() {
        let workspace = [(100, Contents::Anything), (16, Contents::Zeros), (8, Contents::Anything)]
            .map(|(bytes, contents)| Buffer::of_block(bytes, contents));
        let needs = Needs::new(&workspace, &NONE, 132);
        assert_eq!((needs.zeros, needs.anything), (2304, 13_312 + 1280));
        assert_eq!(needs.addresses(1 << 20, 1 << 30), [1 << 30, 1 << 20, (1 << 30) + 13_312, 0, 0, 0]);
    }

    #[test]
    fn a_plan_without_a_workspace_needs_nothing_and_none_overflows() {
        assert!(Needs::new(&[], &NONE, 132).is_empty());
        assert_eq!(Needs::new(&[Buffer::of_block(u32::MAX, Contents::Zeros)], &NONE, u64::MAX).zeros, u64::MAX);
    }
}
