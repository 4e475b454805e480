//! Operands of row-wise kernels in device memory, for measurements.

use std::sync::Arc;

use autokernel::cudarc::driver::{CudaSlice, CudaStream, DeviceRepr, ValidAsZeroBits};
use autokernel::{Argument, Device, Dtype, Matrix, Number, Role, bf16, f16};
use autokernel_codegen::rows::{Kind, Operand};
use gpu_tests::timed;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// An operand on the GPU.
pub enum Placed {
    /// Of bf16.
    Bf16(Matrix<bf16>),
    /// Of f16.
    F16(Matrix<f16>),
    /// Of f32.
    F32(Matrix<f32>),
}

/// What operands are filled with, over and over.
pub struct Drawn {
    bf16: Vec<bf16>,
    f16: Vec<f16>,
    f32: Vec<f32>,
}

impl Drawn {
    /// The numbers as `f32`.
    pub fn f32(&self) -> &[f32] {
        &self.f32
    }

    /// Uniform numbers from -2 to 2, of each type the same.
    pub fn new() -> Self {
        let drawn = timed::Drawn::new(&mut StdRng::seed_from_u64(1), |rng| rng.random_range(-2.0_f32..2.0));
        let f32 = drawn.numbers().to_vec();
        Drawn {
            bf16: f32.iter().copied().map(bf16::from_f32).collect(),
            f16: f32.iter().copied().map(f16::from_f32).collect(),
            f32,
        }
    }
}

impl Default for Drawn {
    fn default() -> Self {
        Self::new()
    }
}

/// So many elements, filled on the device.
///
/// # Panics
/// The driver refuses.
pub fn filled<T: DeviceRepr + ValidAsZeroBits>(stream: &Arc<CudaStream>, len: usize, drawn: &[T]) -> CudaSlice<T> {
    let drawn = stream.clone_htod(drawn).unwrap();
    let mut all = stream.alloc_zeros::<T>(len).unwrap();
    for start in (0..len).step_by(drawn.len()) {
        let end = len.min(start + drawn.len());
        stream.memcpy_dtod(&drawn.slice(..end - start), &mut all.slice_mut(start..end)).unwrap();
    }
    all
}

impl Placed {
    /// An operand of so many rows and columns: drawn what is read, zeros what is written.
    ///
    /// # Panics
    /// There is no memory for it, or it is of whole numbers or of 8 bits.
    pub fn new(device: &Device, operand: &Operand, (rows, columns): (u32, u32), drawn: &Drawn) -> Self {
        let (rows, columns) = match operand.kind {
            Kind::Matrix => (rows as usize, columns as usize),
            Kind::Row => (1, columns as usize),
            Kind::Column | Kind::Index => (1, rows as usize),
            Kind::Scalar | Kind::DeviceScalar => (1, 1),
        };
        let is_output = operand.role == Role::Output;
        fn of<T: Number>(device: &Device, [rows, columns]: [usize; 2], drawn: &[T], is_output: bool) -> Matrix<T> {
            if is_output {
                return Matrix::zeros(device, rows, columns).unwrap();
            }
            let stream = device.stream().unwrap().clone();
            Matrix::from_cudarc(filled(&stream, rows * columns, drawn), rows, columns).unwrap()
        }
        match operand.dtype {
            Dtype::Bf16 => Placed::Bf16(of(device, [rows, columns], &drawn.bf16, is_output)),
            Dtype::F16 => Placed::F16(of(device, [rows, columns], &drawn.f16, is_output)),
            Dtype::F32 => Placed::F32(of(device, [rows, columns], &drawn.f32, is_output)),
            other => panic!("{other} is not measured"),
        }
    }

    /// What a launch takes.
    pub fn argument(&mut self, role: Role) -> Argument<'_> {
        match (self, role) {
            (Placed::Bf16(matrix), Role::Input) => (&*matrix).into(),
            (Placed::Bf16(matrix), Role::Output) => matrix.into(),
            (Placed::F16(matrix), Role::Input) => (&*matrix).into(),
            (Placed::F16(matrix), Role::Output) => matrix.into(),
            (Placed::F32(matrix), Role::Input) => (&*matrix).into(),
            (Placed::F32(matrix), Role::Output) => matrix.into(),
        }
    }
}
