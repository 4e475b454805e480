//! What a body reads of a row, as `f32`.

use autokernel_ops::rows::Kind;

use super::elements::Elements;
use super::picks::{Columns, Picked};
use super::span;
use crate::Result;
use crate::operands::alloc;
use crate::operands::layout::Layout;

/// What is read.
pub(super) enum Input<'a> {
    /// The same for every row: a `Row`, or a number.
    Constant(Vec<f32>),
    /// A row, or one element, for each.
    Rows { elements: Elements<'a>, columns: usize, ld: usize },
    /// The same, of other rows or columns.
    Fetched(Fetched<'a>),
}

/// What is read elsewhere.
pub(super) struct Fetched<'a> {
    pub elements: Elements<'a>,
    pub columns: usize,
    pub ld: usize,
    pub picked: Option<Picked<'a>>,
    pub moved: Columns,
    /// Columns of the operand.
    pub own: usize,
}

impl<'a> Input<'a> {
    pub fn new(elements: Elements<'a>, layout: Layout, kind: Kind, columns: usize) -> Result<Self> {
        match kind {
            Kind::Matrix | Kind::Column | Kind::Index => {
                Ok(Input::Rows { elements, columns: span::width(kind, columns), ld: span::ld(layout, kind) })
            }
            Kind::Row | Kind::Scalar | Kind::DeviceScalar => {
                let mut values = alloc::host_zeros(layout.columns)?;
                elements.widen(0, &mut values);
                Ok(Input::Constant(values))
            }
        }
    }

    /// Elements of a row.
    pub fn len(&self) -> usize {
        match self {
            Input::Constant(values) => values.len(),
            Input::Rows { columns, .. } | Input::Fetched(Fetched { columns, .. }) => *columns,
        }
    }

    pub fn read(&self, row: usize, target: &mut [f32]) {
        match self {
            Input::Constant(values) => target.copy_from_slice(values),
            Input::Rows { elements, ld, .. } => elements.widen(row * ld, target),
            Input::Fetched(fetched) => fetched.read(row, target),
        }
    }
}

impl Fetched<'_> {
    fn read(&self, row: usize, target: &mut [f32]) {
        let Fetched { elements, ld, own, .. } = *self;
        let Some(row) = self.picked.map_or(Some(row), |picked| picked.row(row)) else {
            return target.fill(f32::NAN);
        };
        if self.moved.are_same() {
            return elements.widen(row * ld, target);
        }
        for (column, value) in target.iter_mut().enumerate() {
            *value = match self.moved.at(column, own) {
                Some((column, true)) => -elements.one(row * ld + column),
                Some((column, false)) => elements.one(row * ld + column),
                None => f32::NAN,
            };
        }
    }
}
