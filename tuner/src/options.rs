//! Values that several commands' options take.

use autokernel_codegen::matmul::DIMS;
use autokernel_codegen::problem::dims_of_rank;
use autokernel_core::{Extents, ParseExtentsError};

/// A number from 0 up.
pub fn not_negative(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| format!("`{text}` is not a number from 0 up"))
}

/// The extents of a matrix product, `4096x1024x512`, or of the operation that has as many dimensions as there are sizes.
pub fn shape(text: &str) -> Result<Extents, ParseExtentsError> {
    Extents::parse(text, dims_of_rank(text.split('x').count()).unwrap_or(&DIMS))
}

#[cfg(test)]
mod tests {
    use autokernel_core::dim;

    use super::*;

    #[test]
    fn a_shape_is_of_the_operation_that_has_as_many_dimensions() {
        let of = |sizes: &[(&str, u32)]| Extents::collect(sizes.iter().map(|&(name, size)| (dim(name), size)));
        assert_eq!(shape("3x4x5").ok(), of(&[("m", 3), ("n", 4), ("k", 5)]));
        assert_eq!(shape("3x4").ok(), of(&[("rows", 3), ("columns", 4)]));
        assert!(shape("3").unwrap_err().to_string().contains("MxNxK"));
    }
}
