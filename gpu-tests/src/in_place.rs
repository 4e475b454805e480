//! Kernels that write over what they read, each also launched with what it reads elsewhere.

use autokernel::{AnyKernel, Batch, Device, Dtype, Element, Index, Matrix, Result, Row, bf16};

/// A chain.
#[autokernel::rows(T = [bf16, f32])]
pub fn add<T>(skip: &Matrix<T>, x: &mut Matrix<T>) {
    x += skip;
}

/// What is written early is read by a later pass.
#[autokernel::rows]
pub fn add_rms_norm(skip: &Matrix<bf16>, weight: &Row<bf16>, sum: &mut Matrix<bf16>, out: &mut Matrix<bf16>) {
    let y = sum + skip;
    sum = y;
    out = y / (row_mean(y * y) + 1e-6).sqrt() * weight;
}

/// Three passes on rows that may be longer than what a block holds.
#[autokernel::rows]
pub fn softmax(x: &mut Matrix<f32>) {
    let exp = (x - row_max(x)).exp();
    x = exp / row_sum(exp);
}

/// A product that is added to what was there.
#[autokernel::fused_matmul]
pub fn accumulate(a: &Matrix<bf16>, b: &Matrix<bf16>, scale: f32, c: &mut Matrix<f32>) {
    c = scale * c + dot(a, b.t());
}

/// Products of a batch that are added to what was there.
#[autokernel::fused_matmul]
pub fn accumulate_batch(a: &Batch<bf16>, b: &Matrix<bf16>, c: &mut Batch<f32>) {
    c += dot(a, b.t());
}

/// The gradients of experts' weights, over several parts of a step.
#[autokernel::fused_matmul]
pub fn accumulate_experts(x: &Matrix<bf16>, dy: &Matrix<bf16>, offsets: &Index, dw: &mut Batch<f32>) {
    dw += dot(x.t(), dy);
}

/// All of them.
pub fn kernels() -> [&'static AnyKernel; 7] {
    [
        add::kernel::<bf16>(),
        add::kernel::<f32>(),
        &add_rms_norm::KERNEL,
        &softmax::KERNEL,
        &accumulate::KERNEL,
        &accumulate_batch::KERNEL,
        &accumulate_experts::KERNEL,
    ]
}

/// Asserts that each kernel gives the same in place and into an output of its own, on rows of so many columns: but for roundings, as sums are
/// taken in another order where memory begins elsewhere.
///
/// # Errors
/// Those of launches.
///
/// # Panics
/// They differ, or what is read elsewhere is written.
pub fn check(device: &Device, rows: usize, columns: usize) -> Result<()> {
    let values = |seed: usize| (0..rows * columns).map(move |at| ((at * 31 + seed * 17) % 1013) as f32 / 256.0 - 2.0);
    let narrow =
        |seed| Matrix::from_slice(device, &values(seed).map(bf16::from_f32).collect::<Vec<_>>(), rows, columns);
    let (x, skip) = (narrow(1)?, narrow(2)?);
    let weight = Row::from_slice(device, &values(3).take(columns).map(bf16::from_f32).collect::<Vec<_>>())?;
    let (mut over, mut apart) = (narrow(1)?, Matrix::zeros(device, rows, columns)?);

    add(&skip, &mut over)?;
    add::kernel::<bf16>().launch(device, &mut [(&skip).into(), (&mut apart).into(), (&x).into()])?;
    assert_close(&over, &apart, &format!("add of {rows}x{columns}"))?;

    let (mut over, mut out) = (narrow(1)?, Matrix::zeros(device, rows, columns)?);
    let mut other = Matrix::zeros(device, rows, columns)?;
    add_rms_norm(&skip, &weight, &mut over, &mut out)?;
    let mut apart_from = [(&skip).into(), weight.view().into(), (&mut apart).into(), (&mut other).into(), (&x).into()];
    add_rms_norm::KERNEL.launch(device, &mut apart_from)?;
    assert_close(&over, &apart, &format!("sum of {rows}x{columns}"))?;
    assert_close(&out, &other, &format!("norm of {rows}x{columns}"))?;

    let wide = || Matrix::from_slice(device, &values(4).collect::<Vec<_>>(), rows, columns);
    let (before, mut over, mut apart) = (wide()?, wide()?, Matrix::<f32>::zeros(device, rows, columns)?);
    softmax(&mut over)?;
    softmax::KERNEL.launch(device, &mut [(&mut apart).into(), (&before).into()])?;
    assert_close(&over, &apart, &format!("softmax of {rows}x{columns}"))?;
    assert_close(&before, &wide()?, "what softmax reads")?;

    let square = |seed: usize| (0..rows * rows).map(move |at| ((at * 7 + seed) % 101) as f32 / 8.0);
    let sums = |seed| Matrix::from_slice(device, &square(seed).collect::<Vec<_>>(), rows, rows);
    let (before, mut over, mut apart) = (sums(5)?, sums(5)?, Matrix::<f32>::zeros(device, rows, rows)?);
    accumulate(&x, &skip, 0.5, &mut over)?;
    let mut apart_from = [(&x).into(), (&skip).into(), 0.5.into(), (&mut apart).into(), (&before).into()];
    accumulate::KERNEL.launch(device, &mut apart_from)?;
    assert_close(&over, &apart, &format!("product of {rows}x{columns}"))?;
    check_batches(device, &values(6).collect::<Vec<_>>(), (rows, columns))
}

