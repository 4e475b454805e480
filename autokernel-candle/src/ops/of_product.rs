//! What a product with a weight gives.

use candle_core::Shape;

use crate::source::Source;
use crate::{Error, Result};

/// The shape `[.., n]` of `x · wᵀ`, and as a matrix.
///
/// # Errors
/// [`Error::Shape`] of what is no weight, and of a scalar `x`.
pub fn of_product(x: Source<'_>, w: Source<'_>) -> Result<(Shape, [usize; 2])> {
    let &[n, _] = w.dims() else {
        return Err(Error::Shape { shape: w.dims().to_vec(), expected: "weight of [out, in]" });
    };
    let [leading @ .., _] = x.dims() else {
        return Err(Error::Shape { shape: Vec::new(), expected: "input of [.., in]" });
    };
    Ok((Shape::from([leading, &[n]].concat()), [leading.iter().product(), n]))
}
