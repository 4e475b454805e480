//! Matrices without their types.

use std::ops::Range;

use autokernel_ops::body::Kind;

use crate::operands::types::{for_each_type, with_view};
use crate::{Dtype, MatrixView, MatrixViewMut, Result};

for_each_type! {
    declare
    /// A borrowed matrix of any element type.
    #[derive(Debug, Clone)]
    pub enum AnyView<'a> of MatrixView
}

for_each_type! {
    declare
    /// A mutably borrowed matrix of any element type.
    #[derive(Debug)]
    pub enum AnyViewMut<'a> of MatrixViewMut
}

impl AnyView<'_> {
    /// The type of its elements.
    pub(crate) const fn dtype(&self) -> Dtype {
        for_each_type!(dtype AnyView, self)
    }

    /// Some rows of an operand of that kind.
    pub(crate) fn of_rows(&self, rows: Range<usize>, kind: Kind) -> Result<AnyView<'_>> {
        Ok(with_view!(AnyView to AnyView, self, (view, of) => of(view.of_rows(rows, kind)?)))
    }

    /// What product `number` of a batch has of an operand of that kind: a matrix, or one of the rows that hold one for each.
    pub(crate) fn of_product(&self, number: usize, kind: Kind) -> Result<AnyView<'_>> {
        Ok(with_view!(AnyView to AnyView, self, (view, of) => of(view.of_product(number, kind)?)))
    }
}

impl AnyViewMut<'_> {
    /// The type of its elements.
    pub(crate) const fn dtype(&self) -> Dtype {
        for_each_type!(dtype AnyViewMut, self)
    }

    /// The same operand, borrowed from this one.
    pub(crate) fn reborrow(&mut self) -> AnyViewMut<'_> {
        with_view!(AnyViewMut to AnyViewMut, self, (view, of) => of(view.reborrow()))
    }

    /// Some rows of an operand of that kind.
    pub(crate) fn of_rows(&mut self, rows: Range<usize>, kind: Kind) -> Result<AnyViewMut<'_>> {
        Ok(with_view!(AnyViewMut to AnyViewMut, self, (view, of) => of(view.of_rows(rows, kind)?)))
    }

    /// What product `number` of a batch has of an operand of that kind.
    pub(crate) fn of_product(&mut self, number: usize, kind: Kind) -> Result<AnyViewMut<'_>> {
        Ok(with_view!(AnyViewMut to AnyViewMut, self, (view, of) => of(view.of_product(number, kind)?)))
    }
}
