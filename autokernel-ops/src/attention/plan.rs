//! How attention is launched.

use autokernel_core::plan::Axis;
use autokernel_core::{Extents, Grid, KernelStep, LaunchPlan, Residency};

use super::fields::{self, Operands};
use super::problem::Class;
use super::schedule::Schedule;
use super::signature::{BATCH, DIMS, GROUPS, HEADS, KEYS, QUERIES};
use super::{sm80, sm90};

/// The sizes of a problem by their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Sequences.
    pub batch: u32,
    /// Heads of queries.
    pub heads: u32,
    /// Heads of keys and values.
    pub groups: u32,
    /// Queries of a sequence.
    pub queries: u32,
    /// Keys of a sequence.
    pub keys: u32,
}

impl Sizes {
    /// Those among `extents`.
    pub fn of(extents: &Extents) -> Self {
        let [batch, heads, groups, queries, keys] = [BATCH, HEADS, GROUPS, QUERIES, KEYS].map(|dim| extents.size(dim));
        Sizes { batch, heads, groups, queries, keys }
    }

    /// The extents of heads of those sizes.
    pub fn extents(&self, class: &Class) -> Extents {
        let &Sizes { batch, heads, groups, queries, keys } = self;
        let sizes = [batch, heads, groups, queries, keys, class.head_dim, class.value_dim];
        Extents::collect(DIMS.into_iter().zip(sizes)).expect("seven different names")
    }
}

/// The launch of the kernel called `symbol`.
pub fn plan(class: &Class, schedule: &Schedule, symbol: String) -> LaunchPlan {
    match schedule {
        Schedule::Sm80(schedule) => sm80::plan::plan(class, schedule, symbol),
        Schedule::Sm90(schedule) => sm90::plan::plan(class, schedule, symbol),
    }
}

/// The launch of the reference called `symbol`: a block for each query.
pub fn reference(class: &Class, threads: u32, symbol: String) -> LaunchPlan {
    let operands = Operands { class };
    let mut args = operands.queries("row");
    args.extend(operands.keys());
    args.extend(operands.locators());
    args.extend(operands.results("row"));
    args.extend(operands.of_body());
    args.extend(fields::extents());
    let axes = operands.rows().map(|dim| Axis { dim, step: 1 }).collect();
    let grid = Grid { axes, cluster: 1, tiles: 1, residency: Residency::OneEach, split: None };
    let kernel = KernelStep { symbol, threads, shared_bytes: 0, overlaps_previous: false, grid, args };
    LaunchPlan::of_kernel(kernel, Vec::new())
}
