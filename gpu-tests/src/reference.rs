//! The product in fp64, by the `matrixmultiply` crate.

use autokernel::Extents;
use autokernel::matmul::{self, Layout};
use rayon::prelude::*;

/// `a · b` with `a: [m, k]` and `b: [k, n]`, or as `layout` says transposed, all without gaps.
///
/// # Panics
/// The matrices are not of that shape.
pub fn product(shape: &Extents, layout: Layout, a: &[f64], b: &[f64]) -> Vec<f64> {
    let [m, n, k] = matmul::sizes(shape).map(|size| size as usize);
    assert_eq!((a.len(), b.len()), (m * k, n * k), "operands of a {shape} product");
    let mut sums = vec![0.0f64; m * n];
    if k == 0 || m == 0 || n == 0 {
        return sums;
    }
    let (a_row, a_column) = if layout.transpose_a() { (1, m) } else { (k, 1) };
    let (b_row, b_column) = if layout.transpose_b() { (1, k as isize) } else { (n as isize, 1) };
    let rows = m.div_ceil(rayon::current_num_threads());
    sums.par_chunks_mut(rows * n).enumerate().for_each(|(share, sums)| {
        let (m, n_stride, a) = (sums.len() / n, n as isize, &a[share * rows * a_row..]);
        // SAFETY: the lengths of a and b, whose elements lie without gaps, were asserted above, and of a's rows those from this
        // share's first one on are read; `sums` holds m×n elements by rows and is borrowed by nothing else.
        unsafe {
            matrixmultiply::dgemm(
                m,
                k,
                n,
                1.0,
                a.as_ptr(),
                a_row as isize,
                a_column as isize,
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
            for layout in Layout::ALL {
                let a: Vec<f64> = (0..m * k).map(|_| rng.random_range(-1.0..1.0)).collect();
                let b: Vec<f64> = (0..n * k).map(|_| rng.random_range(-1.0..1.0)).collect();
                let sums = product(&matmul::extents(m as u32, n as u32, k as u32), layout, &a, &b);
                for (at, sum) in sums.iter().enumerate() {
                    let (row, column) = (at / n, at % n);
                    let a_at = |i: usize| if layout.transpose_a() { a[i * m + row] } else { a[row * k + i] };
                    let b_at = |i: usize| if layout.transpose_b() { b[column * k + i] } else { b[i * n + column] };
                    let expected: f64 = (0..k).map(|i| a_at(i) * b_at(i)).sum();
                    assert!((sum - expected).abs() < 1e-12, "{m}x{n}x{k} at {row},{column}: {sum} and {expected}");
                }
            }
        }
    }
}
