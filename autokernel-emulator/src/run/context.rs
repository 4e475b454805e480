//! What is the same for every thread of a launch.

use crate::device::Arch;
use crate::isa::Axis;
use crate::launch::{Launch, Options};
use crate::ptx::Kernel;

/// Where shared memory begins in its window: the hardware keeps the first KiB for itself.
const SHARED_BASE: u32 = 1024;

pub(super) struct Context<'l> {
    pub kernel: &'l Kernel,
    pub launch: &'l Launch,
    pub options: &'l Options,
    pub arch: Arch,
    /// Blocks of a cluster along x, y and z.
    pub cluster: [u32; 3],
    /// Addresses of the module's variables.
    pub variables: Vec<u64>,
    /// Offset of the first byte of shared memory in a block's window.
    pub shared_base: u32,
    pub shared_bytes: u32,
}

impl<'l> Context<'l> {
    pub fn new(
        kernel: &'l Kernel,
        launch: &'l Launch,
        options: &'l Options,
        arch: Arch,
        cluster: [u32; 3],
        variables: Vec<u64>,
    ) -> Self {
        // A kernel may count on the alignment that it declares and on no more.
        let align = kernel.shared.align().max(16);
        let shift = (options.seed % 4) as u32 * align;
        let shared_bytes = kernel.shared.dynamic_start() + launch.dynamic_shared;
        let shared_base = SHARED_BASE.next_multiple_of(align) + shift;
        Context { kernel, launch, options, arch, cluster, variables, shared_base, shared_bytes }
    }

    pub fn block_threads(&self) -> u32 {
        self.launch.block.iter().product()
    }

    pub fn cluster_blocks(&self) -> u32 {
        self.cluster.iter().product()
    }

    /// Clusters of the grid along x, y and z.
    pub fn clusters(&self) -> [u32; 3] {
        let [x, y, z] = self.launch.grid;
        let [cx, cy, cz] = self.cluster;
        [x / cx.max(1), y / cy.max(1), z / cz.max(1)]
    }
}

/// The place of number `index` in a box of `extents`, x fastest.
pub(super) fn unflatten(index: u32, extents: [u32; 3]) -> [u32; 3] {
    let [x, y, _] = extents.map(|extent| extent.max(1));
    [index % x, index / x % y, index / x / y]
}

pub(super) fn along(extents: [u32; 3], axis: Axis) -> u32 {
    let [x, y, z] = extents;
    match axis {
        Axis::X => x,
        Axis::Y => y,
        Axis::Z => z,
    }
}
