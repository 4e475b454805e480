//! What the interpreter refuses, as an error of a launch.

use crate::Error;

/// What went wrong on the emulated GPU.
pub(crate) fn emulated(symbol: &str, reason: impl ToString) -> Error {
    Error::Emulated { symbol: symbol.to_owned(), reason: reason.to_string() }
}
