//! Kernels that write over what they read, each also launched with what it reads elsewhere.

use autokernel::{AnyKernel, Device, Dtype, Element, Matrix, Result, Row, bf16};

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

/// All of them.
pub fn kernels() -> [&'static AnyKernel; 5] {
    [add::kernel::<bf16>(), add::kernel::<f32>(), &add_rms_norm::KERNEL, &softmax::KERNEL, &accumulate::KERNEL]
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
    Ok(())
}

/// Two roundings of 16 bits, or what sums of f32 are off.
fn assert_close<T: Element + Into<f64>>(left: &Matrix<T>, right: &Matrix<T>, what: &str) -> Result<()> {
    let least = if T::DTYPE == Dtype::F32 { 1e-5 } else { 1.0 / 64.0 };
    for (at, (left, right)) in left.to_vec()?.into_iter().zip(right.to_vec()?).enumerate() {
        let (left, right): (f64, f64) = (left.into(), right.into());
        assert!((left - right).abs() <= least * right.abs(), "{what}, element {at}: {left} in place, {right} apart");
    }
    Ok(())
}
