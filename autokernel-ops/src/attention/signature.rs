//! What attention takes.

use autokernel_core::{
    Counted, Dim, Dimension, Dtype, Extents, Numbers, OWN_AXIS, Operand, Passed, Role, Signature, Size, dim,
};

use super::problem::Problem;
use super::score::{self, Kind};
use super::sequences::{Keys, Locator};

/// The dimensions, in order: heads of `k` and `v` are `groups`, of which `heads` is a multiple.
pub const DIMS: [Dim; 7] =
    [dim("batch"), dim("heads"), dim("groups"), dim("queries"), dim("keys"), dim("dim"), dim("values")];

/// The extents of `[batch, heads, queries, dim]` on `[batch, groups, keys, dim]` with values of as many elements.
///
/// ```
/// assert_eq!(autokernel_ops::attention::extents([2, 16, 512, 128], [4, 512]).to_string(), "2x16x4x512x512x128x128");
/// ```
pub const fn extents([batch, heads, queries, dim]: [u32; 4], [groups, keys]: [u32; 2]) -> Extents {
    Extents::new([
        (DIMS[0], batch),
        (DIMS[1], heads),
        (DIMS[2], groups),
        (DIMS[3], queries),
        (DIMS[4], keys),
        (DIMS[5], dim),
        (DIMS[6], dim),
    ])
}

/// Sequences.
pub const BATCH: u8 = 0;
/// Heads of queries.
pub const HEADS: u8 = 1;
/// Heads of keys and values.
pub const GROUPS: u8 = 2;
/// Queries of a sequence, or of all where they are packed.
pub const QUERIES: u8 = 3;
/// Keys of a sequence, of all where they are packed, or of a page.
pub const KEYS: u8 = 4;
const DIM: u8 = 5;
const VALUES: u8 = 6;

/// The number of the queries among the operands.
pub const Q: u8 = 0;
/// That of the keys.
pub const K: u8 = 1;
/// That of the values.
pub const V: u8 = 2;
/// The first behind them: what says where sequences are, then a body's own, then the output and the log-sum-exp.
pub const FIRST: u8 = 3;

/// What a kernel for `problem` takes.
pub fn signature(problem: &Problem) -> Signature {
    let operand = |name: &str, role, dtype, axes: &[u8]| Operand {
        name: name.to_owned(),
        role,
        dtype,
        axes: axes.to_vec(),
        passed: Passed::ByAddress,
    };
    let (dtype, sequences) = (problem.dtype, problem.sequences);
    let queries = |axis: &[u8]| -> Vec<u8> {
        let batch = if sequences.packed_queries { None } else { Some(BATCH) };
        batch.into_iter().chain([HEADS, QUERIES]).chain(axis.iter().copied()).collect()
    };
    let keys = |axis: u8| -> Vec<u8> {
        let outer = match sequences.keys {
            Keys::Whole | Keys::Counted => Some(BATCH),
            Keys::Paged(_) => Some(OWN_AXIS),
            Keys::Packed => None,
        };
        outer.into_iter().chain([GROUPS, KEYS, axis]).collect()
    };
    let mut operands = vec![
        operand("q", Role::Input, dtype, &queries(&[DIM])),
        operand("k", Role::Input, dtype, &keys(DIM)),
        operand("v", Role::Input, dtype, &keys(VALUES)),
    ];
    operands.extend(sequences.locators().map(|locator| {
        let axes: &[u8] = if locator == Locator::Table { &[BATCH, OWN_AXIS] } else { &[BATCH] };
        let passed = match locator {
            Locator::QueryBounds | Locator::KeyBounds => Passed::Bounds,
            Locator::Table | Locator::Lengths => Passed::ByAddress,
        };
        Operand { passed, ..operand(locator.name(), Role::Input, Dtype::I32, axes) }
    }));
    let of_body = problem.score.iter().flat_map(|score| &score.operands);
    operands.extend(of_body.map(|score::Operand { name, kind }| match kind {
        Kind::Number => Operand { passed: Passed::ByValue, ..operand(name, Role::Input, Dtype::F32, &[]) },
        Kind::DeviceScalar => operand(name, Role::Input, Dtype::F32, &[]),
        Kind::PerHead => operand(name, Role::Input, Dtype::F32, &[HEADS]),
        Kind::PerDistance => operand(name, Role::Input, Dtype::F32, &[HEADS, OWN_AXIS]),
    }));
    operands.push(operand("out", Role::Output, dtype, &queries(&[VALUES])));
    if problem.log_sum_exp {
        operands.push(operand("log_sum_exp", Role::Output, Dtype::F32, &queries(&[])));
    }
    // Of a cache in pages `keys` are those of a page.
    let page = match sequences.keys {
        Keys::Paged(page) => Some(page),
        _ => None,
    };
    let known = [None, None, None, None, page, Some(problem.head_dim), Some(problem.value_dim)];
    let dims = DIMS.into_iter().zip(known).map(|(name, known)| Dimension { name, known });
    let settings = [(KEYS, "page"), (DIM, "head_dim"), (VALUES, "value_dim")];
    let settings = settings.map(|(dim, setting)| (dim, setting.to_owned())).to_vec();
    let (multiples, numbers) = (vec![(HEADS, GROUPS)], numbers(problem));
    Signature { dims: dims.collect(), operands, multiples, numbers, settings, ..Signature::default() }
}

/// What says where sequences are; a table last, as lengths that are too large would say that all of its pages are read.
fn numbers(problem: &Problem) -> Vec<Numbers> {
    let locators: Vec<(u8, Locator)> = (FIRST..).zip(problem.sequences.locators()).collect();
    let number_of =
        |wanted: Locator| locators.iter().find(|(_, locator)| *locator == wanted).map(|(number, _)| *number);
    // Axes of packed queries and keys, `[heads, sequence, elements]`, and of keys that are not, which have one before these.
    let (packed, keys) = (|operand| Size { operand, axis: 1 }, Size { operand: K, axis: 2 });
    let numbers =
        |(number, locator): (u8, Locator)| match (locator, number_of(Locator::Table), number_of(Locator::Lengths)) {
            (Locator::QueryBounds, ..) => Numbers::bound(number, packed(Q)),
            (Locator::KeyBounds, ..) => Numbers::bound(number, packed(K)),
            (Locator::Lengths, None, _) => Numbers::count(number, keys),
            // As many keys as a sequence's pages hold.
            (Locator::Lengths, Some(table), _) => {
                let pages = Size { operand: table, axis: 1 };
                Numbers { among: vec![pages, keys], ..Numbers::count(number, keys) }
            }
            (Locator::Table, _, lengths) => {
                let counted = lengths.map(|by| Counted { by, each_holds: keys });
                Numbers { counted, ..Numbers::pick(number, Size { operand: K, axis: 0 }) }
            }
        };
    let (tables, others): (Vec<_>, Vec<_>) =
        locators.iter().copied().partition(|(_, locator)| *locator == Locator::Table);
    others.into_iter().chain(tables).map(numbers).collect()
}
