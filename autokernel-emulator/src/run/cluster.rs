//! The blocks of one cluster, which run at the same time.

use rand::SeedableRng;
use rand::rngs::SmallRng;
use rustc_hash::FxHashMap;

use super::block::Block;
use super::context::{Context, unflatten};
use super::pending::PendingCopy;
use super::place::Place;
use super::stop::Stop;
use super::tally::Tally;
use super::warp::Warp;
use crate::check::{Knowledge, Orders, Threads};
use crate::device::GlobalMemory;
use crate::fault::Fault;
use crate::isa::Op;
use crate::isa::lanes::{Lanes, WARP};

pub(super) struct Cluster<'r, 'l> {
    pub context: &'r Context<'l>,
    pub memory: &'r mut GlobalMemory,
    pub orders: &'r mut Orders,
    pub tally: &'r mut Tally,
    /// Its place in the grid of clusters.
    pub at: [u32; 3],
    pub blocks: Vec<Block>,
    pub warps: Vec<Warp>,
    pub threads: Threads,
    /// Bulk copies that have been issued and are not done.
    pub copies: Vec<PendingCopy>,
    pub barrier: ClusterBarrier,
    /// What strong writes pass on, by the place that they write.
    pub flags: FxHashMap<Place, Knowledge>,
    pub released: &'r mut Released,
    pub rng: SmallRng,
}

/// What release writes to global memory pass on to clusters that run later, by the address that they write. It stays there,
/// also when something else is written.
pub(super) type Released = FxHashMap<u64, Knowledge>;

/// The barrier of all threads of the cluster.
#[derive(Default)]
pub(super) struct ClusterBarrier {
    pub phase: u64,
    pub arrived: u32,
    pub arriving: Knowledge,
    pub completed: Knowledge,
}

impl<'r, 'l> Cluster<'r, 'l> {
    /// The memory of `registers`, which warps of earlier clusters had, is used again.
    pub fn new(
        context: &'r Context<'l>,
        memory: &'r mut GlobalMemory,
        orders: &'r mut Orders,
        tally: &'r mut Tally,
        released: &'r mut Released,
        registers: &mut Vec<Vec<Lanes>>,
        number: u32,
    ) -> Self {
        let at = unflatten(number, context.clusters());

        let threads = context.block_threads();
        let block = |rank: u32| {
            let inside = unflatten(rank, context.cluster);
            let place = [0, 1, 2].map(|axis| at[axis] * context.cluster[axis] + inside[axis]);
            Block::new(place, context.shared_bytes, threads)
        };
        let blocks: Vec<Block> = (0..context.cluster_blocks()).map(block).collect();
        let kernel = context.kernel;
        let uses_wgmma = kernel.code.iter().any(|instruction| matches!(instruction.op, Op::Wgmma(_)));
        let mut warp = |block: usize, index: u32| {
            let lanes = (threads - index * WARP as u32).min(WARP as u32);
            let live = if lanes == 32 { u32::MAX } else { (1 << lanes) - 1 };
            let mut registers = registers.pop().unwrap_or_default();
            registers.clear();
            registers.resize(kernel.registers as usize, [0; WARP]);
            Warp::new(block, index, live, registers, kernel.predicates, kernel.local_bytes, uses_wgmma)
        };
        let of_block = threads.div_ceil(WARP as u32);
        let places = (0..blocks.len()).flat_map(|block| (0..of_block).map(move |index| (block, index)));
        let warps: Vec<Warp> = places.map(|(block, index)| warp(block, index)).collect();
        orders.set_warps(warps.len() as u32);
        Cluster {
            threads: Threads::new(warps.len(), number),
            context,
            memory,
            orders,
            tally,
            at,
            blocks,
            warps,
            copies: Vec::new(),
            barrier: ClusterBarrier::default(),
            flags: FxHashMap::default(),
            released,
            rng: SmallRng::seed_from_u64(context.options.seed ^ u64::from(number) << 32),
        }
    }

    /// Tells where a fault of the instruction at `pc` happened.
    pub fn locate(&self, warp: usize, pc: u32, stop: Stop) -> Box<Fault> {
        let kernel = self.context.kernel;
        let instruction = kernel.code.get(pc as usize);
        let location = instruction.and_then(|instruction| instruction.location);
        let mnemonic = instruction.and_then(|instruction| kernel.mnemonics.get(instruction.mnemonic as usize));
        let (block, index) = self.warps.get(warp).map_or((0, 0), |warp| (warp.block, warp.index));
        let thread = index * WARP as u32 + stop.lane as u32;
        Box::new(Fault {
            kernel: kernel.name.clone(),
            block: self.blocks.get(block).map_or([0; 3], |block| block.at),
            thread: unflatten(thread, self.context.launch.block),
            line: instruction.map_or(0, |instruction| instruction.line),
            instruction: mnemonic.cloned().unwrap_or_default(),
            source_line: location.and_then(|at| kernel.locations.get(at as usize)).cloned(),
            kind: *stop.kind,
        })
    }

    /// The line of the PTX text of the instruction at `pc`.
    pub fn line(&self, pc: u32) -> u32 {
        self.context.kernel.code.get(pc as usize).map_or(0, |instruction| instruction.line)
    }
}
