//! Scales of blocks of both factors: of 8-bit floats, of which a tensor's single scale leaves too few digits.
//!
//! The first factor has a scale for each row and block along K, `[m, k / block]`, the second one for each block of columns and
//! along K, `[n / block, k / block]`; the last block of an axis may be smaller.

use autokernel_core::Dtype;

/// The setting by which a declaration says how large blocks are.
pub const BLOCK: &str = "block";

/// How many numbers along K, and columns of the second factor, share a scale.
pub const BLOCKS: [u32; 1] = [128];

/// Scales along K that a kernel loads together: what TMA moves at least.
pub const AT_ONCE: u32 = 4;

/// The types of factors whose blocks are scaled.
pub const SCALED: [Dtype; 2] = [Dtype::E4m3, Dtype::E5m2];

/// Bytes of the scales of a factor of `rows` rows, or blocks of columns, and `k` numbers along K.
pub fn bytes(block: u32, rows: f64, k: f64) -> f64 {
    rows * (k / f64::from(block)).ceil() * f64::from(Dtype::F32.bytes())
}
