//! The built-in gated layer on the CPU, against the same in fp64.

#![cfg(feature = "swiglu")]

use autokernel::{Device, Matrix, bf16, builtin};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

fn random(rng: &mut StdRng, rows: usize, columns: usize) -> Vec<bf16> {
    (0..rows * columns).map(|_| bf16::from_f32(rng.random_range(-1.0..1.0))).collect()
}

#[test]
fn weights_apart_and_stacked_give_the_gated_product_of_any_shape() {
    let (device, mut rng) = (Device::cpu(), StdRng::seed_from_u64(14));
    for (m, n, k) in [(1, 1, 1), (5, 17, 33), (33, 8, 70), (2, 64, 0)] {
        let (x, weights) = (random(&mut rng, m, k), random(&mut rng, 2 * n, k));
        let dot = |row: usize, column: usize| -> f64 {
            (0..k).map(|at| x[row * k + at].to_f64() * weights[column * k + at].to_f64()).sum()
        };
        let stacked = Matrix::from_slice(&device, &weights, 2 * n, k).unwrap();
        let x = Matrix::from_slice(&device, &x, m, k).unwrap();
        let mut out: Matrix<bf16> = Matrix::zeros(&device, m, n).unwrap();
        let stacked = stacked.view();
        builtin::swiglu::launch(&x, stacked.rows(..n).unwrap(), stacked.rows(n..).unwrap(), &mut out).unwrap();
        for (at, got) in out.to_vec().unwrap().into_iter().enumerate() {
            let (gate, up) = (dot(at / n, at % n), dot(at / n, n + at % n));
            let expected = gate / (1.0 + (-gate).exp()) * up;
            let error = (got.to_f64() - expected).abs();
            assert!(error <= 2f64.powi(-8) * expected.abs() + 1e-5, "{m}x{n}x{k}, {at}: {got} and not {expected}");
        }
    }
}