/// The same of batches and of groups: two products of rows of 8, and of a few rows of all.
fn check_batches(device: &Device, values: &[f32], (rows, columns): (usize, usize)) -> Result<()> {
    const SIDE: usize = 8;
    let narrow = |count: usize, shift: usize| -> Vec<bf16> {
        (0..count).map(|at| bf16::from_f32(values[(at + shift) % values.len()])).collect()
    };
    let held: Vec<f32> = (0..2 * rows * SIDE).map(|at| (at % 37) as f32 / 4.0).collect();
    let a = Batch::from_slice(device, &narrow(2 * rows * columns, 0), [2, rows, columns])?;
    let b = Matrix::from_slice(device, &narrow(SIDE * columns, 5), SIDE, columns)?;
    let batch = || Batch::from_slice(device, &held, [2, rows, SIDE]);
    let (before, mut over, mut apart) = (batch()?, batch()?, Batch::<f32>::zeros(device, [2, rows, SIDE])?);
    accumulate_batch(&a, &b, &mut over)?;
    accumulate_batch::KERNEL.launch(device, &mut [(&a).into(), (&b).into(), (&mut apart).into(), (&before).into()])?;
    let what = format!("batch of {rows}x{columns}");
    assert_all_close(&over.view().to_vec()?, &apart.view().to_vec()?, &what);
    assert!(over.view().to_vec()? != held || columns == 0, "{what}: nothing was added");

    let [x, dy] = [SIDE, 3].map(|side| Matrix::from_slice(device, &narrow(rows * side, side), rows, side));
    let (x, dy) = (x?, dy?);
    // The second group is empty: it keeps what it had.
    let bounds = [0, rows, rows].map(|bound| i32::try_from(bound).expect("few rows"));
    let offsets = Index::from_slice(device, &bounds)?;
    let held: Vec<f32> = (0..2 * SIDE * 3).map(|at| at as f32 / 8.0).collect();
    let experts = || Batch::from_slice(device, &held, [2, SIDE, 3]);
    let (before, mut over, mut apart) = (experts()?, experts()?, Batch::<f32>::zeros(device, [2, SIDE, 3])?);
    accumulate_experts(&x, &dy, &offsets, &mut over)?;
    let mut apart_from = [(&x).into(), (&dy).into(), offsets.view().into(), (&mut apart).into(), (&before).into()];
    accumulate_experts::KERNEL.launch(device, &mut apart_from)?;
    let (over, what) = (over.view().to_vec()?, format!("experts of {rows} rows"));
    assert_all_close(&over, &apart.view().to_vec()?, &what);
    assert_eq!(over[SIDE * 3..], held[SIDE * 3..], "{what}: the empty group");
    Ok(())
}

/// Two roundings of 16 bits, or what sums of f32 are off.
fn assert_close<T: Element + Into<f64>>(left: &Matrix<T>, right: &Matrix<T>, what: &str) -> Result<()> {
    assert_all_close(&left.to_vec()?, &right.to_vec()?, what);
    Ok(())
}

fn assert_all_close<T: Element + Into<f64>>(left: &[T], right: &[T], what: &str) {
    let least = if T::DTYPE == Dtype::F32 { 1e-5 } else { 1.0 / 64.0 };
    for (at, (left, right)) in left.iter().zip(right).enumerate() {
        let (left, right): (f64, f64) = ((*left).into(), (*right).into());
        assert!((left - right).abs() <= least * right.abs(), "{what}, element {at}: {left} in place, {right} apart");
    }
}
