//! The CPU backend against sums in `f64`.

mod common;

use autokernel_runtime::matmul::{Layout, extents, sizes};
use autokernel_runtime::{Device, Element, Extents, Matrix, MatrixView, MatrixViewMut, bf16, e4m3, e5m2, f16};
use common::{identity, leaky_relu, reference, rounding, values};
use proptest::prelude::*;

/// Ragged, tiny, thin, and larger than one block of the backend in every direction.
const SHAPES: &[(u32, u32, u32)] =
    &[(1, 1, 1), (1, 17, 5), (3, 1, 64), (7, 13, 129), (64, 64, 64), (100, 33, 1), (20, 31, 700), (300, 1030, 65)];

/// Runs one product on dense matrices and compares every element.
fn check<I: Element, O: Element>(shape: Extents, layout: Layout) {
    let [m, n, k] = sizes(&shape).map(|size| size as usize);
    let (a, b) = (values::<I>(1, m * k), values::<I>(2, k * n));
    let (a_rows, a_columns) = if layout.transpose_a() { (k, m) } else { (m, k) };
    let (b_rows, b_columns) = if layout.transpose_b() { (n, k) } else { (k, n) };
    let mut c = vec![O::from_f32(f32::NAN); m * n];
    kernel!(I, O, layout, leaky_relu)
        .launch(
            MatrixView::from_slice(&a, a_rows, a_columns).unwrap(),
            MatrixView::from_slice(&b, b_rows, b_columns).unwrap(),
            MatrixViewMut::from_slice(&mut c, m, n).unwrap(),
        )
        .unwrap();
    let expected = reference(shape, layout, &a, a_columns, &b, b_columns);
    compare(shape, &c, &expected, leaky_relu);
}

/// Sums in `f32` err by at most K roundings of the magnitudes; the epilogues here never enlarge an error.
fn compare<O: Element>(shape: Extents, c: &[O], expected: &[(f64, f64)], epilogue: fn(f32) -> f32) {
    assert_eq!(c.len(), expected.len());
    for (index, (value, (sum, magnitude))) in c.iter().zip(expected).enumerate() {
        let wanted = f64::from(epilogue(*sum as f32));
        let in_the_sum = f64::from(sizes(&shape)[2] + 1) * 2f64.powi(-24) * magnitude;
        let limit = in_the_sum + rounding(O::DTYPE, wanted.abs() + in_the_sum);
        let error = (f64::from(value.to_f32()) - wanted).abs();
        assert!(error <= limit, "{shape}, element {index}: {value:?} instead of {wanted} (off by {error:e})");
    }
}

fn check_all_layouts<I: Element, O: Element>() {
    for &(m, n, k) in SHAPES {
        for layout in Layout::ALL {
            check::<I, O>(extents(m, n, k), layout);
        }
    }
}

#[test]
fn bf16_products_match_f64_sums_in_every_output_type() {
    check_all_layouts::<bf16, bf16>();
    check_all_layouts::<bf16, f16>();
    check_all_layouts::<bf16, f32>();
}

#[test]
fn products_of_8_bit_floats_match_f64_sums_in_every_output_type() {
    check_all_layouts::<e4m3, bf16>();
    check_all_layouts::<e4m3, f16>();
    check_all_layouts::<e5m2, f32>();
}

/// Numbers of 8 bits of one sign, near the largest: their sums soon need more digits than `f32` has.
fn large_whole_numbers(seed: u64, len: usize) -> Vec<i8> {
    values::<f32>(seed, len).iter().map(|value| -128 + (value.abs() * 8.0) as i8).collect()
}

#[test]
fn sums_of_whole_numbers_are_exact_beyond_what_f32_holds_until_they_are_stored() {
    for (m, n, k) in [(1, 1, 0), (3, 5, 1024), (7, 13, 1025), (20, 31, 4000), (300, 1030, 65), (2, 3, 140_000)] {
        let (a, b) = (large_whole_numbers(1, m * k), large_whole_numbers(2, k * n));
        let mut c = vec![f32::NAN; m * n];
        kernel!(i8, f32, Layout::Nt, identity)
            .launch(
                MatrixView::from_slice(&a, m, k).unwrap(),
                MatrixView::from_slice(&b, n, k).unwrap(),
                MatrixViewMut::from_slice(&mut c, m, n).unwrap(),
            )
            .unwrap();
        for (at, value) in c.iter().enumerate() {
            let (a, b) = (&a[at / n * k..][..k], &b[at % n * k..][..k]);
            // Beyond 2³¹ a sum wraps around, as the GPU's does.
            let sum = a.iter().zip(b).fold(0i32, |sum, (a, b)| sum.wrapping_add(i32::from(*a) * i32::from(*b)));
            assert_eq!(*value, sum as f32, "{m}x{n}x{k}, element {at}");
        }
    }
}

