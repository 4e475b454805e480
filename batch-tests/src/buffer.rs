//! A guarded operand on a device.

use autokernel::cudarc::driver::CudaSlice;
use autokernel::{
    Argument, BatchView, BatchViewMut, Device, Dtype, Element, IndexView, MatrixView, MatrixViewMut, Result, Role,
    bf16, e4m3, e5m2, f16, i4x2, unpack,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::place::Place;

/// What inputs hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Uniform in [−1, 1), of whole numbers in the range of their type.
    Uniform,
    /// Integers in −2..=2, whose sums are exact.
    Integers,
}

/// An operand of any element type.
pub enum Buffer {
    /// Of `bf16`.
    Bf16(Typed<bf16>),
    /// Of `f16`.
    F16(Typed<f16>),
    /// Of `f32`.
    F32(Typed<f32>),
    /// Of `e4m3`.
    E4m3(Typed<e4m3>),
    /// Of `e5m2`.
    E5m2(Typed<e5m2>),
    /// Of `i8`.
    I8(Typed<i8>),
    /// Of `i4x2`.
    I4x2(Typed<i4x2>),
    /// Where groups begin.
    Offsets(Offsets),
}

/// Numbers of rows.
pub struct Offsets(Memory<i32>);

impl Offsets {
    fn argument(&self) -> Argument<'_> {
        match &self.0 {
            Memory::Host(data) => IndexView::from_slice(data).into(),
            Memory::Gpu(slice) => IndexView::from_cudarc(&slice.as_view()).into(),
        }
    }
}

/// An operand inside its buffer, and what the whole buffer held at first.
pub struct Typed<T> {
    place: Place,
    before: Vec<T>,
    memory: Memory<T>,
}

enum Memory<T> {
    Host(Vec<T>),
    Gpu(CudaSlice<T>),
}

/// Whether anything may depend on a row of a matrix.
type IsRead<'r> = &'r dyn Fn(usize, usize) -> bool;

/// A NaN where the type has one, else a number that is large: what lies around an operand, and in outputs before a launch.
fn poison<T: Element>() -> T {
    let none = T::from_f32(f32::NAN);
    if none.to_f32().is_nan() { none } else { T::from_f32(LARGE) }
}

const LARGE: f32 = 101.0;

/// An element of those values.
fn drawn<T: Element>(rng: &mut StdRng, values: Values) -> T {
    match (values, T::DTYPE) {
        (Values::Uniform, Dtype::I8) => T::from_f32(f32::from(rng.random::<i8>())),
        (Values::Uniform, _) => T::from_f32(rng.random_range(-1.0f32..1.0)),
        (Values::Integers, _) => T::from_f32(f32::from(rng.random_range(-2i8..=2))),
    }
}

impl<T: Element> Typed<T> {
    fn new(
        device: &Device,
        place: Place,
        seed: Option<u64>,
        is_read: IsRead<'_>,
        mut draw: impl FnMut(&mut StdRng) -> T,
    ) -> Result<Self> {
        let mut before = vec![poison::<T>(); place.buffer_len()];
        if let Some(seed) = seed {
            let mut rng = StdRng::seed_from_u64(seed);
            for (at, _) in place.places().filter(|(_, [matrix, row])| is_read(*matrix, *row)) {
                before[at] = draw(&mut rng);
            }
        }
        let memory = match device.stream() {
            None => Memory::Host(before.clone()),
            Some(stream) => Memory::Gpu(stream.clone_htod(&before).expect("the GPU has memory for a test")),
        };
        Ok(Self { place, before, memory })
    }

    fn read(&self) -> Vec<T> {
        match &self.memory {
            Memory::Host(data) => data.clone(),
            Memory::Gpu(slice) => slice.stream().clone_dtoh(slice).expect("what was launched ran"),
        }
    }

    fn argument(&mut self, is_batch: bool, role: Role) -> Result<Argument<'_>> {
        let Place { shape, strides, offset } = self.place;
        let ([_, rows, columns], range) = (shape, offset..offset + self.place.span());
        Ok(match (&mut self.memory, role, is_batch) {
            (Memory::Host(data), Role::Input, true) => {
                BatchView::from_slice_with_strides(&data[range], shape, strides)?.into()
            }
            (Memory::Host(data), Role::Input, false) => {
                MatrixView::from_slice_with_ld(&data[range], rows, columns, strides[1])?.into()
            }
            (Memory::Host(data), Role::Output, true) => {
                BatchViewMut::from_slice_with_strides(&mut data[range], shape, strides)?.into()
            }
            (Memory::Host(data), Role::Output, false) => {
                MatrixViewMut::from_slice_with_ld(&mut data[range], rows, columns, strides[1])?.into()
            }
            (Memory::Gpu(slice), Role::Input, true) => {
                BatchView::from_cudarc_with_strides(slice.slice(range), shape, strides)?.into()
            }
            (Memory::Gpu(slice), Role::Input, false) => {
                MatrixView::from_cudarc_with_ld(slice.slice(range), rows, columns, strides[1])?.into()
            }
            (Memory::Gpu(slice), Role::Output, true) => {
                BatchViewMut::from_cudarc_with_strides(slice.slice_mut(range), shape, strides)?.into()
            }
            (Memory::Gpu(slice), Role::Output, false) => {
                MatrixViewMut::from_cudarc_with_ld(slice.slice_mut(range), rows, columns, strides[1])?.into()
            }
        })
    }

    /// The operand's elements, and the first of the buffer beside them that changed.
    fn after(&self, role: Role) -> (Vec<f64>, Option<usize>) {
        let now = self.read();
        let mut is_own = vec![false; now.len()];
        if role == Role::Output {
            self.place.elements().for_each(|at| is_own[at] = true);
        }
        let same = |at: usize| now[at].to_f32().to_bits() == self.before[at].to_f32().to_bits();
        let changed = (0..now.len()).find(|&at| !is_own[at] && !same(at));
        (self.place.elements().map(|at| now[at].to_f32().into()).collect(), changed)
    }
}

