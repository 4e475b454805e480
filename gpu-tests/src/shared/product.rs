//! A product of integers that is held exactly.

use autokernel::{Argument, CompiledKernel, Device, Extents, Matrix, bf16, matmul};

use crate::host::{HostMatrix, Values};
use crate::place::Place;
use crate::reference;

/// Integers, and what their product is.
pub struct Product {
    x: Matrix<bf16>,
    w: Matrix<bf16>,
    expected: Vec<bf16>,
    /// M, N and K.
    pub sizes: [usize; 3],
}

impl Product {
    /// Drawn by a seed.
    ///
    /// # Panics
    /// The driver refuses something.
    pub fn new(device: &Device, shape: Extents, seed: u64) -> Self {
        let sizes @ [m, n, k] = matmul::sizes(&shape).map(|size| size as usize);
        let drawn = |rows, columns, seed| -> Vec<bf16> {
            HostMatrix::filled(Place::dense(rows, columns), Values::Integers, seed).elements().collect()
        };
        let (x, w) = (drawn(m, k, seed), drawn(n, k, seed + 1));
        let wide = |values: &[bf16]| -> Vec<f64> { values.iter().map(|value| value.to_f64()).collect() };
        let sums = reference::product(&shape, matmul::Layout::Nt, &wide(&x), &wide(&w));
        let expected = sums.into_iter().map(|sum| bf16::from_f32(sum as f32)).collect();
        let there = |values: &[bf16], rows| Matrix::from_slice(device, values, rows, k).unwrap();
        Product { x: there(&x, m), w: there(&w, n), expected, sizes }
    }

    /// Where a result goes, of zeros.
    ///
    /// # Panics
    /// As [`Product::new`].
    pub fn output(&self, device: &Device) -> Matrix<bf16> {
        Matrix::zeros(device, self.sizes[0], self.sizes[1]).unwrap()
    }

    /// Launches `kernel` on it.
    ///
    /// # Panics
    /// As [`Product::new`].
    pub fn launch(&self, kernel: &CompiledKernel, device: &Device, out: &mut Matrix<bf16>) {
        let mut arguments = [Argument::from(&self.x), Argument::from(&self.w), Argument::from(out)];
        kernel.launch(device, &mut arguments).unwrap();
    }

    /// Holds a result against the product.
    ///
    /// # Panics
    /// It is another.
    pub fn check(&self, out: &Matrix<bf16>, what: &str) {
        assert!(out.to_vec().unwrap() == self.expected, "{what}");
    }
}
