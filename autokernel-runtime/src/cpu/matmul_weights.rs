//! Products of floats and of whole numbers of few bits on the CPU: these are widened to `f32`, and scaled there where groups of them
//! along K have scales.

use autokernel_ops::matmul::problem;
use autokernel_ops::weights::PACKED_BYTES;

use super::blocked::{Widen, as_it_is, blocked_with};
use super::blocks::{Operand, Stored};
use super::elements::{Elements, host, host_mut};
use super::epilogue::RowEpilogue;
use super::parallel::for_each_row;
use crate::operands::layout::Layout;
use crate::operands::packed;
use crate::{AnyView, AnyViewMut, Element, Error, MatrixView, MatrixViewMut, Result, i4x2};

/// Scales of groups of so many numbers along K, and their zero points: `[k / group, n]`.
#[derive(Clone, Copy)]
pub(super) struct Scales<'a> {
    pub of: &'a AnyView<'a>,
    pub zeros: Option<&'a AnyView<'a>>,
    pub group: usize,
}

/// `out = epilogue(a · wᵀ)` of the operands in host memory, `w` of `[n, k]` whole numbers.
///
/// # Errors
/// [`Error::Operands`] for operands of no such product, [`Error::DeviceMismatch`] for one that is on a GPU,
/// [`Error::OutOfMemory`].
pub(super) fn multiply(
    a: &AnyView<'_>,
    w: &AnyView<'_>,
    scales: Option<Scales<'_>>,
    out: &mut AnyViewMut<'_>,
    factors: problem::Layout,
    epilogue: RowEpilogue,
) -> Result<()> {
    if factors != problem::Layout::Nt {
        return Err(refused("whole numbers of few bits are stored as `[n, k]`"));
    }
    let weights = Weights::of(w, scales)?;
    match a {
        AnyView::Bf16(a) => into_any(a, &weights, out, epilogue),
        AnyView::F16(a) => into_any(a, &weights, out, epilogue),
        _ => Err(refused("beside whole numbers of few bits a factor is bf16 or f16")),
    }
}

pub(super) fn refused(reason: &str) -> Error {
    Error::Operands { kernel: "matmul".to_owned(), reason: reason.to_owned() }
}

fn into_any<I: Element>(
    a: &MatrixView<'_, I>,
    weights: &Weights<'_>,
    out: &mut AnyViewMut<'_>,
    epilogue: RowEpilogue,
) -> Result<()> {
    match out {
        AnyViewMut::Bf16(out) => typed(a, weights, out, epilogue),
        AnyViewMut::F16(out) => typed(a, weights, out, epilogue),
        AnyViewMut::F32(out) => typed(a, weights, out, epilogue),
        _ => Err(refused("such a product is stored as bf16, f16 or f32")),
    }
}

fn typed<I: Element, O: Element>(
    a: &MatrixView<'_, I>,
    weights: &Weights<'_>,
    out: &mut MatrixViewMut<'_, O>,
    epilogue: RowEpilogue,
) -> Result<()> {
    if (a.nrows(), weights.rows, a.ncols()) != (out.nrows(), out.ncols(), weights.k) {
        return Err(refused("their shapes are those of no product"));
    }
    let a = Operand { data: host(&a.storage)?, layout: a.layout };
    let (c, layout) = (host_mut(&mut out.storage)?, out.layout);
    let widen: [Widen<'_>; 2] = [&as_it_is(a), &|stored, target| weights.widen(stored, target)];
    blocked_with(a.layout, widen, c, layout, problem::Layout::Nt, epilogue)
}

/// The second factor: rows of `k` numbers.
struct Weights<'a> {
    elements: Elements<'a>,
    layout: Layout,
    rows: usize,
    k: usize,
    scales: Option<Table<'a>>,
    zeros: Option<Table<'a>>,
}

/// A number for each group of each row.
struct Table<'a> {
    elements: Elements<'a>,
    layout: Layout,
    group: usize,
}

impl<'a> Table<'a> {
    /// Of groups of so many of `k` numbers of `rows` rows.
    fn of(view: &'a AnyView<'_>, group: usize, (rows, k): (usize, usize)) -> Result<Self> {
        let (elements, layout) = Elements::of(view)?;
        if layout.columns != rows || layout.rows.saturating_mul(group) != k || group == 0 {
            return Err(refused("scales and zero points of groups are `[k / group, n]`"));
        }
        Ok(Table { elements, layout, group })
    }

    fn at(&self, row: usize, k: usize) -> f32 {
        self.elements.one(k / self.group * self.layout.ld + row)
    }
}

impl<'a> Weights<'a> {
    fn of(w: &'a AnyView<'_>, scales: Option<Scales<'a>>) -> Result<Self> {
        let (elements, layout) = Elements::of(w)?;
        let is_packed = matches!(elements, Elements::I4x2(_));
        if is_packed && !layout.columns.is_multiple_of(PACKED_BYTES as usize) {
            return Err(refused("rows of numbers of 4 bits are whole units of 16 bytes"));
        }
        let k = if is_packed { 2 * layout.columns } else { layout.columns };
        let table = |(view, group): (&'a AnyView<'_>, usize)| Table::of(view, group, (layout.rows, k));
        let zeros = scales.and_then(|scales| Some((scales.zeros?, scales.group))).map(table).transpose()?;
        let scales = scales.map(|scales| (scales.of, scales.group)).map(table).transpose()?;
        Ok(Weights { elements, layout, rows: layout.rows, k, scales, zeros })
    }

    /// Copies `(first row, first number, rows, numbers)` to `target`, row by row without gaps.
    fn widen(&self, (first_row, first, rows, numbers): Stored, target: &mut [f32]) {
        for_each_row(target, numbers, rows, &|row, target| {
            let row = first_row + row;
            match self.elements {
                Elements::I4x2(data) => unpack_row(&data[row * self.layout.ld..], first, target),
                elements => elements.widen(row * self.layout.ld + first, target),
            }
            if let Some(zeros) = &self.zeros {
                target.iter_mut().enumerate().for_each(|(at, value)| *value -= zeros.at(row, first + at));
            }
            if let Some(scales) = &self.scales {
                target.iter_mut().enumerate().for_each(|(at, value)| *value *= scales.at(row, first + at));
            }
        });
    }
}

/// Numbers of a row from that one on.
fn unpack_row(row: &[i4x2], first: usize, target: &mut [f32]) {
    for (at, value) in target.iter_mut().enumerate() {
        *value = packed::number(row, first + at).into();
    }
}
