//! Functions of a user's that bodies call: `#[autokernel::function] fn hard_swish(x: f32) -> f32 { … }`.

mod fingerprint;
mod item;
mod table;

pub use fingerprint::own as own_fingerprint;
pub use item::Function;
pub(crate) use item::calls_in;
pub use table::{Called, FunctionText, Functions};

/// The attribute's name.
pub const ATTRIBUTE: &str = "function";

#[cfg(test)]
mod tests;
