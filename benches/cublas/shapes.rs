//! The shapes that people run: squares, the layers of large language models, decoding, and one that fits no tile.

use autokernel::Shape;
use autokernel_codegen::shape::ParseShapeError;

/// The shape of criterion's history.
pub const SQUARE: Shape = Shape::new(4096, 4096, 4096);

const ALL: [Shape; 12] = [
    Shape::new(1024, 1024, 1024),
    Shape::new(2048, 2048, 2048),
    SQUARE,
    Shape::new(8192, 8192, 8192),
    Shape::new(4096, 14336, 4096),
    Shape::new(4096, 4096, 14336),
    Shape::new(8192, 28672, 8192),
    Shape::new(2048, 8192, 8192),
    Shape::new(16, 8192, 8192),
    Shape::new(128, 8192, 8192),
    Shape::new(512, 4096, 4096),
    Shape::new(1000, 1000, 1000),
];

/// Those that are also measured with one set of buffers, as benchmarks of other projects do.
pub const HOT: [Shape; 5] = [
    Shape::new(1024, 1024, 1024),
    Shape::new(2048, 2048, 2048),
    SQUARE,
    Shape::new(8192, 8192, 8192),
    Shape::new(128, 8192, 8192),
];

/// Rows that do not begin at multiples of 16 bytes.
pub const ODD: [Shape; 3] = [Shape::new(4095, 4095, 4095), Shape::new(4097, 4099, 4101), Shape::new(8192, 8191, 8192)];

/// A few tokens against a large weight: bound by reading the weight once.
pub const DECODE: [Shape; 6] = [
    Shape::new(1, 8192, 8192),
    Shape::new(16, 8192, 8192),
    Shape::new(64, 8192, 8192),
    Shape::new(1, 28672, 8192),
    Shape::new(16, 28672, 8192),
    Shape::new(64, 28672, 8192),
];

/// All of the first table, or those of `AUTOKERNEL_BENCH_SHAPES`.
pub fn chosen() -> Result<Vec<Shape>, ParseShapeError> {
    let Ok(list) = std::env::var("AUTOKERNEL_BENCH_SHAPES") else { return Ok(ALL.to_vec()) };
    let parse = |text: &str| {
        let shape: autokernel_codegen::shape::Shape = text.trim().parse()?;
        Ok(Shape::new(shape.m, shape.n, shape.k))
    };
    list.split(',').map(parse).collect()
}