#[test]
fn products_of_whole_numbers_match_f64_sums_in_every_output_type() {
    check_all_layouts::<i8, bf16>();
    check_all_layouts::<i8, f16>();
    check_all_layouts::<i8, f32>();
}

#[test]
fn f16_products_match_f64_sums_in_every_output_type() {
    check_all_layouts::<f16, bf16>();
    check_all_layouts::<f16, f16>();
    check_all_layouts::<f16, f32>();
}

#[test]
fn f32_products_match_f64_sums() {
    check_all_layouts::<f32, f32>();
}

#[test]
fn small_integers_are_bit_exact() {
    let shape = extents(130, 70, 300);
    // Products of up to 16 in magnitude, 300 of them: every sum is exact in `f32`.
    let integers = |seed, len| -> Vec<bf16> {
        values::<bf16>(seed, len).iter().map(|value| bf16::from_f32((value.to_f32() * 4.0).round())).collect()
    };
    let (a, b) = (integers(3, 130 * 300), integers(4, 300 * 70));
    let mut c = vec![0.0f32; 130 * 70];
    kernel!(bf16, f32, Layout::Nn, identity)
        .launch(
            MatrixView::from_slice(&a, 130, 300).unwrap(),
            MatrixView::from_slice(&b, 300, 70).unwrap(),
            MatrixViewMut::from_slice(&mut c, 130, 70).unwrap(),
        )
        .unwrap();
    for (value, (sum, _)) in c.iter().zip(reference(shape, Layout::Nn, &a, 300, &b, 70)) {
        assert_eq!(f64::from(*value), sum);
    }
}

#[test]
fn the_sum_is_kept_in_f32_where_16_bits_would_lose_it() {
    // 1 + 4096 * 2^-12 = 2; every partial sum in bf16 (or f16) would stay at 1.
    let k = 4097;
    let mut a = vec![f16::from_f32(2f32.powi(-12)); k];
    a[0] = f16::ONE;
    let b = vec![f16::ONE; k];
    let mut c = [f16::ZERO];
    kernel!(f16, f16, Layout::Nn, identity)
        .launch(
            MatrixView::from_slice(&a, 1, k).unwrap(),
            MatrixView::from_slice(&b, k, 1).unwrap(),
            MatrixViewMut::from_slice(&mut c, 1, 1).unwrap(),
        )
        .unwrap();
    assert_eq!(c[0].to_f32(), 2.0);
}

#[test]
fn the_epilogue_sees_the_sum_before_it_is_rounded() {
    // The sum 1 + 2^-10 rounds to 1 in bf16; the epilogue must still see the difference.
    let a = [bf16::ONE, bf16::from_f32(2f32.powi(-10))];
    let b = [bf16::ONE, bf16::ONE];
    let mut c = [bf16::ZERO];
    kernel!(bf16, bf16, Layout::Nn, |x| (x - 1.0) * 1024.0)
        .launch(
            MatrixView::from_slice(&a, 1, 2).unwrap(),
            MatrixView::from_slice(&b, 2, 1).unwrap(),
            MatrixViewMut::from_slice(&mut c, 1, 1).unwrap(),
        )
        .unwrap();
    assert_eq!(c[0].to_f32(), 1.0);
}

#[test]
fn k_of_zero_gives_the_epilogue_of_zero() {
    for layout in Layout::ALL {
        let device = Device::cpu();
        let a = if layout.transpose_a() { Matrix::zeros(&device, 0, 5) } else { Matrix::zeros(&device, 5, 0) }.unwrap();
        let b = if layout.transpose_b() { Matrix::zeros(&device, 3, 0) } else { Matrix::zeros(&device, 0, 3) }.unwrap();
        let mut c = Matrix::<f32>::from_slice(&device, &[f32::NAN; 15], 5, 3).unwrap();
        kernel!(bf16, f32, layout, |x| x + 0.5).launch(&a, &b, &mut c).unwrap();
        assert_eq!(c.to_vec().unwrap(), [0.5; 15]);
    }
}

