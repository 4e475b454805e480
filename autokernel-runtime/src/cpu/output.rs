//! What a body writes of a row, rounded once.

use autokernel_ops::rows::Kind;

use super::elements::ElementsMut;
use super::fold::Fold;
use super::picks::Picked;
use super::span;
use crate::{AnyViewMut, Result};

/// What is written.
pub(super) struct Output<'a> {
    elements: ElementsMut<'a>,
    /// Of a row.
    pub columns: usize,
    ld: usize,
    pub rows: usize,
    pub picked: Option<Picked<'a>>,
    pub fold: Option<Fold>,
}

impl<'a> Output<'a> {
    pub fn new(view: &'a mut AnyViewMut<'_>, kind: Kind, columns: usize) -> Result<Self> {
        let (elements, layout) = ElementsMut::of(view)?;
        let (columns, ld) = (span::width(kind, columns), span::ld(layout, kind));
        Ok(Output { elements, columns, ld, rows: span::rows(layout, kind), picked: None, fold: None })
    }

    pub fn is_empty(&self) -> bool {
        self.columns == 0 || self.rows == 0
    }

    /// The first `rows` rows, and the others.
    pub fn split_at(self, rows: usize) -> (Self, Self) {
        let Output { elements, columns, ld, picked, .. } = self;
        let (first, rest) = elements.split_at(rows * ld);
        let of = |elements, rows| Output { elements, columns, ld, rows, picked, fold: None };
        (of(first, rows), of(rest, self.rows.saturating_sub(rows)))
    }

    pub fn write(&mut self, row: usize, values: &[f32]) {
        if values.is_empty() {
            return;
        }
        if let Some(fold) = &mut self.fold {
            return fold.add(values);
        }
        let row = self.picked.map_or(Some(row), |picked| picked.row(row));
        if let Some(row) = row {
            self.elements.narrow(row * self.ld, values);
        }
    }

    /// Writes what is known behind the last row.
    pub fn finish(mut self) {
        if let Some(fold) = self.fold.take()
            && self.columns > 0
        {
            self.elements.narrow(0, &fold.finish());
        }
    }
}
