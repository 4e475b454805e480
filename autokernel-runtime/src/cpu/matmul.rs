//! Matrix products on the CPU, by the `matrixmultiply` crate, on all cores.
//!
//! Inputs are widened to `f32` block by block, summed in `f32`, given to the epilogue, and rounded once: the order of
//! operations of the GPU kernels. Blocks bound the extra memory to a few megabytes whatever the size of the product
//! (except along K).

use rayon::prelude::*;

use crate::layout::Layout;
use crate::view::{Storage, StorageMut};
use crate::{AnyView, AnyViewMut, Argument, Device, Element, Error, MatrixView, MatrixViewMut, Result, alloc};

/// Rows of C that are computed together.
const BLOCK_M: usize = 256;
/// Columns of C that are computed together.
const BLOCK_N: usize = 512;
/// Rows that are worth a thread; what a kernel of `matrixmultiply` computes together.
const FEWEST_ROWS: usize = 8;

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
        (AnyView::E4m3(a), AnyView::E4m3(b)) => into_any(a, b, out, transpose_b, epilogue),
        (AnyView::E5m2(a), AnyView::E5m2(b)) => into_any(a, b, out, transpose_b, epilogue),
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
        AnyViewMut::E4m3(out) => typed(a, b, out, transpose_b, epilogue),
        AnyViewMut::E5m2(out) => typed(a, b, out, transpose_b, epilogue),
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
        let b_strides = if transpose_b { Strides::column_major(k) } else { Strides::row_major(block_n) };
        widen_block(b, b_stored, &mut b_block);
        for first_m in (0..m).step_by(BLOCK_M) {
            let block_m = BLOCK_M.min(m - first_m);
            widen_block(a, (first_m, 0, block_m, k), &mut a_block);
            let size = Size { m: block_m, n: block_n, k };
            let sums = &mut sums[..block_m * block_n];
            let strides = multiply(size, &a_block, Matrix { data: &b_block, strides: b_strides }, sums);
            let rows = c.par_chunks_mut(c_layout.ld).skip(first_m).take(block_m).enumerate().with_min_len(FEWEST_ROWS);
            rows.for_each(|(row, c)| {
                let sums = sums[row * strides.row..].iter().step_by(strides.column);
                store(sums, epilogue, &mut c[first_n..first_n + block_n]);
            });
        }
    }
    Ok(())
}

/// Elements from one row, and from one column, to the next.
#[derive(Clone, Copy)]
struct Strides {
    row: usize,
    column: usize,
}

impl Strides {
    fn row_major(columns: usize) -> Self {
        Self { row: columns, column: 1 }
    }

    fn column_major(rows: usize) -> Self {
        Self { row: 1, column: rows }
    }
}

/// Dense `f32`, row by row or column by column.
#[derive(Clone, Copy)]
struct Matrix<'a> {
    data: &'a [f32],
    strides: Strides,
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
    let targets = target.par_chunks_mut(columns).take(rows).enumerate().with_min_len(FEWEST_ROWS);
    targets.for_each(|(row, target)| {
        let start = (first_row + row) * source.layout.ld + first_column;
        T::widen(&source.data[start..start + columns], target);
    });
}

/// What is multiplied at once.
#[derive(Clone, Copy)]
struct Size {
    m: usize,
    n: usize,
    k: usize,
}

/// `sums[m, n] = a[m, k] · b[k, n]` with `a` row by row; K = 0 gives zeros. Each thread takes rows of the sums, or columns
/// where there are more of those, which then lie one after the other: gives the strides.
fn multiply(size: Size, a: &[f32], b: Matrix<'_>, sums: &mut [f32]) -> Strides {
    let Size { m, n, k } = size;
    let share = |count: usize| count.div_ceil(rayon::current_num_threads()).next_multiple_of(FEWEST_ROWS);
    if k == 0 {
        sums.fill(0.0);
        return Strides::row_major(n);
    }
    if m >= n {
        let strides = Strides::row_major(n);
        let rows = share(m);
        sums.par_chunks_mut(rows * n).zip(a[..m * k].par_chunks(rows * k)).for_each(|(sums, a)| {
            multiply_alone(Size { m: sums.len() / n, ..size }, a, b, sums, strides);
        });
        strides
    } else {
        let strides = Strides::column_major(m);
        let columns = share(n);
        sums.par_chunks_mut(columns * m).enumerate().for_each(|(share, sums)| {
            let b = Matrix { data: &b.data[share * columns * b.strides.column..], ..b };
            multiply_alone(Size { n: sums.len() / m, ..size }, a, b, sums, strides);
        });
        strides
    }
}

/// The same on this thread.
fn multiply_alone(Size { m, n, k }: Size, a: &[f32], b: Matrix<'_>, sums: &mut [f32], strides: Strides) {
    let last_of_b = (k - 1) * b.strides.row + (n - 1) * b.strides.column;
    assert!(a.len() >= m * k && b.data.len() > last_of_b && sums.len() == m * n);
    let [b_row, b_column, row, column] =
        [b.strides.row, b.strides.column, strides.row, strides.column].map(|stride| stride as isize);
    // SAFETY: `a` holds m×k elements of row stride k, and b's last element lies within `b.data`: both asserted above. The
    // strides of `sums` are those of m×n elements without gaps, by rows or by columns, and it is borrowed mutably.
    unsafe {
        matrixmultiply::sgemm(
            m,
            k,
            n,
            1.0,
            a.as_ptr(),
            k as isize,
            1,
            b.data.as_ptr(),
            b_row,
            b_column,
            0.0,
            sums.as_mut_ptr(),
            row,
            column,
        );
    }
}

/// Epilogue and the one rounding.
fn store<'s, O: Element>(sums: impl Iterator<Item = &'s f32>, epilogue: fn(f32) -> f32, target: &mut [O]) {
    for (sum, target) in sums.zip(target) {
        *target = O::from_f32(epilogue(*sum));
    }
}