/// `$value` of what is inside, whatever its type.
macro_rules! of_typed {
    ($buffer:expr, $inner:ident => $value:expr, $of_offsets:expr) => {
        match $buffer {
            Buffer::Bf16($inner) => $value,
            Buffer::F16($inner) => $value,
            Buffer::F32($inner) => $value,
            Buffer::E4m3($inner) => $value,
            Buffer::E5m2($inner) => $value,
            Buffer::I8($inner) => $value,
            Buffer::I4x2($inner) => $value,
            Buffer::Offsets(_) => $of_offsets,
        }
    };
}

impl Buffer {
    /// Filled by values and a seed, in rows that may be read; poison without.
    ///
    /// # Errors
    /// The device has no memory for it.
    ///
    /// # Panics
    /// Indices are no elements.
    pub fn new(
        device: &Device,
        dtype: Dtype,
        place: Place,
        drawn: Option<(Values, u64)>,
        is_read: IsRead<'_>,
    ) -> Result<Self> {
        fn typed<T: Element>(
            device: &Device,
            place: Place,
            (values, seed): (Values, Option<u64>),
            is_read: IsRead<'_>,
        ) -> Result<Typed<T>> {
            Typed::new(device, place, seed, is_read, |rng| self::drawn(rng, values))
        }
        let (values, seed) = drawn.unzip();
        let drawn = (values.unwrap_or(Values::Integers), seed);
        Ok(match dtype {
            Dtype::Bf16 => Buffer::Bf16(typed(device, place, drawn, is_read)?),
            Dtype::F16 => Buffer::F16(typed(device, place, drawn, is_read)?),
            Dtype::F32 => Buffer::F32(typed(device, place, drawn, is_read)?),
            Dtype::E4m3 => Buffer::E4m3(typed(device, place, drawn, is_read)?),
            Dtype::E5m2 => Buffer::E5m2(typed(device, place, drawn, is_read)?),
            Dtype::I8 => Buffer::I8(typed(device, place, drawn, is_read)?),
            Dtype::I4x2 => {
                let any = |rng: &mut StdRng| i4x2::from_bits(rng.random());
                Buffer::I4x2(Typed::new(device, place, seed, is_read, any)?)
            }
            Dtype::I32 => panic!("no operand of a product's elements"),
        })
    }

    /// Zero points of numbers of 4 bits, and one beyond: filled by a seed.
    ///
    /// # Errors
    /// The device has no memory for them.
    pub fn of_zeros(device: &Device, place: Place, seed: u64) -> Result<Self> {
        let zero = |rng: &mut StdRng| rng.random_range(-8..=8);
        Ok(Buffer::I8(Typed::new(device, place, Some(seed), &|_, _| true, zero)?))
    }

    /// Numbers of rows.
    ///
    /// # Errors
    /// The device has no memory for them.
    ///
    /// # Panics
    /// The GPU has none.
    pub fn of_offsets(device: &Device, offsets: &[i32]) -> Result<Self> {
        Ok(Buffer::Offsets(Offsets(match device.stream() {
            None => Memory::Host(offsets.to_vec()),
            Some(stream) => Memory::Gpu(stream.clone_htod(offsets).expect("the GPU has memory for a test")),
        })))
    }

    /// What a launch takes.
    ///
    /// # Errors
    /// The place is none that a view can have.
    pub fn argument(&mut self, is_batch: bool, role: Role) -> Result<Argument<'_>> {
        if let Buffer::Offsets(offsets) = self {
            return Ok(offsets.argument());
        }
        of_typed!(self, it => it.argument(is_batch, role), unreachable!("returned above"))
    }

    /// The operand's elements, and whether something beside what a launch may write has changed: where in the buffer.
    pub fn after(&self, role: Role) -> (Vec<f64>, Option<usize>) {
        if let Buffer::I4x2(packed) = self {
            let elements: Vec<i4x2> = packed.place.elements().map(|at| packed.before[at]).collect();
            return (unpack(&elements).into_iter().map(f64::from).collect(), packed.after(role).1);
        }
        of_typed!(self, it => it.after(role), (Vec::new(), None))
    }
}
