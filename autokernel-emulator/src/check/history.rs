//! What happened to a byte since it was last written.

/// Who acts: a lane of a warp, or of a channel of asynchronous operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Agent {
    pub dimension: u32,
    pub lane: u32,
}

/// Which path to memory an access takes (PTX ISA, "Proxies").
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Proxy {
    Generic,
    Async,
}

/// One access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Event {
    pub agent: Agent,
    pub time: u32,
    pub proxy: Proxy,
    /// By an atomic instruction, or a strong access: two of these do not race.
    pub strong: bool,
    /// The cluster, as all clusters of a grid touch global memory.
    pub cluster: u32,
    /// The line of the PTX text.
    pub line: u32,
}

/// What a byte's shadow stands for. The order of reads is that of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct History<'a> {
    pub write: Option<&'a Event>,
    pub reads: &'a [Event],
}

/// Reads that one byte remembers: those beyond are forgotten, and with them a race with a later write.
pub(super) const MAX_READS: usize = 64;
