//! Elements in host memory, of whatever type.

use crate::operands::layout::Layout;
use crate::operands::types::{for_each_type, with_view};
use crate::operands::view::{Storage, StorageMut};
use crate::{AnyView, AnyViewMut, Device, Error, Number, Result};

type Slice<'a, T> = &'a [T];
type SliceMut<'a, T> = &'a mut [T];

for_each_type! {
    declare
    /// What is read.
    #[derive(Clone, Copy)]
    pub(super) enum Elements<'a> of Slice
}

impl<'a> Elements<'a> {
    /// Those of a view, and how they lie.
    ///
    /// # Errors
    /// [`Error::DeviceMismatch`]: they are on a GPU.
    pub fn of(view: &'a AnyView<'_>) -> Result<(Self, Layout)> {
        Ok(with_view!(AnyView to Elements, view, (view, of) => (of(host(&view.storage)?), view.layout)))
    }

    /// The element at `place`.
    pub fn one(&self, place: usize) -> f32 {
        let mut value = [0.0];
        self.widen(place, &mut value);
        value[0]
    }

    /// As many elements from `start` on as `target` takes.
    pub fn widen(&self, start: usize, target: &mut [f32]) {
        if target.is_empty() {
            return;
        }
        let range = start..start + target.len();
        with_view!(Elements, self, data => Number::widen(&data[range], target));
    }
}

for_each_type! {
    declare
    /// What is written.
    pub(super) enum ElementsMut<'a> of SliceMut
}

impl<'a> ElementsMut<'a> {
    /// Those of a view, and how they lie.
    ///
    /// # Errors
    /// [`Error::DeviceMismatch`]: they are on a GPU.
    pub fn of(view: &'a mut AnyViewMut<'_>) -> Result<(Self, Layout)> {
        Ok(with_view!(AnyViewMut to ElementsMut, view, (view, of) => (of(host_mut(&mut view.storage)?), view.layout)))
    }

    /// Those before an element, and the others.
    pub fn split_at(self, at: usize) -> (Self, Self) {
        with_view!(ElementsMut to ElementsMut, self, (data, of) => halves(data, at, of))
    }

    /// Rounds the values to the elements from `start` on.
    pub fn narrow(&mut self, start: usize, values: &[f32]) {
        let range = start..start + values.len();
        with_view!(ElementsMut, self, data => Number::narrow(values, &mut data[range]));
    }
}

fn halves<'a, T>(
    data: &'a mut [T],
    at: usize,
    of: fn(&'a mut [T]) -> ElementsMut<'a>,
) -> (ElementsMut<'a>, ElementsMut<'a>) {
    // The last row ends with its last element, not with the gap behind it.
    let (first, rest) = data.split_at_mut(at.min(data.len()));
    (of(first), of(rest))
}

pub(super) fn host<'a, T: Number>(storage: &'a Storage<'_, T>) -> Result<&'a [T]> {
    match storage {
        Storage::Host(data) => Ok(data),
        Storage::Cuda(_) => Err(on_a_gpu()),
    }
}

pub(super) fn host_mut<'a, T: Number>(storage: &'a mut StorageMut<'_, T>) -> Result<&'a mut [T]> {
    match storage {
        StorageMut::Host(data) => Ok(data),
        StorageMut::Cuda(_) => Err(on_a_gpu()),
    }
}

fn on_a_gpu() -> Error {
    Error::DeviceMismatch {
        what: "an operand and the launch".to_owned(),
        left: "a GPU".to_owned(),
        right: Device::cpu().to_string(),
    }
}
