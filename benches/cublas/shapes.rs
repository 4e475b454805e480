//! The shapes that people run: squares, the layers of large language models, decoding, and one that fits no tile.

use autokernel::matmul::{DIMS, extents};
use autokernel::{Extents, ParseExtentsError};

/// The shape of criterion's history.
pub const SQUARE: Extents = extents(4096, 4096, 4096);

const ALL: [Extents; 12] = [
    extents(1024, 1024, 1024),
    extents(2048, 2048, 2048),
    SQUARE,
    extents(8192, 8192, 8192),
    extents(4096, 14336, 4096),
    extents(4096, 4096, 14336),
    extents(8192, 28672, 8192),
    extents(2048, 8192, 8192),
    extents(16, 8192, 8192),
    extents(128, 8192, 8192),
    extents(512, 4096, 4096),
    extents(1000, 1000, 1000),
];

/// Those that are also measured with one set of buffers, as benchmarks of other projects do.
pub const HOT: [Extents; 5] =
    [extents(1024, 1024, 1024), extents(2048, 2048, 2048), SQUARE, extents(8192, 8192, 8192), extents(128, 8192, 8192)];

/// Rows that do not begin at multiples of 16 bytes.
pub const ODD: [Extents; 3] = [extents(4095, 4095, 4095), extents(4097, 4099, 4101), extents(8192, 8191, 8192)];

/// A few tokens against a large weight: bound by reading the weight once.
pub const DECODE: [Extents; 6] = [
    extents(1, 8192, 8192),
    extents(16, 8192, 8192),
    extents(64, 8192, 8192),
    extents(1, 28672, 8192),
    extents(16, 28672, 8192),
    extents(64, 28672, 8192),
];

/// All of the first table, or those of `AUTOKERNEL_BENCH_SHAPES`.
pub fn chosen() -> Result<Vec<Extents>, ParseExtentsError> {
    let Ok(list) = std::env::var("AUTOKERNEL_BENCH_SHAPES") else { return Ok(ALL.to_vec()) };
    list.split(',').map(|text| Extents::parse(text.trim(), &DIMS)).collect()
}
