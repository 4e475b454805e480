//! Matrix products on the CPU, by the `gemm` crate.
//!
//! Inputs are widened to `f32` block by block, summed in `f32`, given to the epilogue, and rounded once: the order of
//! operations of the GPU kernels. Blocks bound the extra memory to a few megabytes whatever the size of the product
//! (except along K).

use gemm::Parallelism;

use crate::layout::Layout;
use crate::view::{Storage, StorageMut};
use crate::{AnyView, AnyViewMut, Argument, Device, Element, Error, MatrixView, MatrixViewMut, Result, alloc};

/// Rows of C that are computed together.
const BLOCK_M: usize = 256;
/// Columns of C that are computed together.
const BLOCK_N: usize = 512;

/// `out = epilogue(a · b)` of the operands `[a, b, out]` in host memory, with `b` stored as `[n, k]` if `transpose_b`:
/// what a matrix product's descriptor names for the CPU.
///
/// # Errors
/// [`Error::Operands`] for operands of no product, [`Error::DeviceMismatch`] for one that is on a GPU,
/// [`Error::OutOfMemory`].
pub fn matmul(arguments: &mut [Argument<'_>], transpose_b: bool, epilogue: fn(f32) -> f32) -> Result<()> {
    let refused = |reason: &str| Error::Operands { kernel: "matmul".to_owned(), reason: reason.to_owned() };
    let [Argument::Read(a), Argument::Read(b), Argument::Write(out)] = arguments else {
        return Err(refused("a product reads two matrices and writes one"));
    };
    match (a, b) {
        (AnyView::Bf16(a), AnyView::Bf16(b)) => into_any(a, b, out, transpose_b, epilogue),
        (AnyView::F16(a), AnyView::F16(b)) => into_any(a, b, out, transpose_b, epilogue),
        (AnyView::F32(a), AnyView::F32(b)) => into_any(a, b, out, transpose_b, epilogue),
        _ => Err(refused("its inputs are of one type")),
    }
}

fn into_any<I: Element>(
    a: &MatrixView<'_, I>,
    b: &MatrixView<'_, I>,
    out: &mut AnyViewMut<'_>,
    transpose_b: bool,
    epilogue: fn(f32) -> f32,
) -> Result<()> {
    match out {
        AnyViewMut::Bf16(out) => typed(a, b, out, transpose_b, epilogue),
        AnyViewMut::F16(out) => typed(a, b, out, transpose_b, epilogue),
        AnyViewMut::F32(out) => typed(a, b, out, transpose_b, epilogue),
    }
}

fn typed<I: Element, O: Element>(
    a: &MatrixView<'_, I>,
    b: &MatrixView<'_, I>,
    out: &mut MatrixViewMut<'_, O>,
    transpose_b: bool,
    epilogue: fn(f32) -> f32,
) -> Result<()> {
    let (b_rows, b_columns) = (b.layout.rows, b.layout.columns);
    let (b_k, b_n) = if transpose_b { (b_columns, b_rows) } else { (b_rows, b_columns) };
    if (a.nrows(), b_n) != (out.nrows(), out.ncols()) || a.ncols() != b_k {
        let reason = "their shapes are those of no product".to_owned();
        return Err(Error::Operands { kernel: "matmul".to_owned(), reason });
    }
    let on_gpu = |device: Device| Error::DeviceMismatch {
        what: "an operand and the launch".to_owned(),
        left: device.to_string(),
        right: Device::cpu().to_string(),
    };
    let Storage::Host(a_data) = &a.storage else { return Err(on_gpu(a.device())) };
    let Storage::Host(b_data) = &b.storage else { return Err(on_gpu(b.device())) };
    let (device, c_layout) = (out.device(), out.layout);
    let StorageMut::Host(c_data) = &mut out.storage else { return Err(on_gpu(device)) };
    let (a, b) = (Operand { data: a_data, layout: a.layout }, Operand { data: b_data, layout: b.layout });
    blocked(a, b, c_data, c_layout, transpose_b, epilogue)
}

/// One input in host memory.
#[derive(Clone, Copy)]
struct Operand<'a, T> {
    data: &'a [T],
    layout: Layout,
}

