//! What a kernel did wrong, and where.

use std::fmt;

use crate::device::TensorMapError;
use crate::ptx::SourceLocation;

/// A launch that gave no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A GPU would refuse the launch.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The kernel did something wrong.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
}

/// A launch that a GPU would refuse.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// No such kernel.
    #[error("the module has no kernel `{0}`")]
    NoKernel(String),
    /// A block or grid without threads, or with too many.
    #[error("a {what} of {extents:?} is not one that the kernel and the GPU allow: {reason}")]
    Extents {
        /// Grid, block or cluster.
        what: &'static str,
        /// Along x, y and z.
        extents: [u32; 3],
        /// Which limit.
        reason: String,
    },
    /// Parameters of a wrong size.
    #[error("{given} bytes of parameters where the kernel takes {expected}")]
    Parameters {
        /// Bytes of the launch.
        given: usize,
        /// Bytes of the kernel.
        expected: u32,
    },
    /// More shared memory than a block may have.
    #[error("{needed} bytes of shared memory, a block may have {limit}")]
    SharedMemory {
        /// Static and dynamic.
        needed: u64,
        /// Of the architecture.
        limit: u32,
    },
    /// The module's variables do not fit.
    #[error("no memory for the module's variables")]
    Variables,
}

/// Where a kernel went wrong, and how.
#[derive(Debug, thiserror::Error)]
pub struct Fault {
    /// The kernel.
    pub kernel: String,
    /// The block along x, y and z.
    pub block: [u32; 3],
    /// The thread along x, y and z.
    pub thread: [u32; 3],
    /// The line of the PTX text.
    pub line: u32,
    /// The opcode with its modifiers.
    pub instruction: String,
    /// The line of the CUDA source, if the PTX tells.
    pub source_line: Option<SourceLocation>,
    /// What is wrong.
    pub kind: FaultKind,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fault { kernel, block: [bx, by, bz], thread: [x, y, z], line, instruction, source_line, kind } = self;
        write!(
            f,
            "{}: {kernel}, block ({bx}, {by}, {bz}), thread ({x}, {y}, {z}), PTX line {line}, `{instruction}`",
            kind.check()
        )?;
        if let Some(source) = source_line {
            write!(f, " ({source})")?;
        }
        write!(f, ": {kind}")
    }
}

/// A read or a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// The bytes are read.
    Read,
    /// The bytes are written.
    Write,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Access::Read => "read",
            Access::Write => "write",
        })
    }
}

/// Who accessed memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Actor {
    /// A thread of the same cluster.
    Thread {
        /// The warp, counted through the cluster's blocks.
        warp: u32,
        /// The lane of the warp.
        lane: u32,
    },
    /// A copy or a matrix instruction that runs on by itself.
    Asynchronous,
    /// Another cluster of the grid.
    OtherCluster,
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Actor::Thread { warp, lane } => write!(f, "warp {warp} of the cluster, lane {lane}"),
            Actor::Asynchronous => f.write_str("asynchronous"),
            Actor::OtherCluster => f.write_str("another cluster"),
        }
    }
}

