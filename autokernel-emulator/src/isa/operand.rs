//! Operands, resolved.

/// A general register: its place in the warp's register file, and its declared width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Register {
    pub index: u32,
    pub bits: u32,
}

/// A predicate register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Predicate(pub u32);

/// `@%p` or `@!%p`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Guard {
    pub predicate: Predicate,
    pub negated: bool,
}

/// A predicate that is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PredicateSource {
    Register(Guard),
    Constant(bool),
}

/// One dimension of a block or grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Axis {
    X,
    Y,
    Z,
}

/// A special register (PTX ISA, "Special Registers").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Special {
    Thread(Axis),
    BlockSize(Axis),
    Block(Axis),
    GridSize(Axis),
    Cluster(Axis),
    ClusterCount(Axis),
    BlockInCluster(Axis),
    ClusterSize(Axis),
    ClusterRank,
    ClusterBlocks,
    Lane,
    Warp,
    Warps,
    LaneMaskEqual,
    LaneMaskLess,
    LaneMaskLessEqual,
    LaneMaskGreater,
    LaneMaskGreaterEqual,
    Multiprocessor,
    Multiprocessors,
    Clock,
    DynamicSharedBytes,
    TotalSharedBytes,
    GridId,
}

/// A declared variable; its address is known when a kernel is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Symbol {
    /// Bytes from the start of the block's static shared memory.
    Shared(u32),
    /// Where the block's dynamic shared memory begins.
    DynamicShared,
    /// Bytes from the start of the thread's local memory.
    Local(u32),
    /// Bytes from the start of the parameters.
    Parameter(u32),
    /// A variable of the module, by number.
    Global(u32),
}

/// What an instruction reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Register(Register),
    Constant(u64),
    Special(Special),
    Symbol(Symbol),
}

/// `[base + offset]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub base: Source,
    pub offset: i64,
}
