//! Matrices on the host, and their products.

use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::matmul::problem::Layout;
use autokernel_codegen::rows::oracle::to_odd;
use autokernel_emulator::{Element, Gpu};
use float8::{F8E4M3, F8E5M2};
use half::{bf16, f16};

use super::arguments::Placed;

/// `C[m, n] = A[m, k] · B[k, n]`.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    pub m: u32,
    pub n: u32,
    pub k: u32,
}

pub fn shape(m: u32, n: u32, k: u32) -> Shape {
    Shape { m, n, k }
}

pub fn element_of(dtype: Dtype) -> Element {
    match dtype {
        Dtype::Bf16 => Element::Bf16,
        Dtype::F16 => Element::F16,
        Dtype::F32 => Element::F32,
        Dtype::I32 => panic!("no tensor map is of {dtype}"),
        Dtype::E4m3 | Dtype::E5m2 | Dtype::I8 | Dtype::I4x2 => Element::U8,
    }
}

/// A number as bytes of a type.
pub fn to_bytes(dtype: Dtype, value: f64) -> Vec<u8> {
    match dtype {
        Dtype::Bf16 => bf16::from_f32(to_odd(value)).to_le_bytes().to_vec(),
        Dtype::F16 => f16::from_f32(to_odd(value)).to_le_bytes().to_vec(),
        Dtype::F32 => (value as f32).to_le_bytes().to_vec(),
        Dtype::I32 => (value as i32).to_le_bytes().to_vec(),
        Dtype::E4m3 => vec![F8E4M3::from_f64(value).to_bits()],
        Dtype::E5m2 => vec![F8E5M2::from_f64(value).to_bits()],
        Dtype::I8 => vec![(value.round_ties_even() as i8).cast_unsigned()],
        Dtype::I4x2 => panic!("an element of {dtype} is two numbers"),
    }
}

pub fn from_bytes(dtype: Dtype, bytes: &[u8]) -> f64 {
    match dtype {
        Dtype::Bf16 => bf16::from_le_bytes(bytes.try_into().unwrap()).to_f64(),
        Dtype::F16 => f16::from_le_bytes(bytes.try_into().unwrap()).to_f64(),
        Dtype::F32 => f32::from_le_bytes(bytes.try_into().unwrap()).into(),
        Dtype::I32 => i32::from_le_bytes(bytes.try_into().unwrap()).into(),
        Dtype::E4m3 => F8E4M3::from_bits(bytes[0]).to_f64(),
        Dtype::E5m2 => F8E5M2::from_bits(bytes[0]).to_f64(),
        Dtype::I8 => bytes[0].cast_signed().into(),
        Dtype::I4x2 => panic!("an element of {dtype} is two numbers"),
    }
}

/// A number rounded to a type.
pub fn rounded(dtype: Dtype, value: f64) -> f64 {
    from_bytes(dtype, &to_bytes(dtype, value))
}

/// A matrix with rows of `ld` elements, of which the first `columns` count.
#[derive(Clone, Debug)]
pub struct Matrix {
    pub rows: u32,
    pub columns: u32,
    pub ld: u32,
    pub values: Vec<f64>,
}

impl Matrix {
    /// Small integers that a seed decides: every sum of their products is exact.
    pub fn integers(rows: u32, columns: u32, ld: u32, seed: u64) -> Matrix {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % 9) as f64 - 4.0
        };
        Matrix { rows, columns, ld, values: (0..rows * columns).map(|_| next()).collect() }
    }

    /// Makes its second row, or column, no numbers.
    pub fn spoil(&mut self, column: bool) {
        let (columns, rows) = (self.columns as usize, self.rows as usize);
        let second = |number: usize| if column { number % columns == 1 } else { number / columns == 1 };
        (0..rows * columns).filter(|&number| second(number)).for_each(|number| self.values[number] = f64::NAN);
    }

    pub fn at(&self, row: u32, column: u32) -> f64 {
        self.values[(row * self.columns + column) as usize]
    }

    /// Uploads the rows; what lies between them, nobody wrote.
    pub fn upload(&self, gpu: &mut Gpu, name: &str, dtype: Dtype) -> Placed {
        self.upload_at(gpu, name, dtype, 0)
    }

    /// The same from `skew` bytes into an allocation on.
    pub fn upload_at(&self, gpu: &mut Gpu, name: &str, dtype: Dtype, skew: u64) -> Placed {
        let placed = allocate(gpu, name, dtype, self.rows, self.columns, self.ld, skew);
        for row in 0..self.rows {
            let bytes: Vec<u8> = (0..self.columns).flat_map(|column| to_bytes(dtype, self.at(row, column))).collect();
            let offset = u64::from(row) * u64::from(self.ld) * u64::from(dtype.bytes());
            gpu.write(placed.pointer.offset(offset), &bytes).unwrap();
        }
        placed
    }
}

/// Memory for a matrix, exactly up to its last element, `skew` bytes into an allocation.
pub fn allocate(gpu: &mut Gpu, name: &str, dtype: Dtype, rows: u32, columns: u32, ld: u32, skew: u64) -> Placed {
    let elements = if rows == 0 { 0 } else { u64::from(rows - 1) * u64::from(ld) + u64::from(columns) };
    let pointer = gpu.alloc_named(name, skew + elements * u64::from(dtype.bytes())).unwrap();
    Placed { pointer: pointer.offset(skew), rows, columns, ld }
}

pub fn download(gpu: &mut Gpu, placed: Placed, dtype: Dtype) -> Vec<f64> {
    let bytes = u64::from(dtype.bytes());
    let row = |row: u32| {
        let start = placed.pointer.offset(u64::from(row) * u64::from(placed.ld) * bytes);
        gpu.read(start, u64::from(placed.columns) * bytes).unwrap()
    };
    let data: Vec<u8> = (0..placed.rows).flat_map(row).collect();
    data.chunks_exact(bytes as usize).map(|element| from_bytes(dtype, element)).collect()
}

/// The sums of a product of factors that lie so.
pub fn product(a: &Matrix, b: &Matrix, layout: Layout, shape: Shape) -> Vec<f64> {
    let Shape { m, n, k } = shape;
    let sum = |row: u32, column: u32| {
        let of_b = |k: u32| if layout.transpose_b() { b.at(column, k) } else { b.at(k, column) };
        let of_a = |k: u32| if layout.transpose_a() { a.at(k, row) } else { a.at(row, k) };
        (0..k).map(|k| of_a(k) * of_b(k)).sum()
    };
    (0..m).flat_map(|row| (0..n).map(move |column| (row, column))).map(|(row, column)| sum(row, column)).collect()
}
