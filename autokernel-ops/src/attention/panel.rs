//! How operands lie in shared memory: in panels, whose rows are swizzled.

/// Elements of a swizzled row, in which operands lie.
pub const PANEL: u32 = 64;
/// Bytes of one.
pub const ROW_BYTES: u32 = 128;
