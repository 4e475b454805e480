//! What codegen and the runtime call differently.

use autokernel_codegen::arch::ComputeCapability;
use autokernel_codegen::shape::Shape;
use autokernel_runtime::Extents;

/// The compute capability that a driver gives as two numbers.
pub fn capability((major, minor): (u32, u32)) -> ComputeCapability {
    let part = |number| u8::try_from(number).unwrap_or(u8::MAX);
    ComputeCapability::new(part(major), part(minor))
}

/// How far apart two shapes are, as the runtime chooses the nearest entry: a factor counts, not a difference.
pub fn distance(a: Shape, b: Shape) -> f64 {
    Extents::from(a).distance(&b.into()).unwrap_or(f64::INFINITY)
}
