//! Places in the state spaces.

/// A place that an access means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    Global(u64),
    /// In the shared memory of a block of the cluster: which, and the index of the byte.
    Shared {
        block: usize,
        index: u32,
    },
    Local(u32),
    Parameter(u32),
}
