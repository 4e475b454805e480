//! What a run counts. Nothing here is a time: the emulator knows none.

use std::collections::BTreeMap;

use crate::ptx::SourceLocation;

/// What a kernel did, counted.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Over the whole kernel.
    pub counters: Counters,
    /// Of each line of the PTX text that ran, in the order of lines.
    pub executed: BTreeMap<u32, Executed>,
    /// Of each line of the PTX text that touched memory, in the order of lines.
    pub sites: BTreeMap<u32, Site>,
}

/// How often an instruction ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executed {
    /// The opcode with its modifiers.
    pub instruction: String,
    /// The line of the CUDA source, if the PTX tells.
    pub source: Option<SourceLocation>,
    /// By a warp, once for each time.
    pub warps: u64,
}

/// What was counted over a whole kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Instructions of warps by the root of the opcode.
    pub instructions: BTreeMap<String, u64>,
    /// Bytes that threads loaded from and stored to global memory.
    pub global: Traffic,
    /// Bytes that threads loaded from and stored to shared memory.
    pub shared: Traffic,
    /// Bytes that bulk copies and TMA loaded into and stored from shared memory.
    pub bulk: Traffic,
    /// Multiply-adds of matrix instructions.
    pub matrix_multiply_adds: u64,
}

/// Bytes in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Read.
    pub loaded: u64,
    /// Written.
    pub stored: u64,
}

/// What an access reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Memory {
    /// Global memory, by threads.
    #[default]
    Global,
    /// Shared memory, by threads.
    Shared,
    /// Both, by bulk copies and TMA.
    Bulk,
}

/// What the accesses of one instruction cost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Site {
    /// The opcode with its modifiers.
    pub instruction: String,
    /// The line of the CUDA source, if the PTX tells.
    pub source: Option<SourceLocation>,
    /// What it reaches.
    pub memory: Memory,
    /// Requests: an instruction of a warp with at least one lane, or one bulk copy into one block.
    pub requests: u64,
    /// Bytes that they asked for, each lane's own.
    pub bytes: u64,
    /// Sectors of 32 bytes of global memory that the requests touched.
    pub sectors: u64,
    /// Wavefronts: passes over the banks of shared memory that the requests took.
    pub wavefronts: u64,
    /// Of the wavefronts, those that more favourable addresses would not have taken.
    pub bank_conflicts: u64,
}
