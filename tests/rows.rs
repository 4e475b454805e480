//! The built-in row-wise kernels on the CPU, against the same in fp64.

#![cfg(feature = "rows")]

use autokernel::{Column, Device, Matrix, MatrixView, MatrixViewMut, Row, bf16, builtin};
use proptest::prelude::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const EPS: f32 = 1e-5;

/// A matrix whose rows lie apart, with its elements in fp64.
struct Ragged {
    data: Vec<bf16>,
    rows: usize,
    columns: usize,
    ld: usize,
}

impl Ragged {
    fn random(rng: &mut StdRng, rows: usize, columns: usize, gap: usize) -> Self {
        let ld = columns + gap;
        let data = (0..rows * ld).map(|_| bf16::from_f32(rng.random_range(-4.0..4.0))).collect();
        Ragged { data, rows, columns, ld }
    }

    /// Where every element is NaN, those between the rows too.
    fn poison(rows: usize, columns: usize, gap: usize) -> Self {
        let ld = columns + gap;
        Ragged { data: vec![bf16::NAN; rows * ld], rows, columns, ld }
    }

    fn view(&self) -> MatrixView<'_, bf16> {
        MatrixView::from_slice_with_ld(&self.data, self.rows, self.columns, self.ld).unwrap()
    }

    fn view_mut(&mut self) -> MatrixViewMut<'_, bf16> {
        MatrixViewMut::from_slice_with_ld(&mut self.data, self.rows, self.columns, self.ld).unwrap()
    }

    fn row(&self, row: usize) -> Vec<f64> {
        self.data[row * self.ld..][..self.columns].iter().map(|element| element.to_f64()).collect()
    }

    /// Each row is `expected`, rounded, and what lies between rows was left alone.
    #[track_caller]
    fn expect(&self, expected: impl Fn(usize) -> Vec<f64>) {
        for row in 0..self.rows {
            expect_close(&self.row(row), &expected(row), 2f64.powi(-8));
            let gap = &self.data[row * self.ld + self.columns..][..self.ld - self.columns];
            assert!(gap.iter().all(|element| element.is_nan()), "row {row} wrote behind its end");
        }
    }
}

