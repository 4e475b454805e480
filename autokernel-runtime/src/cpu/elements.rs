//! Elements in host memory, of whatever type.

use half::{bf16, f16};

use crate::operands::layout::Layout;
use crate::operands::view::{Storage, StorageMut};
use crate::{AnyView, AnyViewMut, Device, Error, Number, Result, e4m3, e5m2, i4x2};

/// What is read.
#[derive(Clone, Copy)]
pub(super) enum Elements<'a> {
    Bf16(&'a [bf16]),
    F16(&'a [f16]),
    F32(&'a [f32]),
    E4m3(&'a [e4m3]),
    E5m2(&'a [e5m2]),
    I8(&'a [i8]),
    I4x2(&'a [i4x2]),
    I32(&'a [i32]),
}

impl<'a> Elements<'a> {
    /// Those of a view, and how they lie.
    ///
    /// # Errors
    /// [`Error::DeviceMismatch`]: they are on a GPU.
    pub fn of(view: &'a AnyView<'_>) -> Result<(Self, Layout)> {
        Ok(match view {
            AnyView::Bf16(view) => (Elements::Bf16(host(&view.storage)?), view.layout),
            AnyView::F16(view) => (Elements::F16(host(&view.storage)?), view.layout),
            AnyView::F32(view) => (Elements::F32(host(&view.storage)?), view.layout),
            AnyView::E4m3(view) => (Elements::E4m3(host(&view.storage)?), view.layout),
            AnyView::E5m2(view) => (Elements::E5m2(host(&view.storage)?), view.layout),
            AnyView::I8(view) => (Elements::I8(host(&view.storage)?), view.layout),
            AnyView::I4x2(view) => (Elements::I4x2(host(&view.storage)?), view.layout),
            AnyView::I32(view) => (Elements::I32(host(&view.storage)?), view.layout),
        })
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
        match self {
            Elements::Bf16(data) => Number::widen(&data[range], target),
            Elements::F16(data) => Number::widen(&data[range], target),
            Elements::F32(data) => Number::widen(&data[range], target),
            Elements::E4m3(data) => Number::widen(&data[range], target),
            Elements::E5m2(data) => Number::widen(&data[range], target),
            Elements::I8(data) => Number::widen(&data[range], target),
            Elements::I4x2(data) => Number::widen(&data[range], target),
            Elements::I32(data) => Number::widen(&data[range], target),
        }
    }
}

/// What is written.
pub(super) enum ElementsMut<'a> {
    Bf16(&'a mut [bf16]),
    F16(&'a mut [f16]),
    F32(&'a mut [f32]),
    E4m3(&'a mut [e4m3]),
    E5m2(&'a mut [e5m2]),
    I8(&'a mut [i8]),
    I32(&'a mut [i32]),
    I4x2(&'a mut [i4x2]),
}

impl<'a> ElementsMut<'a> {
    /// Those of a view, and how they lie.
    ///
    /// # Errors
    /// [`Error::DeviceMismatch`]: they are on a GPU.
    pub fn of(view: &'a mut AnyViewMut<'_>) -> Result<(Self, Layout)> {
        Ok(match view {
            AnyViewMut::Bf16(view) => (ElementsMut::Bf16(host_mut(&mut view.storage)?), view.layout),
            AnyViewMut::F16(view) => (ElementsMut::F16(host_mut(&mut view.storage)?), view.layout),
            AnyViewMut::F32(view) => (ElementsMut::F32(host_mut(&mut view.storage)?), view.layout),
            AnyViewMut::E4m3(view) => (ElementsMut::E4m3(host_mut(&mut view.storage)?), view.layout),
            AnyViewMut::E5m2(view) => (ElementsMut::E5m2(host_mut(&mut view.storage)?), view.layout),
            AnyViewMut::I8(view) => (ElementsMut::I8(host_mut(&mut view.storage)?), view.layout),
            AnyViewMut::I32(view) => (ElementsMut::I32(host_mut(&mut view.storage)?), view.layout),
            AnyViewMut::I4x2(view) => (ElementsMut::I4x2(host_mut(&mut view.storage)?), view.layout),
        })
    }

    /// Those before an element, and the others.
    pub fn split_at(self, at: usize) -> (Self, Self) {
        match self {
            ElementsMut::Bf16(data) => halves(data, at, ElementsMut::Bf16),
            ElementsMut::F16(data) => halves(data, at, ElementsMut::F16),
            ElementsMut::F32(data) => halves(data, at, ElementsMut::F32),
            ElementsMut::E4m3(data) => halves(data, at, ElementsMut::E4m3),
            ElementsMut::E5m2(data) => halves(data, at, ElementsMut::E5m2),
            ElementsMut::I8(data) => halves(data, at, ElementsMut::I8),
            ElementsMut::I32(data) => halves(data, at, ElementsMut::I32),
            ElementsMut::I4x2(data) => halves(data, at, ElementsMut::I4x2),
        }
    }

    /// Rounds the values to the elements from `start` on.
    pub fn narrow(&mut self, start: usize, values: &[f32]) {
        let range = start..start + values.len();
        match self {
            ElementsMut::Bf16(data) => Number::narrow(values, &mut data[range]),
            ElementsMut::F16(data) => Number::narrow(values, &mut data[range]),
            ElementsMut::F32(data) => Number::narrow(values, &mut data[range]),
            ElementsMut::E4m3(data) => Number::narrow(values, &mut data[range]),
            ElementsMut::E5m2(data) => Number::narrow(values, &mut data[range]),
            ElementsMut::I8(data) => Number::narrow(values, &mut data[range]),
            ElementsMut::I32(data) => Number::narrow(values, &mut data[range]),
            ElementsMut::I4x2(data) => Number::narrow(values, &mut data[range]),
        }
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