/// The other side of a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OtherAccess {
    /// Read or write.
    pub access: Access,
    /// The line of the PTX text.
    pub line: u32,
    /// Who did it.
    pub by: Actor,
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    /// An access outside what is allocated.
    #[error("{access} of {bytes} bytes at {address:#x} of {space} memory is out of bounds: {note}")]
    OutOfBounds {
        /// The state space.
        space: &'static str,
        /// Read or write.
        access: Access,
        /// The first byte, in its space.
        address: u64,
        /// How many.
        bytes: u64,
        /// What lies there.
        note: String,
    },
    /// An address that is no multiple of what the access needs.
    #[error("address {address:#x} of {space} memory is not a multiple of {alignment}")]
    Misaligned {
        /// The state space.
        space: &'static str,
        /// The address.
        address: u64,
        /// What it must be a multiple of.
        alignment: u64,
    },
    /// A read of a byte that nobody wrote.
    #[error("byte {address:#x} of {space} memory is read, and nothing wrote it")]
    Uninitialised {
        /// The state space.
        space: &'static str,
        /// The byte.
        address: u64,
    },
    /// Two accesses to a byte, one of them a write, that nothing orders.
    #[error(
        "{access} of byte {address:#x} of {space} memory races with the {} of PTX line {} ({}): {remedy}",
        other.access, other.line, other.by
    )]
    Race {
        /// The state space.
        space: &'static str,
        /// The byte.
        address: u64,
        /// What is done now.
        access: Access,
        /// What was done before.
        other: OtherAccess,
        /// What is missing between the two.
        remedy: &'static str,
    },
    /// A register that a wgmma still reads or writes.
    #[error("register {register} of a wgmma is used before `wgmma.wait_group` has waited for it")]
    InFlight {
        /// Its number in the kernel's register file.
        register: u32,
    },
    /// A wgmma that no `wgmma.fence` precedes.
    #[error("no `wgmma.fence` between the last use of register {register} and this wgmma")]
    NotFenced {
        /// Its number in the kernel's register file.
        register: u32,
    },
    /// A matrix descriptor that the hardware would refuse or misread.
    #[error("the matrix descriptor {descriptor:#018x}: {reason}")]
    Descriptor {
        /// Its bits.
        descriptor: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// An mbarrier that is used wrongly.
    #[error("mbarrier at shared address {address:#x}: {reason}")]
    Mbarrier {
        /// Its address.
        address: u64,
        /// What is wrong.
        reason: MbarrierFault,
    },
    /// A barrier of the block or cluster that is used wrongly.
    #[error("barrier {id}: {reason}")]
    Barrier {
        /// Its number.
        id: u64,
        /// What is wrong.
        reason: &'static str,
    },
    /// Nothing can run any more.
    #[error("deadlock; {}", waits.join("; "))]
    Deadlock {
        /// Who waits for what.
        waits: Vec<String>,
    },
    /// Lanes of a warp that must execute an instruction together do not.
    #[error(
        "lanes {arrived:#010x} of the warp execute it, and {required:#010x} must; the others are at PTX line {elsewhere}"
    )]
    Divergent {
        /// The lanes that are there.
        arrived: u32,
        /// Those that must be.
        required: u32,
        /// Where one of the others is.
        elsewhere: u32,
    },
    /// An access to the shared memory of a block that has ended, or may have.
    #[error(
        "block {rank} of the cluster can end before the access of PTX line {line} to its shared memory; let both meet \
         at a cluster barrier first"
    )]
    PeerEnded {
        /// Its rank in the cluster.
        rank: u32,
        /// The line of the access.
        line: u32,
    },
    /// A block that ends while a copy still uses its shared memory.
    #[error("the block ends while the copy of PTX line {line} still {access}s its shared memory; wait for it first")]
    EndsInFlight {
        /// Where the copy was issued.
        line: u32,
        /// What the copy does.
        access: Access,
    },
    /// Global memory that an earlier grid may still use. A relaxed load may: what it finds is a guess, before or after a write.
    #[error("global memory is touched before `griddepcontrol.wait`, and the grid before this one may still run")]
    BeforeGridDependency,
    /// A tensor map that is none.
    #[error("{0}")]
    TensorMap(#[from] TensorMapError),
    /// A box of a tensor that begins inside of 16 bytes of a row: an illegal instruction.
    #[error(
        "a box that begins {offset} bytes into a row of its tensor; TMA takes multiples of 16, whatever the swizzle"
    )]
    BoxStart {
        /// From the row's first byte to the box's; negative for a box that begins before the row.
        offset: i64,
    },
    /// Something else that the hardware refuses.
    #[error("{reason}")]
    Refused {
        /// What, and why.
        reason: String,
    },
    /// The kernel trapped.
    #[error("the kernel ran into a trap")]
    Trap,
    /// More instructions than the launch allows.
    #[error("the kernel ran {0} instructions without ending; raise `Options::instruction_budget` if it should")]
    Budget(u64),
}

impl FaultKind {
    /// Which check found it, in a few words.
    pub const fn check(&self) -> &'static str {
        match self {
            FaultKind::OutOfBounds { .. } => "access out of bounds",
            FaultKind::Misaligned { .. } => "misaligned access",
            FaultKind::Uninitialised { .. } => "read of what nobody wrote",
            FaultKind::Race { .. } => "race",
            FaultKind::InFlight { .. } => "wgmma in flight",
            FaultKind::NotFenced { .. } => "missing wgmma.fence",
            FaultKind::Descriptor { .. } => "matrix descriptor",
            FaultKind::Mbarrier { .. } => "mbarrier",
            FaultKind::Barrier { .. } => "barrier",
            FaultKind::Deadlock { .. } => "deadlock",
            FaultKind::Divergent { .. } => "divergence",
            FaultKind::PeerEnded { .. } => "access to a block that has ended",
            FaultKind::EndsInFlight { .. } => "copy in flight at the end",
            FaultKind::BeforeGridDependency => "access before griddepcontrol.wait",
            FaultKind::TensorMap(_) => "tensor map",
            FaultKind::BoxStart { .. } => "start of a tensor's box",
            FaultKind::Refused { .. } => "refused instruction",
            FaultKind::Trap => "trap",
            FaultKind::Budget(_) => "endless run",
        }
    }
}

/// How an mbarrier is used wrongly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MbarrierFault {
    /// No `mbarrier.init` made it, or something was stored over it.
    #[error("it is not initialised")]
    NotInitialised,
    /// An init over a barrier that is alive.
    #[error("it is initialised twice without `mbarrier.inval`")]
    InitialisedTwice,
    /// A count outside 1 to 2²⁰ − 1.
    #[error("a count of {0}; 1 to 1048575 are allowed")]
    Count(u64),
    /// More arrivals than the phase expects.
    #[error("more arrivals than the phase expects ({pending} are pending, {arriving} arrive)")]
    TooManyArrivals {
        /// Arrivals that the phase still waits for.
        pending: u32,
        /// Arrivals of this instruction.
        arriving: u32,
    },
    /// A transaction count outside ±(2²⁰ − 1).
    #[error("its transaction count becomes {0}; ±1048575 is the limit")]
    Transactions(i64),
    /// Its initialisation is not yet visible to who uses it.
    #[error("nothing orders its initialisation before this use; fence it, and meet at a barrier")]
    NotVisible,
    /// A phase whose bytes never come.
    #[error("bytes are still to come when its block ends")]
    Unfinished,
}
