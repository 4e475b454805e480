//! PTX text to modules.

mod cursor;
mod error;
mod module;
pub(crate) mod parse;
mod token;

pub use error::{ParseError, ParseErrorKind};
pub(crate) use module::Variable;
pub use module::{Kernel, Module, SourceLocation};
