//! Declared packings of weights, held bit for bit against what the host's functions make.

use autokernel::{
    AnyKernel, Argument, Device, Element, Matrix, Number, Result, Row, bf16, f16, i4x2, quantise, quantise_i8,
    quantise_with_zeros,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Numbers of 8 bits, a scale for each row.
#[autokernel::packing]
pub fn bytes(w: &Matrix<f32>, packed: &mut Matrix<i8>, scales: &mut Row<f32>);

/// Numbers of 8 bits in small groups, whose scales are rounded.
#[autokernel::packing(group = 32)]
pub fn bytes_in_groups(w: &Matrix<f16>, packed: &mut Matrix<i8>, scales: &mut Matrix<bf16>);

/// Numbers of 4 bits, a scale for each row.
#[autokernel::packing]
pub fn nibbles(w: &Matrix<f16>, packed: &mut Matrix<i4x2>, scales: &mut Row<f32>);

/// Numbers of 4 bits in groups.
#[autokernel::packing(group = 128)]
pub fn nibbles_in_groups(w: &Matrix<bf16>, packed: &mut Matrix<i4x2>, scales: &mut Matrix<f16>);

/// Numbers of 4 bits in groups that have zero points.
#[autokernel::packing(group = 64, T = [bf16, f32])]
pub fn shifted<T>(w: &Matrix<T>, packed: &mut Matrix<i4x2>, scales: &mut Matrix<f32>, zeros: &mut Matrix<i8>);

/// The kernels above.
pub fn kernels() -> [&'static AnyKernel; 6] {
    [
        &bytes::KERNEL,
        &bytes_in_groups::KERNEL,
        &nibbles::KERNEL,
        &nibbles_in_groups::KERNEL,
        shifted::kernel::<bf16>(),
        shifted::kernel::<f32>(),
    ]
}

/// Weights of which those that numbers lie halfway between, zeros of either sign, NaN, and the smallest and largest that there are, come up
/// in some groups; all finite in the type.
fn weights<T: Number>(rng: &mut StdRng, count: usize) -> Vec<T> {
    let (mut weights, largest) = (Vec::with_capacity(count), largest::<T>());
    while weights.len() < count {
        let kind = rng.random_range(0..8);
        let about = 2f32.powi(rng.random_range(-20..=10));
        for _ in 0..rng.random_range(1..100) {
            let weight = match (kind, rng.random_range(0..40)) {
                (_, 0) => f32::NAN,
                (_, 1) => -0.0,
                (0, _) => 0.0,
                (1, _) => rng.random_range(-14..=14) as f32 / 2.0 * about,
                (2, _) => rng.random_range(-254..=254) as f32 / 2.0 * about,
                (3, _) => rng.random_range(-40..=40) as f32 * f32::from_bits(1 << rng.random_range(0..20)),
                (4, _) => rng.random_range(-1.0..=1.0f32) * largest,
                (5, _) => rng.random_range(0.5..1.0) * about,
                _ => (rng.random_range(-1.0..1.0f32) + rng.random_range(-1.0..1.0)) * about,
            };
            let weight = T::from_f32(weight);
            weights.push(if weight.to_f32().is_infinite() { T::from_f32(largest) } else { weight });
        }
    }
    weights.truncate(count);
    weights
}

/// The largest number of a type.
fn largest<T: Number>() -> f32 {
    let (most, least) = (f32::MAX, T::from_f32(65504.0).to_f32());
    // Of bf16 the next one after 2^128 less half of its last place.
    [most, f32::from_bits(0x7f7f_0000), least]
        .into_iter()
        .find(|one| T::from_f32(*one).to_f32().is_finite())
        .unwrap_or(1.0)
}

/// What is packed: rows, numbers of each, and elements from one row of the weights to the next.
#[derive(Clone, Copy)]
struct Shape {
    n: usize,
    k: usize,
    ld: usize,
}

impl Shape {
    fn draw(rng: &mut StdRng, granule: usize) -> Shape {
        let n = rng.random_range(1..70);
        // Some rows are longer than a warp's step.
        let most = if rng.random_range(0..4) == 0 { 1500 } else { 300 };
        let k = rng.random_range(1usize..most).next_multiple_of(granule);
        Shape { n, k, ld: k + rng.random_range(0..3) }
    }

    /// Weights on the device, and as the host's functions take them.
    fn weights<T: Element>(self, device: &Device, rng: &mut StdRng) -> Result<(Matrix<T>, Vec<f32>)> {
        let Shape { n, k, ld } = self;
        let given: Vec<T> = weights(rng, n * ld);
        let wide = given.chunks(ld).flat_map(|row| row[..k].iter().map(|weight| weight.to_f32())).collect();
        Ok((Matrix::from_slice_with_ld(device, &given, n, k, ld)?, wide))
    }
}

/// What is written, for `columns` elements a row, between elements that stay: from element `first` of rows on that are longer by `gap`.
struct Written<T> {
    all: Matrix<T>,
    columns: std::ops::Range<usize>,
    before: Vec<T>,
}

impl<T: Element + PartialEq + std::fmt::Debug> Written<T> {
    fn new(device: &Device, rows: usize, columns: usize, [first, gap]: [usize; 2], filled: T) -> Result<Self> {
        let ld = first + columns + gap;
        let before = vec![filled; rows * ld];
        let all = Matrix::from_slice(device, &before, rows, ld)?;
        Ok(Written { all, columns: first..first + columns, before })
    }

    /// Whether these elements, and no others, were written.
    fn check(&self, expected: &[T], what: &str) -> Result<()> {
        let (mut wanted, columns) = (self.before.clone(), self.columns.len());
        for (row, expected) in wanted.chunks_mut(self.all.ncols().max(1)).zip(expected.chunks(columns.max(1))) {
            row[self.columns.clone()].copy_from_slice(expected);
        }
        let got = self.all.to_vec()?;
        let wrong = got.iter().zip(&wanted).position(|(got, wanted)| got != wanted);
        assert!(
            wrong.is_none(),
            "{what}: element {wrong:?} is {:?}, not {:?}",
            got[wrong.unwrap()],
            wanted[wrong.unwrap()]
        );
        Ok(())
    }
}

/// Scales by their bits, so that a zero's sign counts.
fn bits<T: Number>(scales: &[T]) -> Vec<u32> {
    scales.iter().map(|scale| scale.to_f32().to_bits()).collect()
}

fn rounded<T: Number>(scales: &[f32]) -> Vec<T> {
    scales.iter().map(|scale| T::from_f32(*scale)).collect()
}

/// A ragged packing by each kernel and seed on `device`, which must have the host's bits.
///
/// # Errors
/// A launch fails.
///
/// # Panics
/// One gives something else.
pub fn check(device: &Device, seeds: u64) -> Result<()> {
    for seed in 0..seeds {
        let rng = &mut StdRng::seed_from_u64(seed);
        let gaps = [rng.random_range(0..5), rng.random_range(0..5)];
        // Rows of units of packed numbers begin where one does; that is no multiple of a word where rows are longer.
        let of_units = [16 * rng.random_range(0..2), rng.random_range(0..3)];

        let shape @ Shape { n, k, .. } = Shape::draw(rng, 1);
        let (w, wide) = shape.weights(device, rng)?;
        let mut packed = Written::new(device, n, k, gaps, 0x55i8)?;
        let mut scales = Row::zeros(device, n)?;
        bytes::launch_on(device, &w, packed.all.view_mut().columns(packed.columns.clone())?, &mut scales)?;
        let (numbers, of_rows) = quantise_i8(&wide, k, k)?;
        packed.check(&numbers, &format!("bytes, seed {seed}, {n}x{k}"))?;
        assert_eq!(bits(&scales.to_vec()?), bits(&of_rows), "bytes, seed {seed}");

        let shape @ Shape { n, k, .. } = Shape::draw(rng, 32);
        let (w, wide) = shape.weights(device, rng)?;
        let mut packed = Written::new(device, n, k, gaps, 0x55i8)?;
        let mut scales = Written::new(device, k / 32, n, gaps, bf16::NEG_ONE)?;
        let of_groups = scales.all.view_mut();
        let columns = packed.columns.clone();
        bytes_in_groups::launch_on(
            device,
            &w,
            packed.all.view_mut().columns(columns)?,
            { of_groups }.columns(scales.columns.clone())?,
        )?;
        let (numbers, of_groups) = quantise_i8(&wide, k, 32)?;
        packed.check(&numbers, &format!("bytes_in_groups, seed {seed}, {n}x{k}"))?;
        scales.check(&rounded(&of_groups), &format!("scales of bytes_in_groups, seed {seed}"))?;

        let shape @ Shape { n, k, .. } = Shape::draw(rng, 32);
        let (w, wide) = shape.weights(device, rng)?;
        let mut packed = Written::new(device, n, k / 2, of_units, i4x2::from_bits(0x55))?;
        let mut scales = Row::zeros(device, n)?;
        nibbles::launch_on(device, &w, packed.all.view_mut().columns(packed.columns.clone())?, &mut scales)?;
        let (numbers, of_rows) = quantise(&wide, k, k)?;
        packed.check(&numbers, &format!("nibbles, seed {seed}, {n}x{k}"))?;
        assert_eq!(bits(&scales.to_vec()?), bits(&of_rows), "nibbles, seed {seed}");

        let shape @ Shape { n, k, .. } = Shape::draw(rng, 128);
        let (w, wide) = shape.weights(device, rng)?;
        let mut packed = Written::new(device, n, k / 2, of_units, i4x2::from_bits(0x55))?;
        let mut scales = Matrix::zeros(device, k / 128, n)?;
        nibbles_in_groups::launch_on(device, &w, packed.all.view_mut().columns(packed.columns.clone())?, &mut scales)?;
        let (numbers, of_groups) = quantise(&wide, k, 128)?;
        packed.check(&numbers, &format!("nibbles_in_groups, seed {seed}, {n}x{k}"))?;
        assert_eq!(bits(&scales.to_vec()?), bits(&rounded::<f16>(&of_groups)), "nibbles_in_groups, seed {seed}");

        check_shifted::<bf16>(device, rng, of_units, gaps)?;
        check_shifted::<f32>(device, rng, of_units, gaps)?;
    }
    Ok(())
}

fn check_shifted<T: shifted::Types>(
    device: &Device,
    rng: &mut StdRng,
    of_units: [usize; 2],
    gaps: [usize; 2],
) -> Result<()> {
    let shape @ Shape { n, k, .. } = Shape::draw(rng, 64);
    let (w, wide) = shape.weights::<T>(device, rng)?;
    let mut packed = Written::new(device, n, k / 2, of_units, i4x2::from_bits(0x55))?;
    let mut scales = Written::new(device, k / 64, n, gaps, -1f32)?;
    let mut zeros = Written::new(device, k / 64, n, gaps, 0x55i8)?;
    let [of_packed, of_scales, of_zeros] = [&packed.columns, &scales.columns, &zeros.columns].map(Clone::clone);
    shifted::launch_on(
        device,
        &w,
        packed.all.view_mut().columns(of_packed)?,
        scales.all.view_mut().columns(of_scales)?,
        zeros.all.view_mut().columns(of_zeros)?,
    )?;
    let (numbers, of_groups, points) = quantise_with_zeros(&wide, k, 64)?;
    let what = format!("shifted {}, {n}x{k}", T::DTYPE);
    packed.check(&numbers, &what)?;
    scales.check(&of_groups, &format!("scales of {what}"))?;
    zeros.check(&points, &format!("zero points of {what}"))
}

/// An infinite weight, of which no launch can complain: all that is made of its group is 0 but the scale, and the groups beside it are as
/// they are without it. Rows without numbers have the scale 0.
///
/// # Errors
/// A launch fails.
///
/// # Panics
/// One gives something else.
pub fn check_what_no_scale_holds(device: &Device) -> Result<()> {
    for infinite in [f32::INFINITY, f32::NEG_INFINITY] {
        let mut weights: Vec<f32> = (0..2 * 128).map(|at| (at % 37) as f32 - 12.0).collect();
        let (_, scales_without, zeros_without) = quantise_with_zeros(&weights, 128, 64)?;
        weights[70] = infinite;
        let w = Matrix::from_slice(device, &weights, 2, 128)?;
        let mut packed = Matrix::from_slice(device, &[i4x2::from_bits(0x55); 128], 2, 64)?;
        let (mut scales, mut zeros) = (Matrix::zeros(device, 2, 2)?, Matrix::from_slice(device, &[0x55i8; 4], 2, 2)?);
        shifted::launch_on(device, &w, &mut packed, &mut scales, &mut zeros)?;
        let (scales, zeros) = (scales.to_vec()?, zeros.to_vec()?);
        // Of groups [k / 64, n]: that of row 0 which begins at 64.
        assert_eq!((scales[2], zeros[2]), (f32::INFINITY, 0));
        assert!(packed.to_vec()?[32..64].iter().all(|pair| pair.to_bits() == 0));
        for at in [0, 1, 3] {
            assert_eq!((scales[at], zeros[at]), (scales_without[at], zeros_without[at]), "group {at}");
        }
        let (mut packed, mut scale) = (Matrix::from_slice(device, &[0x55i8; 3], 1, 3)?, Row::zeros(device, 1)?);
        bytes::launch_on(device, &Matrix::from_slice(device, &[1.0, infinite, 2.0], 1, 3)?, &mut packed, &mut scale)?;
        assert_eq!((packed.to_vec()?, scale.to_vec()?), (vec![0, 0, 0], vec![f32::INFINITY]));
    }
    let mut scales = Row::from_slice(device, &[7.0, 7.0])?;
    bytes::launch_on(device, &Matrix::zeros(device, 2, 0)?, &mut Matrix::zeros(device, 2, 0)?, &mut scales)?;
    assert_eq!(scales.to_vec()?, [0.0, 0.0]);
    Ok(())
}

/// What a launch of [`nibbles_in_groups()`] says of operands of those sizes: of the weights, of the numbers and of the scales.
///
/// # Panics
/// The launch succeeds.
pub fn refusal(device: &Device, [w, packed, scales]: [[usize; 2]; 3]) -> String {
    let w = Matrix::<bf16>::zeros(device, w[0], w[1]).expect("memory");
    let mut packed = Matrix::<i4x2>::zeros(device, packed[0], packed[1]).expect("memory");
    let mut scales = Matrix::<f16>::zeros(device, scales[0], scales[1]).expect("memory");
    let arguments: &mut [Argument<'_>] = &mut [(&w).into(), (&mut packed).into(), (&mut scales).into()];
    nibbles_in_groups::KERNEL.launch(device, arguments).expect_err("sizes that do not fit").to_string()
}
