//! The instructions.

use super::lanes::{Lanewise, LanewiseTest};
use super::operand::{Address, Guard, Predicate, PredicateSource, Register, Source};
use super::rounding::Round;
use super::types::{Space, Type};

/// One instruction of a kernel.
#[derive(Clone, Debug)]
pub(crate) struct Instruction {
    pub guard: Option<Guard>,
    pub op: Op,
    /// Of the PTX text.
    pub line: u32,
    /// Its opcode with all modifiers: a number in the kernel's list.
    pub mnemonic: u32,
    /// Where it comes from: a number in the kernel's list of locations.
    pub location: Option<u32>,
}

/// What an instruction does.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    /// Arithmetic, logic, conversion: each lane for itself.
    Lanewise {
        apply: Lanewise,
        d: Register,
        operands: [Source; 3],
    },
    /// The same, of four operands.
    Quaternary {
        apply: fn(u64, u64, u64, u64) -> u64,
        d: Register,
        operands: [Source; 4],
    },
    Convert {
        d: Register,
        a: Source,
        conversion: Conversion,
    },
    Compare(Box<Compare>),
    Logic {
        op: Logic,
        d: Predicate,
        a: PredicateSource,
        b: PredicateSource,
    },
    Select {
        d: Register,
        a: Source,
        b: Source,
        condition: PredicateSource,
    },
    /// Several narrow values to one wide register, the first lowest.
    Pack {
        d: Register,
        parts: Box<[Source]>,
        part_bits: u32,
    },
    /// One wide value to several registers.
    Unpack {
        parts: Box<[Option<Register>]>,
        part_bits: u32,
        a: Source,
    },
    ConvertAddress {
        d: Register,
        a: Source,
        space: Space,
        to_generic: bool,
    },
    Branch {
        target: u32,
    },
    Exit,
    Trap,
    Load(Box<Load>),
    Store(Box<Store>),
    Atomic(Box<Atomic>),
    /// A hint that changes nothing but what a cache holds.
    Prefetch,
    PrefetchMap {
        address: Address,
    },
    Warp(Box<WarpOp>),
    Barrier(BarrierOp),
    Fence(Fence),
    Mbarrier(Box<MbarrierOp>),
    MapToPeer {
        d: Register,
        a: Source,
        rank: Source,
        generic: bool,
    },
    RankOfAddress {
        d: Register,
        a: Source,
    },
    Copy(Box<CopyOp>),
    Matrix(Box<MatrixOp>),
    Wgmma(Box<Wgmma>),
    WgmmaFence,
    WgmmaCommit,
    WgmmaWait {
        pending: u32,
    },
    /// `setmaxnreg`: registers move between warpgroups.
    MoveRegisters {
        count: u32,
        increases: bool,
    },
    /// `griddepcontrol`: waits for the grids before this one, or lets the next one begin.
    GridDependency {
        waits: bool,
    },
    Sleep,
}

/// `cvt` of one value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conversion {
    pub to: Type,
    pub from: Type,
    pub round: Round,
    /// A float is rounded to an integer, which stays a float if `to` is one.
    pub integral: bool,
    pub saturates: bool,
    pub flushes: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Compare {
    pub test: LanewiseTest,
    pub a: Source,
    pub b: Source,
    /// With what the outcome is combined.
    pub combine: Option<(Logic, PredicateSource)>,
    pub d: Option<Predicate>,
    /// Receives the opposite outcome.
    pub opposite: Option<Predicate>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Logic {
    And,
    Or,
    Xor,
    Not,
    Move,
}

#[derive(Clone, Debug)]
pub(crate) struct Load {
    pub space: Space,
    pub ty: Type,
    pub d: Box<[Option<Register>]>,
    pub address: Address,
    pub order: Order,
}

#[derive(Clone, Debug)]
pub(crate) struct Store {
    pub space: Space,
    pub ty: Type,
    pub values: Box<[Source]>,
    pub address: Address,
    pub order: Order,
}

/// What an access orders (PTX ISA, "Memory Consistency Model").
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Weak,
    /// Strong, but orders nothing else.
    Relaxed,
    Acquire,
    Release,
    AcquireRelease,
}

impl Order {
    /// Whether what came before is passed on.
    pub const fn releases(self) -> bool {
        matches!(self, Order::Release | Order::AcquireRelease)
    }

