//! The product in fp64, by the `matrixmultiply` crate.

use autokernel::{Extents, matmul};
use rayon::prelude::*;

/// `a · b` with `a: [m, k]` and `b: [k, n]`, or `[n, k]` if `transpose_b`, all without gaps.
///
/// # Panics
/// The matrices are not of that shape.
pub fn product(shape: &Extents, transpose_b: bool, a: &[f64], b: &[f64]) -> Vec<f64> {
    let [m, n, k] = matmul::sizes(shape).map(|size| size as usize);
    assert_eq!((a.len(), b.len()), (m * k, n * k), "operands of a {shape} product");
    let mut sums = vec![0.0f64; m * n];
    if k == 0 || m == 0 || n == 0 {
        return sums;
    }
    let (b_row, b_column) = if transpose_b { (1, k as isize) } else { (n as isize, 1) };
    let rows = m.div_ceil(rayon::current_num_threads());
    sums.par_chunks_mut(rows * n).zip(a.par_chunks(rows * k)).for_each(|(sums, a)| {
        let (m, k_stride, n_stride) = (sums.len() / n, k as isize, n as isize);
        // SAFETY: `a` holds m×k elements and `sums` m×n, both by rows without gaps, and the length of b, k×n or n×k, was
        // asserted above; `sums` is borrowed by nothing else.
        unsafe {
            matrixmultiply::dgemm(
                m,
                k,
                n,
                1.0,
                a.as_ptr(),
                k_stride,
                1,
                b.as_ptr(),
                b_row,
                b_column,
                0.0,
                sums.as_mut_ptr(),
                n_stride,
                1,
            );
        }
    });
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn it_is_the_sum_over_k_of_products() {
        let mut rng = StdRng::seed_from_u64(2);
        for (m, n, k) in [(1, 1, 1), (5, 3, 7), (17, 33, 65), (64, 1, 40), (1, 50, 9), (4, 6, 0)] {
            for transpose_b in [false, true] {
                let a: Vec<f64> = (0..m * k).map(|_| rng.random_range(-1.0..1.0)).collect();
                let b: Vec<f64> = (0..n * k).map(|_| rng.random_range(-1.0..1.0)).collect();
                let sums = product(&matmul::extents(m as u32, n as u32, k as u32), transpose_b, &a, &b);
                for (at, sum) in sums.iter().enumerate() {
                    let (row, column) = (at / n, at % n);
                    let b_at = |i: usize| if transpose_b { b[column * k + i] } else { b[i * n + column] };
                    let expected: f64 = (0..k).map(|i| a[row * k + i] * b_at(i)).sum();
                    assert!((sum - expected).abs() < 1e-12, "{m}x{n}x{k} at {row},{column}: {sum} and {expected}");
                }
            }
        }
    }
}
