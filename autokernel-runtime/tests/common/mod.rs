//! What the integration tests share: descriptors without images, random matrices, and the reference.

#![allow(dead_code)] // each test binary uses a part

use autokernel_runtime::matmul::Layout;
use autokernel_runtime::{
    CpuFunction, Device, Dimension, Dtype, Element, Extents, Kernel, KernelDescriptor, Operand, Passed, Role,
    Signature, matmul,
};

/// A product's signature.
pub fn product(input: Dtype, output: Dtype, layout: Layout) -> Signature {
    let operand = |name: &str, role, dtype, axes: [u8; 2]| Operand {
        name: name.to_owned(),
        role,
        dtype,
        axes: axes.to_vec(),
        passed: Passed::ByAddress,
    };
    Signature {
        dims: matmul::DIMS.map(|name| Dimension { name, known: None }).to_vec(),
        operands: vec![
            operand("a", Role::Input, input, if layout.transpose_a() { [2, 0] } else { [0, 2] }),
            operand("b", Role::Input, input, if layout.transpose_b() { [1, 2] } else { [2, 1] }),
            operand("out", Role::Output, output, [0, 1]),
        ],
        ..Signature::default()
    }
}

/// A descriptor without images: what a build without nvcc hands over.
pub fn cpu_only(signature: Signature) -> KernelDescriptor {
    KernelDescriptor {
        name: "linear".to_owned(),
        about: "a product".to_owned(),
        problem: "{}".to_owned(),
        signature,
        variants: Vec::new(),
        portfolios: Vec::new(),
        confined: None,
        not_compiled: Some("no nvcc was found; set AUTOKERNEL_NVCC".to_owned()),
    }
}

/// A kernel without images, of element types `I` and `O`.
pub fn without_images<I: Element, O: Element>(layout: Layout, cpu: CpuFunction) -> Kernel<I, O> {
    // SAFETY: there are no images.
    unsafe { Kernel::from_descriptor(cpu_only(product(I::DTYPE, O::DTYPE, layout)), cpu) }
}

/// `kernel!(I, O, layout, epilogue)`: a product without images; the epilogue must capture nothing.
#[macro_export]
macro_rules! kernel {
    ($input:ty, $output:ty, $layout:expr, $epilogue:expr) => {{
        use autokernel_runtime::__private::{RowEpilogue, matmul_on_cpu as on_cpu};
        use autokernel_runtime::matmul::Layout;
        const ALONG_ROW: RowEpilogue = |sums| {
            let epilogue: fn(f32) -> f32 = $epilogue;
            sums.iter_mut().for_each(|sum| *sum = epilogue(*sum));
        };
        let cpu: autokernel_runtime::CpuFunction = match $layout {
            Layout::Nn => |arguments| on_cpu(arguments, Layout::Nn, ALONG_ROW),
            Layout::Nt => |arguments| on_cpu(arguments, Layout::Nt, ALONG_ROW),
            Layout::Tn => |arguments| on_cpu(arguments, Layout::Tn, ALONG_ROW),
            Layout::Tt => |arguments| on_cpu(arguments, Layout::Tt, ALONG_ROW),
        };
        $crate::common::without_images::<$input, $output>($layout, cpu)
    }};
}

pub fn identity(x: f32) -> f32 {
    x
}

pub fn leaky_relu(x: f32) -> f32 {
    if x > 0.0 { x } else { 0.01 * x }
}

/// Reproducible values in [-1, 1) that are exact in every element type (multiples of 1/64).
pub fn values<T: Element>(seed: u64, len: usize) -> Vec<T> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        T::from_f32((state >> 57) as f32 / 64.0 - 1.0)
    };
    (0..len).map(|_| next()).collect()
}

/// Sums in `f64` of row-major operands with leading dimensions, and the sums of the terms' magnitudes.
pub fn reference<T: Element>(
    extents: Extents,
    layout: Layout,
    a: &[T],
    lda: usize,
    b: &[T],
    ldb: usize,
) -> Vec<(f64, f64)> {
    let [m, n, k] = matmul::sizes(&extents).map(|size| size as usize);
    let widen = |data: &[T]| data.iter().map(|value| f64::from(value.to_f32())).collect::<Vec<f64>>();
    let (a, b) = (widen(a), widen(b));
    let (a_row, a_column) = if layout.transpose_a() { (1, lda) } else { (lda, 1) };
    let (b_row, b_column) = if layout.transpose_b() { (1, ldb) } else { (ldb, 1) };
    let element = |i: usize, j: usize| {
        let terms = (0..k).map(|p| a[i * a_row + p * a_column] * b[p * b_row + j * b_column]);
        terms.fold((0.0, 0.0), |(sum, magnitude), term| (sum + term, magnitude + term.abs()))
    };
    (0..m * n).map(|index| element(index / n, index % n)).collect()
}

/// How far rounding to the output type may move a value: half a unit in the last place.
pub fn rounding(dtype: Dtype, value: f64) -> f64 {
    let (relative, of_subnormals) = match dtype {
        Dtype::Bf16 => (2f64.powi(-8), 2f64.powi(-134)),
        Dtype::F16 => (2f64.powi(-11), 2f64.powi(-25)),
        Dtype::F32 => (2f64.powi(-24), 2f64.powi(-150)),
        Dtype::E4m3 => (2f64.powi(-4), 2f64.powi(-10)),
        Dtype::E5m2 => (2f64.powi(-3), 2f64.powi(-17)),
        Dtype::I8 | Dtype::I4x2 | Dtype::I32 => panic!("nothing is rounded to {dtype}"),
    };
    (relative * value.abs()).max(of_subnormals)
}

/// GPU 0, or `None` with a line that says that the test was skipped.
pub fn gpu_or_skip(test: &str) -> Option<Device> {
    match Device::new(0) {
        Ok(device) => Some(device),
        Err(error) => {
            eprintln!("SKIPPED {test}: {error}");
            None
        }
    }
}
