//! What row-wise kernels take, and how they are launched.

use std::iter;

use autokernel_core::plan::Axis;
use autokernel_core::{
    Arg, Dim, Dimension, Extents, Field, Grid, KernelStep, LaunchPlan, Numbers, OWN_AXIS, Residency, Signature, Size,
    dim,
};

use super::own_axes::OwnAxes;
use super::problem::Problem;
use crate::body::cuda::{self, fields};
use crate::body::{Body, Kind, Operand};

/// The dimensions, in order.
pub const DIMS: [Dim; 2] = [dim("rows"), dim("columns")];
/// The number of the rows in the signature.
const ROWS: u8 = 0;
/// The number of the columns in the signature.
const COLUMNS: u8 = 1;

/// The extents of `rows` rows of `columns` elements.
///
/// ```
/// assert_eq!(autokernel_ops::rows::plan::extents(128, 4096).to_string(), "128x4096");
/// ```
pub const fn extents(rows: u32, columns: u32) -> Extents {
    Extents::new([(DIMS[0], rows), (DIMS[1], columns)])
}

/// What a kernel for `problem` takes.
pub fn signature(problem: &Problem) -> Signature {
    let body = problem.body();
    let rows = |operand: &Operand| if body.is_picked(&operand.name) { OWN_AXIS } else { ROWS };
    let columns = |operand: &Operand| if body.is_repeated(&operand.name) { OWN_AXIS } else { COLUMNS };
    let operand = |operand: &Operand| autokernel_core::Operand {
        name: operand.name.clone(),
        role: operand.role,
        dtype: operand.dtype,
        axes: match (operand.kind, rows(operand), columns(operand)) {
            (Kind::Matrix, rows, columns) => vec![rows, columns],
            (Kind::Row, _, columns) => vec![columns],
            (Kind::Column | Kind::Index, rows, _) => vec![rows],
            (Kind::Scalar | Kind::DeviceScalar, ..) => Vec::new(),
        },
        passed: operand.kind.passed(),
    };
    Signature {
        dims: DIMS.map(|name| Dimension { name, known: None }).to_vec(),
        operands: problem.body().operands.iter().map(operand).collect(),
        numbers: numbers(body),
        ..Signature::default()
    }
}

/// What each index picks: rows of what is read by it, and of what is written.
fn numbers(body: &Body) -> Vec<Numbers> {
    let number = |name: &str| body.operands.iter().position(|it| it.name == name).and_then(|at| u8::try_from(at).ok());
    let read = body.fetches.iter().filter_map(|fetch| Some((fetch.row.as_deref()?, &*fetch.of)));
    let written = body.outputs().filter_map(|output| Some((body.row_of_output(&output.name)?, &*output.name)));
    let mut picked: Vec<Numbers> = Vec::new();
    for (index, of) in read.chain(written) {
        let (Some(index), Some(operand)) = (number(index), number(of)) else { continue };
        let numbers = Numbers::pick(index, Size { operand, axis: 0 });
        if !picked.contains(&numbers) {
            picked.push(numbers);
        }
    }
    picked
}

/// How the blocks of a kernel are laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Threads of a block.
    pub threads: u32,
    /// Rows that a block takes at a time.
    pub rows: u32,
    /// Columns of them that it takes; none where that is all.
    pub columns: Option<u32>,
    /// Blocks of a cluster, which share those rows; 0 for none, and for launches that wait for the one before.
    pub cluster: u32,
    /// Blocks that an SM is given to walk over the rows; 0 for a block for each of its rows.
    pub blocks_per_sm: u32,
    /// Dynamic shared memory of a block.
    pub shared_bytes: u32,
}

/// The launch of the kernel called `symbol`. It takes any address and any stride, so nothing is realigned.
pub fn plan(operands: &[Operand], own: &OwnAxes, shape: Shape, symbol: String) -> LaunchPlan {
    let residency = match shape.blocks_per_sm {
        0 => Residency::OneEach,
        blocks_per_sm => Residency::Persistent { blocks_per_sm },
    };
    let columns = shape.columns.map(|step| Axis { dim: COLUMNS, step });
    let kernel = KernelStep {
        symbol,
        threads: shape.threads,
        shared_bytes: shape.shared_bytes,
        overlaps_previous: shape.cluster > 0,
        grid: Grid {
            axes: iter::once(Axis { dim: ROWS, step: shape.rows }).chain(columns).collect(),
            cluster: shape.cluster.max(1),
            tiles: 1,
            residency,
            split: None,
        },
        args: args(operands, own),
    };
    LaunchPlan::of_kernel(kernel, Vec::new())
}

/// What each operand needs, the extents.
fn args(operands: &[Operand], own: &OwnAxes) -> Vec<Field> {
    let name = |operand: u8| operands.get(usize::from(operand)).map(|operand| operand.name.as_str());
    let rows = own
        .rows
        .iter()
        .filter_map(|&operand| Some(Field { name: cuda::rows(name(operand)?), arg: Arg::Rows { operand } }));
    let columns = own
        .columns
        .iter()
        .filter_map(|&operand| Some(Field { name: cuda::columns(name(operand)?), arg: Arg::Columns { operand } }));
    let extents = [("rows", ROWS), ("columns", COLUMNS)].map(|(name, dim)| (name.to_owned(), Arg::Extent { dim }));
    let extents = extents.map(|(name, arg)| Field { name, arg });
    fields((0..).zip(operands)).into_iter().chain(extents).chain(rows).chain(columns).collect()
}
