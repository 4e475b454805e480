//! PTX text to modules.

mod cursor;
mod error;
mod module;
mod parse;
mod token;

pub use error::{ParseError, ParseErrorKind};
pub use module::{Kernel, Module, SourceLocation};
