//! Values that several commands' options take.

use std::ffi::OsStr;
use std::marker::PhantomData;
use std::str::FromStr;

use autokernel_codegen::matmul::DIMS;
use autokernel_codegen::problem::dims_of_rank;
use autokernel_core::{Extents, ParseExtentsError};
use clap::builder::TypedValueParser;
use clap::error::ErrorKind;
use clap::{Arg, Command};

/// Parses a value that holds a secret: unlike clap's own, its errors do not repeat it.
#[derive(Clone, Debug)]
pub struct Unrepeated<T>(PhantomData<T>);

impl<T> Unrepeated<T> {
    /// A parser.
    pub const fn new() -> Self {
        Unrepeated(PhantomData)
    }
}

impl<T> TypedValueParser for Unrepeated<T>
where
    T: FromStr<Err = &'static str> + Clone + Send + Sync + 'static,
{
    type Value = T;

    fn parse_ref(&self, command: &Command, _: Option<&Arg>, value: &OsStr) -> Result<T, clap::Error> {
        let parsed = value.to_str().ok_or("the URL is no text").and_then(str::parse);
        parsed.map_err(|reason| clap::Error::raw(ErrorKind::ValueValidation, format!("{reason}\n")).with_cmd(command))
    }
}

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
