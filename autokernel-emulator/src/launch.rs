//! What a launch is told.

/// How many blocks of how many threads, and what they get.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Blocks along x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block along x, y and z.
    pub block: [u32; 3],
    /// Blocks of a cluster along x, y and z; none for what the kernel fixes, or single blocks.
    pub cluster: Option<[u32; 3]>,
    /// Bytes of dynamic shared memory.
    pub dynamic_shared: u32,
    /// Whether the grid may begin while the one before it runs (programmatic dependent launch): then every thread must
    /// wait by `griddepcontrol.wait` before it touches global memory.
    pub overlaps_previous: bool,
    /// All parameters, each at its natural alignment.
    pub parameters: Vec<u8>,
}

impl Launch {
    /// Blocks and threads along x, y and z, with no cluster, no dynamic shared memory and nothing to wait for.
    pub fn new(grid: [u32; 3], block: [u32; 3], parameters: Vec<u8>) -> Launch {
        Launch { grid, block, cluster: None, dynamic_shared: 0, overlaps_previous: false, parameters }
    }
}

/// How a kernel is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Decides in which order warps run and asynchronous operations finish. With 0 operations finish as late as they
    /// may, and only then.
    pub seed: u64,
    /// What is checked beside bounds and alignment, which always are.
    pub checks: Checks,
    /// Instructions of warps after which a kernel is stopped.
    pub instruction_budget: u64,
}

impl Default for Options {
    /// Every check, seed 0, 2³² instructions.
    fn default() -> Self {
        Options { seed: 0, checks: Checks::default(), instruction_budget: 1 << 32 }
    }
}

/// The checks that cost time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checks {
    /// Reads of bytes that nobody wrote.
    pub uninitialised: bool,
    /// Accesses that nothing orders, between threads and between proxies.
    pub races: bool,
}

impl Default for Checks {
    /// All.
    fn default() -> Self {
        Checks { uninitialised: true, races: true }
    }
}
