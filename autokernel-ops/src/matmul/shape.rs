//! The size of one matrix product.

use std::fmt;
use std::str::FromStr;

use autokernel_core::{Extents, dim};
use serde::{Deserialize, Serialize};

/// `C[m, n] = A[m, k] · B[k, n]`, in elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// Rows of `A` and `C`.
    pub m: u32,
    /// Columns of `C`.
    pub n: u32,
    /// Columns of `A`: the reduced dimension.
    pub k: u32,
}

impl Shape {
    /// Multiply-adds counted as two operations: `2·m·n·k`.
    pub fn flops(self) -> f64 {
        2.0 * f64::from(self.m) * f64::from(self.n) * f64::from(self.k)
    }
}

impl From<Shape> for Extents {
    fn from(Shape { m, n, k }: Shape) -> Self {
        Extents::new([(dim("m"), m), (dim("n"), n), (dim("k"), k)])
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}x{}", self.m, self.n, self.k)
    }
}

/// A shape that could not be read.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is not a shape; write MxNxK in elements, each at least 1, for example 4096x4096x4096")]
pub struct ParseShapeError(String);

impl FromStr for Shape {
    type Err = ParseShapeError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let dims: Option<Vec<u32>> =
            text.split('x').map(|dim| dim.trim().parse().ok().filter(|&dim| dim > 0)).collect();
        match dims.as_deref() {
            Some(&[m, n, k]) => Ok(Shape { m, n, k }),
            _ => Err(ParseShapeError(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_reads_back_what_it_prints() {
        let shape = Shape { m: 1, n: 22, k: 333 };
        assert_eq!(shape.to_string().parse::<Shape>().unwrap(), shape);
    }

    #[test]
    fn text_that_is_no_shape_is_refused_with_an_example() {
        for text in ["", "4096", "1x2", "1x2x3x4", "1x-2x3", "0x1x1", "axbxc"] {
            let message = text.parse::<Shape>().unwrap_err().to_string();
            assert!(message.contains("4096x4096x4096"), "{message}");
        }
    }
}
