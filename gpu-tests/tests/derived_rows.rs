//! Kernels of gradients by the way of a user: what `backward` declares, beside the formula that people know.
//!
//! That each is its own body wherever operands lie, `declared_rows` checks; that such bodies are gradients, `random-bodies` and the
//! tests of `autokernel-ops`.

use autokernel::{Arch, Column, Device, Emulation, Matrix, Row, bf16};
use gpu_tests::rows::derived::{normalised, softened};
use gpu_tests::skip;

const ROWS: usize = 5;
const COLUMNS: usize = 77;

fn numbers(of: usize, salt: usize) -> Vec<f32> {
    (0..of).map(|at| ((at * 37 + salt * 101) % 64) as f32 / 16.0 - 2.0).collect()
}

fn check(device: &Device) {
    softmax(device);
    norm(device);
}

fn softmax(device: &Device) {
    let (x, dy) = (numbers(ROWS * COLUMNS, 1), numbers(ROWS * COLUMNS, 2));
    let matrix = |values: &[f32]| Matrix::from_slice(device, values, ROWS, COLUMNS).unwrap();
    let mut dx = Matrix::<f32>::zeros(device, ROWS, COLUMNS).unwrap();
    softened::backward(&matrix(&x), &matrix(&dy), &mut dx).unwrap();
    let found = dx.to_vec().unwrap();
    for row in 0..ROWS {
        let of_row = |values: &[f32]| -> Vec<f64> {
            values[row * COLUMNS..][..COLUMNS].iter().map(|&value| f64::from(value)).collect()
        };
        let (x, dy, found) = (of_row(&x), of_row(&dy), of_row(&found));
        let sum: f64 = x.iter().map(|x| x.exp()).sum();
        let y: Vec<f64> = x.iter().map(|x| x.exp() / sum).collect();
        let shared: f64 = y.iter().zip(&dy).map(|(y, dy)| y * dy).sum();
        for column in 0..COLUMNS {
            let expected = y[column] * (dy[column] - shared);
            assert!((found[column] - expected).abs() < 1e-6, "{row}, {column}: {} is not {expected}", found[column]);
        }
    }
}

fn norm(device: &Device) {
    let (x, dy) = (numbers(ROWS * COLUMNS, 3), numbers(ROWS * COLUMNS, 4));
    let matrix = |values: &[f32]| {
        let values: Vec<bf16> = values.iter().copied().map(bf16::from_f32).collect();
        Matrix::from_slice(device, &values, ROWS, COLUMNS).unwrap()
    };
    let (x_matrix, dy_matrix) = (matrix(&x), matrix(&dy));
    let weight = Row::from_slice(device, &numbers(COLUMNS, 5)).unwrap();
    let mut dx = Matrix::<bf16>::zeros(device, ROWS, COLUMNS).unwrap();
    let [mut mean, mut deviation] = [(); 2].map(|()| Column::<f32>::zeros(device, ROWS).unwrap());
    normalised::backward(&x_matrix, &weight, 1e-5, &dy_matrix, &mut dx, &mut mean, &mut deviation).unwrap();
    let (mut dweight, mut dbias) =
        (Row::<f32>::zeros(device, COLUMNS).unwrap(), Row::<bf16>::zeros(device, COLUMNS).unwrap());
    normalised::backward_rows(&x_matrix, &dy_matrix, &mean, &deviation, &mut dweight, &mut dbias).unwrap();

    let at = |values: &[f32], row: usize, column: usize| f64::from(values[row * COLUMNS + column]);
    let statistics = |row: usize| {
        let mean = (0..COLUMNS).map(|column| at(&x, row, column)).sum::<f64>() / COLUMNS as f64;
        let variance = (0..COLUMNS).map(|column| (at(&x, row, column) - mean).powi(2)).sum::<f64>() / COLUMNS as f64;
        (mean, (variance + 1e-5).sqrt())
    };
    let (dx, weight) = (dx.to_vec().unwrap(), numbers(COLUMNS, 5));
    for row in 0..ROWS {
        let (mean, deviation) = statistics(row);
        let of_normalised = |column: usize| at(&dy, row, column) * f64::from(weight[column]);
        let normalised = |column: usize| (at(&x, row, column) - mean) / deviation;
        let mean_of = |of: &dyn Fn(usize) -> f64| (0..COLUMNS).map(of).sum::<f64>() / COLUMNS as f64;
        let shared = mean_of(&of_normalised);
        let along = mean_of(&|column| of_normalised(column) * normalised(column));
        for column in 0..COLUMNS {
            let expected = (of_normalised(column) - shared - normalised(column) * along) / deviation;
            let found = f64::from(dx[row * COLUMNS + column].to_f32());
            // A bf16 has 8 bits.
            let tolerance = expected.abs() / 256.0 + 1e-5;
            assert!((found - expected).abs() <= tolerance, "{row}, {column}: {found} is not {expected}");
        }
    }
    let (dweight, dbias) = (dweight.to_vec().unwrap(), dbias.to_vec().unwrap());
    for column in 0..COLUMNS {
        let rows = 0..ROWS;
        let bias: f64 = rows.clone().map(|row| at(&dy, row, column)).sum();
        let of_weight = |row: usize| {
            let (mean, deviation) = statistics(row);
            at(&dy, row, column) * (at(&x, row, column) - mean) / deviation
        };
        let expected: f64 = rows.map(of_weight).sum();
        assert!(
            (f64::from(dweight[column]) - expected).abs() < 1e-5,
            "{column}: {} is not {expected}",
            dweight[column]
        );
        assert_eq!(dbias[column], bf16::from_f64(bias), "{column}");
    }
}

#[test]
fn gradients_are_the_formulas_that_people_know_on_the_cpu() {
    check(&Device::cpu());
}

#[test]
fn gradients_are_the_formulas_that_people_know_on_an_emulated_gpu_of_each_arch() {
    if let Some(reason) = softened::backward::kernel::<f32>().descriptor().unwrap().not_compiled.clone() {
        let test = "derived_rows::gradients_are_the_formulas_that_people_know_on_an_emulated_gpu_of_each_arch";
        return skip::log(test, &reason);
    }
    for arch in [Arch::SM_80, Arch::SM_90A] {
        check(&Device::emulated_with(Emulation::new(arch).seed(5)).unwrap());
    }
}