    /// Whether what was passed on is taken.
    pub const fn acquires(self) -> bool {
        matches!(self, Order::Acquire | Order::AcquireRelease)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Atomic {
    pub space: Space,
    pub ty: Type,
    pub op: AtomicOp,
    /// None for `red`.
    pub d: Option<Register>,
    pub address: Address,
    pub a: Source,
    /// The second operand of `cas`.
    pub b: Source,
    pub order: Order,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtomicOp {
    Add,
    Min,
    Max,
    And,
    Or,
    Xor,
    Exchange,
    CompareExchange,
    Increment,
    Decrement,
}

/// Instructions in which the lanes of a warp talk to each other.
#[derive(Clone, Debug)]
pub(crate) enum WarpOp {
    Shuffle {
        mode: Shuffle,
        d: Register,
        in_range: Option<Predicate>,
        a: Source,
        b: Source,
        c: Source,
        members: Source,
    },
    Vote {
        mode: Vote,
        value: PredicateSource,
        members: Source,
    },
    Reduce {
        op: AtomicOp,
        ty: Type,
        d: Register,
        a: Source,
        members: Source,
    },
    Elect {
        leader: Option<Register>,
        elected: Predicate,
        members: Source,
    },
    ActiveMask {
        d: Register,
    },
    Synchronise {
        members: Source,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shuffle {
    Up,
    Down,
    Butterfly,
    Index,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vote {
    All(Predicate),
    Any(Predicate),
    Uniform(Predicate),
    Ballot(Register),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BarrierOp {
    /// `threads`: none for every thread of the block.
    Sync {
        id: Source,
        threads: Option<Source>,
    },
    Arrive {
        id: Source,
        threads: Source,
    },
    ClusterArrive {
        release: bool,
    },
    ClusterWait {
        acquire: bool,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fence {
    /// Between accesses of one proxy, at any scope.
    Memory,
    /// Between the generic and the asynchronous proxy.
    ProxyAsync,
    MbarrierInit,
}

#[derive(Clone, Debug)]
pub(crate) enum MbarrierOp {
    Init { address: Address, space: Space, count: Source },
    Invalidate { address: Address, space: Space },
    Arrive(Arrive),
    ExpectBytes { address: Address, space: Space, bytes: Source },
    Wait { done: Predicate, address: Address, space: Space, phase: Phase, may_block: bool, acquire: bool },
}

#[derive(Clone, Debug)]
pub(crate) struct Arrive {
    pub address: Address,
    pub space: Space,
    pub count: Source,
    pub expect_bytes: Option<Source>,
    pub state: Option<Register>,
    /// Whether the thread also leaves later phases.
    pub drops: bool,
    pub release: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Parity(Source),
    State(Source),
}

/// Asynchronous copies.
#[derive(Clone, Debug)]
pub(crate) enum CopyOp {
    /// `cp.async`: 4, 8 or 16 bytes a thread.
    Async {
        to: Address,
        from: Address,
        bytes: u32,
        source_bytes: Option<Source>,
        ignore: PredicateSource,
    },
    AsyncCommit,
    AsyncWait {
        pending: u32,
    },
    /// Also for what is not committed.
    AsyncWaitAll,
    AsyncArrive {
        barrier: Address,
        space: Space,
        counted: bool,
    },
    BulkToShared {
        to: Address,
        from: Address,
        bytes: Source,
        barrier: Address,
        from_shared: bool,
        multicast: Option<Source>,
    },
    BulkToGlobal {
        to: Address,
        from: Address,
        bytes: Source,
    },
    /// Registers to shared memory, counted by an mbarrier.
    StoreCounted {
        to: Address,
        ty: Type,
        values: Box<[Source]>,
        barrier: Address,
    },
    TensorLoad {
        to: Address,
        map: Address,
        at: Box<[Source]>,
        barrier: Address,
        multicast: Option<Source>,
    },
    TensorStore {
        map: Address,
        at: Box<[Source]>,
        from: Address,
    },
    /// Bytes to L2, which changes nothing.
    BulkPrefetch {
        from: Address,
        bytes: Source,
    },
    /// A box to L2, which changes nothing.
    TensorPrefetch {
        map: Address,
        at: Box<[Source]>,
    },
    BulkCommit,
    BulkWait {
        pending: u32,
        reads_only: bool,
    },
}

/// Instructions on fragments of matrices, by one warp.
#[derive(Clone, Debug)]
pub(crate) enum MatrixOp {
    /// 8x8 matrices of 16-bit elements from shared memory.
    Load {
        d: Box<[Register]>,
        space: Space,
        address: Address,
        transposed: bool,
    },
    Store {
        values: Box<[Source]>,
        space: Space,
        address: Address,
        transposed: bool,
    },
    /// m16n8kK, of 16 or 32 bytes of K, with sums of 32 bits.
    Multiply {
        k: u32,
        /// Of the elements of both factors, which take as many bytes.
        types: [Type; 2],
        d: Box<[Register]>,
        a: Box<[Source]>,
        b: Box<[Source]>,
        c: Box<[Source]>,
    },
}

/// `wgmma.mma_async` with fp32 sums.
#[derive(Clone, Debug)]
pub(crate) struct Wgmma {
    pub n: u32,
    /// Of the elements of both factors, which take as many bytes.
    pub types: [Type; 2],
    pub d: Box<[Register]>,
    pub a: WgmmaA,
    pub b: Source,
    /// Whether the sums so far are kept.
    pub accumulate: PredicateSource,
    pub negate_a: bool,
    pub negate_b: bool,
    pub a_is_m_major: bool,
    pub b_is_n_major: bool,
}

#[derive(Clone, Debug)]
pub(crate) enum WgmmaA {
    Descriptor(Source),
    Fragment(Box<[Source]>),
}