#[test]
fn an_output_without_elements_is_no_fault() {
    let device = Device::cpu();
    for (m, n) in [(0, 4), (4, 0), (0, 0)] {
        let a = Matrix::<f16>::zeros(&device, m, 8).unwrap();
        let b = Matrix::<f16>::zeros(&device, 8, n).unwrap();
        let mut c = Matrix::<f16>::zeros(&device, m, n).unwrap();
        kernel!(f16, f16, Layout::Nn, identity).launch(&a, &b, &mut c).unwrap();
    }
}

/// One random product: its shape, where its views begin, and how much longer than a row their strides are.
#[derive(Debug, Clone)]
struct Strided {
    shape: (usize, usize, usize),
    offsets: [(usize, usize); 3],
    padding: [usize; 3],
    layout: Layout,
}

fn strided() -> impl Strategy<Value = Strided> {
    let offset = || (0usize..4, 0usize..10);
    (
        (1usize..70, 1usize..70, 0usize..70),
        [offset(), offset(), offset()],
        [0usize..9, 0usize..9, 0usize..9],
        prop::sample::select(&Layout::ALL[..]),
    )
        .prop_map(|(shape, offsets, padding, layout)| Strided { shape, offsets, padding, layout })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn strided_sub_views_are_read_and_written_where_they_are_and_nowhere_else(case in strided()) {
        let (m, n, k) = case.shape;
        let a_size = if case.layout.transpose_a() { (k, m) } else { (m, k) };
        let b_size = if case.layout.transpose_b() { (n, k) } else { (k, n) };
        // Each matrix lies inside a larger one, at an offset, with some columns to its right.
        let outer = |which: usize, (rows, columns): (usize, usize)| {
            let (first_row, first_column) = case.offsets[which];
            (first_row + rows + 1, first_column + columns + case.padding[which])
        };
        let (a_outer, b_outer, c_outer) = (outer(0, a_size), outer(1, b_size), outer(2, (m, n)));
        let a = values::<bf16>(5, a_outer.0 * a_outer.1);
        let b = values::<bf16>(6, b_outer.0 * b_outer.1);
        let mut c = vec![-7.0f32; c_outer.0 * c_outer.1];

        let inner = |which: usize, (rows, columns): (usize, usize)| {
            let (r, s) = case.offsets[which];
            (r..r + rows, s..s + columns)
        };
        let view = |data, size, part: (std::ops::Range<usize>, std::ops::Range<usize>)| {
            let (rows, columns): (usize, usize) = size;
            MatrixView::from_slice(data, rows, columns).unwrap().rows(part.0).unwrap().columns(part.1).unwrap()
        };
        let (a_view, b_view) = (view(&a, a_outer, inner(0, a_size)), view(&b, b_outer, inner(1, b_size)));
        let (c_rows, c_columns) = inner(2, (m, n));
        {
            let mut whole = MatrixViewMut::from_slice(&mut c, c_outer.0, c_outer.1).unwrap();
            let mut rows = whole.rows(c_rows.clone()).unwrap();
            let part = rows.columns(c_columns.clone()).unwrap();
            kernel!(bf16, f32, case.layout, leaky_relu).launch(&a_view, &b_view, part).unwrap();
        }

        let dense_a = a_view.to_vec().unwrap();
        let dense_b = b_view.to_vec().unwrap();
        let shape = extents(m as u32, n as u32, k as u32);
        let expected = reference(shape, case.layout, &dense_a, a_size.1, &dense_b, b_size.1);
        let mut inside = Vec::new();
        for (index, value) in c.iter().enumerate() {
            let (row, column) = (index / c_outer.1, index % c_outer.1);
            if c_rows.contains(&row) && c_columns.contains(&column) {
                inside.push(*value);
            } else {
                prop_assert_eq!(*value, -7.0, "written outside at {}, {}", row, column);
            }
        }
        compare(shape, &inside, &expected, leaky_relu);
    }
}