#[track_caller]
fn expect_close(got: &[f64], expected: &[f64], relative: f64) {
    assert_eq!(got.len(), expected.len());
    for (column, (got, expected)) in got.iter().zip(expected).enumerate() {
        let tolerance = 1e-5 + relative * expected.abs();
        assert!((got - expected).abs() <= tolerance, "[{column}] is {got}, not {expected}");
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn log_sum_exp(values: &[f64]) -> f64 {
    values.iter().map(|value| value.exp()).sum::<f64>().ln()
}

fn rms_norm(values: &[f64], weight: &[f64]) -> Vec<f64> {
    let root = (values.iter().map(|value| value * value).sum::<f64>() / values.len() as f64 + f64::from(EPS)).sqrt();
    values.iter().zip(weight).map(|(value, weight)| value / root * weight).collect()
}

/// What the tests of one shape need.
struct Case {
    x: Ragged,
    y: Ragged,
    out: Ragged,
    weight: Row<bf16>,
    bias: Row<bf16>,
    column: Column<f32>,
}

impl Case {
    fn new(rows: usize, columns: usize, gap: usize, seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let device = Device::cpu();
        let mut row = || {
            let data: Vec<bf16> = (0..columns).map(|_| bf16::from_f32(rng.random_range(-2.0..2.0))).collect();
            Row::from_slice(&device, &data).unwrap()
        };
        let (weight, bias) = (row(), row());
        Case {
            x: Ragged::random(&mut rng, rows, columns, gap),
            y: Ragged::random(&mut rng, rows, columns, 2 * gap),
            out: Ragged::poison(rows, columns, gap),
            weight,
            bias,
            column: Column::zeros(&device, rows).unwrap(),
        }
    }

    fn expect_column(&self, expected: impl Fn(&[f64]) -> f64) {
        let got: Vec<f64> = self.column.to_vec().unwrap().into_iter().map(f64::from).collect();
        let expected: Vec<f64> = (0..self.x.rows).map(|row| expected(&self.x.row(row))).collect();
        expect_close(&got, &expected, 1e-5);
    }
}

fn to_f64(row: &Row<bf16>) -> Vec<f64> {
    row.to_vec().unwrap().into_iter().map(f64::from).collect()
}

/// One test for each kernel: `|case| launch and expectation` on random shapes, gaps and numbers.
macro_rules! on_random_shapes {
    ($($name:ident: |$case:ident| $check:block)+) => {
        proptest! {
            #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
            $(
                #[test]
                fn $name(rows in 1usize..40, columns in 1usize..300, gap in 0usize..9, seed: u64) {
                    let mut $case = Case::new(rows, columns, gap, seed);
                    $check
                }
            )+
        }
    };
}

on_random_shapes! {
    softmax_is_that_of_fp64_whatever_the_shape: |case| {
        builtin::softmax::launch(case.x.view(), case.out.view_mut()).unwrap();
        case.out.expect(|row| {
            let (x, log) = (case.x.row(row), log_sum_exp(&case.x.row(row)));
            x.iter().map(|value| (value - log).exp()).collect()
        });
    }

    log_softmax_is_that_of_fp64_whatever_the_shape: |case| {
        builtin::log_softmax::launch(case.x.view(), case.out.view_mut()).unwrap();
        case.out.expect(|row| {
            let (x, log) = (case.x.row(row), log_sum_exp(&case.x.row(row)));
            x.iter().map(|value| value - log).collect()
        });
    }

    rms_norm_is_that_of_fp64_whatever_the_shape: |case| {
        builtin::rms_norm::launch(case.x.view(), &case.weight, EPS, case.out.view_mut()).unwrap();
        case.out.expect(|row| rms_norm(&case.x.row(row), &to_f64(&case.weight)));
    }

    add_rms_norm_is_that_of_fp64_and_leaves_the_sum: |case| {
        let mut sum = Ragged::poison(case.x.rows, case.x.columns, 3);
        let (x, skip) = (case.x.view(), case.y.view());
        builtin::add_rms_norm::launch(x, skip, &case.weight, EPS, sum.view_mut(), case.out.view_mut()).unwrap();
        let added = |row| -> Vec<f64> { case.x.row(row).iter().zip(case.y.row(row)).map(|(x, y)| x + y).collect() };
        sum.expect(added);
        case.out.expect(|row| rms_norm(&added(row), &to_f64(&case.weight)));
    }

    layer_norm_is_that_of_fp64_whatever_the_shape: |case| {
        builtin::layer_norm::launch(case.x.view(), &case.weight, &case.bias, EPS, case.out.view_mut()).unwrap();
        case.out.expect(|row| {
            let x = case.x.row(row);
            let centred: Vec<f64> = x.iter().map(|value| value - mean(&x)).collect();
            let scaled = rms_norm(&centred, &to_f64(&case.weight));
            scaled.iter().zip(to_f64(&case.bias)).map(|(value, bias)| value + bias).collect()
        });
    }

    silu_mul_is_that_of_fp64_whatever_the_shape: |case| {
        builtin::silu_mul::launch(case.x.view(), case.y.view(), case.out.view_mut()).unwrap();
        case.out.expect(|row| {
            let (gate, up) = (case.x.row(row), case.y.row(row));
            gate.iter().zip(up).map(|(gate, up)| gate / (1.0 + (-gate).exp()) * up).collect()
        });
    }

    gelu_is_half_of_x_times_one_plus_erf: |case| {
        builtin::gelu::launch(case.x.view(), case.out.view_mut()).unwrap();
        // Abramowitz and Stegun, 7.1.26, is off by up to 1.5e-7.
        let erf = |x: f64| {
            let t = 1.0 / (1.0 + 0.327_591_1 * x.abs());
            let series = [1.061_405_429, -1.453_152_027, 1.421_413_741, -0.284_496_736, 0.254_829_592];
            let polynomial = series.into_iter().fold(0.0, |sum, coefficient| (sum + coefficient) * t);
            (1.0 - polynomial * (-x * x).exp()).copysign(x)
        };
        case.out.expect(|row| {
            case.x.row(row).iter().map(|x| 0.5 * x * (1.0 + erf(x / 2f64.sqrt()))).collect()
        });
    }

    log_sum_exp_is_that_of_fp64_whatever_the_shape: |case| {
        builtin::log_sum_exp::launch(case.x.view(), &mut case.column).unwrap();
        case.expect_column(log_sum_exp);
    }

    a_row_sum_is_that_of_fp64_whatever_the_shape: |case| {
        builtin::row_sum::launch(case.x.view(), &mut case.column).unwrap();
        case.expect_column(|x| x.iter().sum());
    }

    a_row_max_is_the_greatest_element: |case| {
        builtin::row_max::launch(case.x.view(), &mut case.column).unwrap();
        case.expect_column(|x| x.iter().copied().fold(f64::NEG_INFINITY, f64::max));
    }
}

fn matrix(rows: usize, columns: usize) -> Matrix<bf16> {
    Matrix::zeros(&Device::cpu(), rows, columns).unwrap()
}

#[test]
fn the_declared_function_takes_owned_operands() {
    let device = Device::cpu();
    let x = Matrix::from_slice(&device, &[1.0, 2.0, 3.0, 4.0].map(bf16::from_f32), 2, 2).unwrap();
    let weight = Row::from_slice(&device, &[1.0, 2.0].map(bf16::from_f32)).unwrap();
    let mut out = matrix(2, 2);
    builtin::rms_norm(&x, &weight, 0.0, &mut out).unwrap();
    let root = f64::from(12.5f32).sqrt();
    let expected: Vec<f64> = vec![3.0 / root, 8.0 / root];
    let got: Vec<f64> = out.to_vec().unwrap()[2..].iter().map(|element| element.to_f64()).collect();
    expect_close(&got, &expected, 2f64.powi(-8));
}

#[test]
fn many_rows_are_shared_out_and_none_is_lost() {
    let (rows, columns) = (1000, 257);
    let mut case = Case::new(rows, columns, 3, 7);
    builtin::softmax::launch(case.x.view(), case.out.view_mut()).unwrap();
    for row in 0..rows {
        let sum: f64 = case.out.row(row).iter().sum();
        assert!((sum - 1.0).abs() < 0.01, "row {row} sums to {sum}");
    }
}

#[test]
fn shapes_that_do_not_fit_are_refused_by_name() {
    let (x, mut out, mut column) = (matrix(4, 8), matrix(4, 8), Column::zeros(&Device::cpu(), 5).unwrap());
    let error = builtin::row_sum(&x, &mut column).unwrap_err().to_string();
    assert!(error.contains("`rows` is 4 by the rows of `x` (4x8) and 5 by the length of `out`"), "{error}");
    let weight = Row::from_slice(&Device::cpu(), &[bf16::ONE; 9]).unwrap();
    let error = builtin::rms_norm(&x, &weight, EPS, &mut out).unwrap_err().to_string();
    assert!(error.contains("`columns` is 8 by the columns of `x` (4x8) and 9 by the length of `weight`"), "{error}");
}

#[test]
fn a_matrix_without_elements_is_no_error() {
    let (x, mut out) = (matrix(0, 8), matrix(0, 8));
    builtin::softmax(&x, &mut out).unwrap();
    let (x, mut sums) = (matrix(3, 0), Column::from_slice(&Device::cpu(), &[1.0f32; 3]).unwrap());
    builtin::row_sum(&x, &mut sums).unwrap();
    assert_eq!(sums.to_vec().unwrap(), [0.0; 3]);
}

#[test]
fn infinities_and_nan_go_where_the_body_sends_them() {
    let x = [f32::NEG_INFINITY, 0.0, f32::NAN, 1.0].map(bf16::from_f32);
    let x = Matrix::from_slice(&Device::cpu(), &x, 2, 2).unwrap();
    let mut out = matrix(2, 2);
    builtin::softmax(&x, &mut out).unwrap();
    let out = out.to_vec().unwrap();
    assert_eq!((out[0], out[1]), (bf16::ZERO, bf16::ONE));
    assert!(out[2].is_nan() && out[3].is_nan());
}
