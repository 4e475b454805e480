//! What attention takes, and how it is launched.

use autokernel_core::plan::{Axis, Buffer, Contents};
use autokernel_core::{
    Alignment, Arg, Dim, Dimension, Dtype, Extents, Field, Grid, KernelStep, LaunchPlan, Operand, Passed, Residency,
    Role, Signature, TileBox, dim,
};

use super::print;
use super::problem::{Class, Problem};
use super::rules::ROWS_OF_CONSUMER;
use super::schedule::AttentionSchedule;
use super::score::{self, Kind};

/// The dimensions, in order: heads of `k` and `v` are `groups`, of which `heads` is a multiple.
pub const DIMS: [Dim; 7] =
    [dim("batch"), dim("heads"), dim("groups"), dim("queries"), dim("keys"), dim("dim"), dim("values")];

const BATCH: u8 = 0;
const HEADS: u8 = 1;
const GROUPS: u8 = 2;
const QUERIES: u8 = 3;
const KEYS: u8 = 4;
const DIM: u8 = 5;
const VALUES: u8 = 6;

/// Numbers of the operands.
const Q: u8 = 0;
const K: u8 = 1;
const V: u8 = 2;
/// The first operand of a body; the output stands behind the last, and then the log-sum-exp.
const FIRST: u8 = 3;

/// The workspace: the counter of tiles, of which the first block's part holds all.
const COUNTERS: u8 = 0;
const COUNTERS_OF_BLOCK: Buffer = Buffer { bytes_per_block: 8, contents: Contents::Zeros };

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

/// What a kernel for `problem` takes.
pub fn signature(problem: &Problem) -> Signature {
    let operand = |name: &str, role, dtype, axes: &[u8]| Operand {
        name: name.to_owned(),
        role,
        dtype,
        axes: axes.to_vec(),
        passed: Passed::ByAddress,
    };
    let dtype = problem.dtype;
    let mut operands = vec![
        operand("q", Role::Input, dtype, &[BATCH, HEADS, QUERIES, DIM]),
        operand("k", Role::Input, dtype, &[BATCH, GROUPS, KEYS, DIM]),
        operand("v", Role::Input, dtype, &[BATCH, GROUPS, KEYS, VALUES]),
    ];
    let of_body = problem.score.iter().flat_map(|score| &score.operands);
    operands.extend(of_body.map(|score::Operand { name, kind }| match kind {
        Kind::Number => Operand { passed: Passed::ByValue, ..operand(name, Role::Input, Dtype::F32, &[]) },
        Kind::PerHead => operand(name, Role::Input, Dtype::F32, &[HEADS]),
    }));
    operands.push(operand("out", Role::Output, dtype, &[BATCH, HEADS, QUERIES, VALUES]));
    if problem.log_sum_exp {
        operands.push(operand("log_sum_exp", Role::Output, Dtype::F32, &[BATCH, HEADS, QUERIES]));
    }
    let known = [None, None, None, None, None, Some(problem.head_dim), Some(problem.value_dim)];
    let dims = DIMS.into_iter().zip(known).map(|(name, known)| Dimension { name, known });
    Signature { dims: dims.collect(), operands, multiples: vec![(HEADS, GROUPS)] }
}

/// The launch of the kernel called `symbol`.
pub fn plan(class: &Class, schedule: &AttentionSchedule, symbol: String) -> LaunchPlan {
    let kernel = KernelStep {
        symbol,
        threads: schedule.threads(),
        shared_bytes: schedule.shared_bytes(class),
        overlaps_previous: true,
        grid: Grid {
            axes: vec![
                Axis { dim: QUERIES, step: schedule.tile_queries() },
                Axis { dim: HEADS, step: 1 },
                Axis { dim: BATCH, step: 1 },
            ],
            cluster: 1,
            tiles: 1,
            residency: Residency::Persistent { blocks_per_sm: 1 },
        },
        args: args(class, schedule),
    };
    LaunchPlan { workspace: vec![COUNTERS_OF_BLOCK], ..LaunchPlan::of_kernel(kernel, alignments(class)) }
}

/// TMA loads rows that begin at multiples of 16 bytes, and rows are stored by as many.
fn alignments(class: &Class) -> Vec<Alignment> {
    [Q, K, V, out(class)].map(|operand| Alignment { operand, bytes: 16, rows: true }).to_vec()
}

fn args(class: &Class, schedule: &AttentionSchedule) -> Vec<Field> {
    let panels = |rows| TileBox { rows, columns: 64, swizzle: 128 };
    let map = |name, operand, rows| field(name, Arg::Map { operand, tile: panels(rows) });
    let mut args = vec![
        map("q_map", Q, ROWS_OF_CONSUMER),
        map("k_map", K, schedule.tile_keys),
        map("v_map", V, schedule.tile_keys),
    ];
    args.extend(output(out(class), "out", &["batch", "head", "query"]));
    if class.log_sum_exp {
        args.extend(output(out(class) + 1, "lse", &["batch", "head"]));
    }
    args.extend(of_body(class));
    args.extend(extents());
    args.push(field("counters", Arg::Workspace { buffer: COUNTERS }));
    args
}

/// The launch of the reference called `symbol`: a block for each query.
pub fn reference(class: &Class, threads: u32, symbol: String) -> LaunchPlan {
    let mut args: Vec<Field> = [(Q, "q"), (K, "k"), (V, "v"), (out(class), "out")]
        .into_iter()
        .flat_map(|(operand, name)| output(operand, name, &["batch", "head", "row"]))
        .collect();
    if class.log_sum_exp {
        args.extend(output(out(class) + 1, "lse", &["batch", "head"]));
    }
    args.extend(of_body(class));
    args.extend(extents());
    let axes = [QUERIES, HEADS, BATCH].map(|dim| Axis { dim, step: 1 }).to_vec();
    let grid = Grid { axes, cluster: 1, tiles: 1, residency: Residency::OneEach };
    let kernel = KernelStep { symbol, threads, shared_bytes: 0, overlaps_previous: false, grid, args };
    LaunchPlan::of_kernel(kernel, Vec::new())
}

/// The number of the output.
fn out(class: &Class) -> u8 {
    FIRST + class.score_operands().len() as u8
}

/// What a body reads.
fn of_body(class: &Class) -> Vec<Field> {
    let arg = |(number, kind): (u8, &Kind)| {
        let operand = FIRST + number;
        let arg = match kind {
            Kind::Number => Arg::Scalar { operand },
            Kind::PerHead => Arg::Pointer { operand },
        };
        field(&print::field(number), arg)
    };
    (0..).zip(class.score_operands()).map(arg).collect()
}

/// The address of an operand, and its strides along its first axes.
fn output(operand: u8, name: &str, axes: &[&str]) -> Vec<Field> {
    let stride = |(axis, of): (u8, &&str)| field(&format!("{name}_{of}"), Arg::Stride { operand, axis });
    let pointer = field(name, Arg::Pointer { operand });
    [pointer].into_iter().chain((0..).zip(axes).map(stride)).collect()
}

fn extents() -> [Field; 5] {
    [("batch", BATCH), ("heads", HEADS), ("groups", GROUPS), ("queries", QUERIES), ("keys", KEYS)]
        .map(|(name, dim)| field(name, Arg::Extent { dim }))
}

fn field(name: &str, arg: Arg) -> Field {
    Field { name: name.to_owned(), arg }
}