/// The product in blocks; the shapes fit.
fn blocked<I: Element, O: Element>(
    a: Operand<'_, I>,
    b: Operand<'_, I>,
    c: &mut [O],
    c_layout: Layout,
    transpose_b: bool,
    epilogue: fn(f32) -> f32,
) -> Result<()> {
    let (m, n, k) = (c_layout.rows, c_layout.columns, a.layout.columns);
    let mut a_block = alloc::host_zeros::<f32>(m.min(BLOCK_M) * k)?;
    let mut b_block = alloc::host_zeros::<f32>(n.min(BLOCK_N) * k)?;
    let mut sums = alloc::host_zeros::<f32>(m.min(BLOCK_M) * n.min(BLOCK_N))?;

    for first_n in (0..n).step_by(BLOCK_N) {
        let block_n = BLOCK_N.min(n - first_n);
        let b_stored = if transpose_b { (first_n, 0, block_n, k) } else { (0, first_n, k, block_n) };
        let b_strides = if transpose_b { Strides::transposed(k) } else { Strides::row_major(block_n) };
        widen_block(b, b_stored, &mut b_block);
        for first_m in (0..m).step_by(BLOCK_M) {
            let block_m = BLOCK_M.min(m - first_m);
            widen_block(a, (first_m, 0, block_m, k), &mut a_block);
            multiply((block_m, block_n, k), &a_block, &b_block, b_strides, &mut sums);
            for (row, sums) in sums.chunks(block_n).take(block_m).enumerate() {
                let start = (first_m + row) * c_layout.ld + first_n;
                store(sums, epilogue, &mut c[start..start + block_n]);
            }
        }
    }
    Ok(())
}

/// Elements from one row, and from one column, to the next.
#[derive(Clone, Copy)]
struct Strides {
    row: isize,
    column: isize,
}

impl Strides {
    fn row_major(columns: usize) -> Self {
        Self { row: columns as isize, column: 1 }
    }

    fn transposed(stored_columns: usize) -> Self {
        Self { row: 1, column: stored_columns as isize }
    }
}

/// Copies `(first row, first column, rows, columns)` of an operand to `target`, row by row without gaps, as `f32`.
fn widen_block<T: Element>(
    source: Operand<'_, T>,
    (first_row, first_column, rows, columns): (usize, usize, usize, usize),
    target: &mut [f32],
) {
    if columns == 0 {
        return;
    }
    for (row, target) in target.chunks_mut(columns).take(rows).enumerate() {
        let start = (first_row + row) * source.layout.ld + first_column;
        T::widen(&source.data[start..start + columns], target);
    }
}

/// `sums[m, n] = a[m, k] · b[k, n]`, all dense `f32`; K = 0 gives zeros.
fn multiply((m, n, k): (usize, usize, usize), a: &[f32], b: &[f32], b_strides: Strides, sums: &mut [f32]) {
    if k == 0 {
        sums.fill(0.0);
        return;
    }
    debug_assert!(a.len() >= m * k && b.len() >= n * k && sums.len() >= m * n);
    // SAFETY: `a` holds m×k elements with row stride k; `b` holds n×k elements, reached through strides that address
    // each of them once; `sums` holds m×n with row stride n. `matmul` sized all three for the largest block, and
    // `sums` is borrowed mutably, so nothing else reads or writes it meanwhile.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            sums.as_mut_ptr(),
            1,
            n as isize,
            false,
            a.as_ptr(),
            1,
            k as isize,
            b.as_ptr(),
            b_strides.column,
            b_strides.row,
            0.0,
            1.0,
            false,
            false,
            false,
            Parallelism::Rayon(0),
        );
    }
}

/// Epilogue and the one rounding.
fn store<O: Element>(sums: &[f32], epilogue: fn(f32) -> f32, target: &mut [O]) {
    for (sum, target) in sums.iter().zip(target) {
        *target = O::from_f32(epilogue(*sum));
    }
}
