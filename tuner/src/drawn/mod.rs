//! Shapes that nobody picked: drawn by a seed from the layers of common models.

mod layers;
mod shapes;

pub use shapes::{Activation, Drawn, Shapes, aligned};
