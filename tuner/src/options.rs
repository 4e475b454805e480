//! Values that several commands' options take.

use autokernel_codegen::matmul::DIMS;
use autokernel_core::{Extents, ParseExtentsError};

/// A number from 0 up.
pub fn not_negative(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| format!("`{text}` is not a number from 0 up"))
}

/// The extents of a matrix product, `4096x1024x512`.
pub fn shape(text: &str) -> Result<Extents, ParseExtentsError> {
    Extents::parse(text, &DIMS)
}
