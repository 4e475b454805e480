//! What codegen and the runtime call differently.

use autokernel_codegen::arch::ComputeCapability;
use autokernel_core::Extents;

/// The compute capability that a driver gives as two numbers.
pub fn capability((major, minor): (u32, u32)) -> ComputeCapability {
    let part = |number| u8::try_from(number).unwrap_or(u8::MAX);
    ComputeCapability::new(part(major), part(minor))
}

/// How far apart two shapes are, as the runtime chooses the nearest entry: a factor counts, not a difference.
pub fn distance(a: Extents, b: Extents) -> f64 {
    a.distance(&b).unwrap_or(f64::INFINITY)
}
