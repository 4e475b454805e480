//! The size of one matrix product.

use std::fmt;

/// `C[m, n] = A[m, k] · B[k, n]`: the three extents of a matrix product, in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Rows of A and of C.
    pub m: u32,
    /// Columns of C.
    pub n: u32,
    /// Columns of A: the extent that is summed over.
    pub k: u32,
}

impl Shape {
    /// The largest extent a kernel takes.
    ///
    /// The kernels count in 32-bit signed integers and round up to whole tiles; the gap to 2³¹ leaves room for that.
    pub const MAX_EXTENT: u32 = i32::MAX as u32 - 0xffff;

    /// A shape from its three extents.
    pub const fn new(m: u32, n: u32, k: u32) -> Self {
        Self { m, n, k }
    }

    /// Floating-point operations of the product: one multiplication and one addition for each `(m, n, k)`.
    pub const fn flops(self) -> u128 {
        2 * self.m as u128 * self.n as u128 * self.k as u128
    }

    /// Natural logarithms of the extents; an extent of 0 counts as 1.
    pub(crate) fn ln(self) -> [f64; 3] {
        [self.m, self.n, self.k].map(|extent| f64::from(extent.max(1)).ln())
    }

    /// How far apart two shapes are: the Euclidean distance of their extents' natural logarithms.
    ///
    /// A factor counts, not a difference: 128 is as far from 256 as 4096 is from 8192. 0 means equal shapes.
    pub fn distance(self, other: Self) -> f64 {
        log_distance(self.ln(), other.ln())
    }
}

/// Euclidean distance of two shapes given as [`Shape::ln`].
pub(crate) fn log_distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.m, self.n, self.k)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_prints_as_m_n_k() {
        assert_eq!(Shape::new(4096, 11008, 1).to_string(), "4096x11008x1");
    }

    #[test]
    fn distance_counts_factors_and_not_differences() {
        let small = Shape::new(128, 1, 1).distance(Shape::new(256, 1, 1));
        let large = Shape::new(4096, 1, 1).distance(Shape::new(8192, 1, 1));
        assert!((small - large).abs() < 1e-12);
        assert!((small - 2f64.ln()).abs() < 1e-12);
        assert_eq!(Shape::new(0, 5, 7).distance(Shape::new(1, 5, 7)), 0.0);
    }

    #[test]
    fn flops_of_the_largest_shape_do_not_overflow() {
        let max = Shape::MAX_EXTENT;
        assert_eq!(Shape::new(max, max, max).flops(), 2 * u128::from(max).pow(3));
    }
}
