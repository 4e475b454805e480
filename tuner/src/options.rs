//! Values that several commands' options take.

use std::ffi::OsStr;
use std::marker::PhantomData;
use std::str::FromStr;

use autokernel_codegen::matmul::{DIMS, GROUPED_DIMS};
use autokernel_codegen::problem::dims_of_rank;
use autokernel_core::{Dim, Extents, ParseExtentsError};
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

/// The extents of a matrix product, `4096x1024x512`, of one of groups or of a batch, `4096x1024x512x8`, or of the operation that has as many
/// dimensions as there are sizes. Which of both is for each kernel to say: [`of_dims`].
pub fn shape(text: &str) -> Result<Extents, ParseExtentsError> {
    let rank = text.split('x').count();
    let of_room = || dims_of_rank(rank).unwrap_or(&DIMS);
    Extents::parse(text, if rank == GROUPED_DIMS.len() { &GROUPED_DIMS } else { of_room() })
}

/// Whether `shape` is one of `wanted` whatever its dimensions are called, or nothing is wanted in particular.
pub fn is_wanted(wanted: &[Extents], shape: &Extents) -> bool {
    wanted.is_empty() || wanted.iter().any(|wanted| wanted.sizes().eq(shape.sizes()))
}

/// The same sizes in order under the names of `dims`, if there are as many.
pub fn of_dims(shape: &Extents, dims: impl IntoIterator<Item = Dim>) -> Option<Extents> {
    let dims: Vec<Dim> = dims.into_iter().collect();
    let named = dims.iter().copied().zip(shape.sizes());
    (dims.len() == shape.sizes().count()).then(|| Extents::collect(named)).flatten()
}

#[cfg(test)]
mod tests {
    use autokernel_codegen::matmul::{batched_extents, grouped_extents};
    use autokernel_core::dim;

    use super::*;

    #[test]
    fn a_shape_is_of_the_operation_that_has_as_many_dimensions() {
        let of = |sizes: &[(&str, u32)]| Extents::collect(sizes.iter().map(|&(name, size)| (dim(name), size)));
        assert_eq!(shape("3x4x5").ok(), of(&[("m", 3), ("n", 4), ("k", 5)]));
        assert_eq!(shape("3x4").ok(), of(&[("rows", 3), ("columns", 4)]));
        let (groups, batch) = (shape("3x4x5x6").unwrap(), batched_extents(6, 3, 4, 5));
        assert_eq!(groups, grouped_extents(6, 3, 4, 5));
        assert_eq!(of_dims(&groups, batch.iter().map(|(dim, _)| dim)), Some(batch));
        assert_eq!(of_dims(&groups, DIMS), None);
        assert!(
            is_wanted(&[groups], &batch) && is_wanted(&[], &batch) && !is_wanted(&[shape("3x4x5x7").unwrap()], &batch)
        );
        assert!(shape("3").unwrap_err().to_string().contains("MxNxK"));
    }
}
