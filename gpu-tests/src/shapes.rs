//! Shapes worth trying, and where their matrices lie.

use autokernel::{Extents, matmul};
use autokernel_codegen::matmul::problem::Problem;
use rand::RngExt;
use rand::rngs::StdRng;

use crate::place::Place;

/// Shapes at the edges of what tiles, stages and vector loads divide: (m, n, k).
pub const EDGES: [(u32, u32, u32); 27] = [
    (1, 1, 1),
    (1, 1, 0),
    (130, 70, 0),
    (1, 3000, 7),
    (3000, 1, 129),
    (1, 1, 3000),
    (2, 8, 16),
    (7, 9, 15),
    (8, 8, 8),
    (64, 64, 64),
    (63, 65, 63),
    (65, 63, 65),
    (127, 129, 31),
    (128, 128, 32),
    (129, 127, 33),
    (128, 128, 64),
    (127, 127, 65),
    (255, 257, 127),
    (256, 256, 128),
    (257, 255, 129),
    (128, 128, 1),
    (384, 384, 257),
    (640, 136, 72),
    (1025, 1023, 511),
    (1537, 1535, 1531),
    (2999, 40, 2999),
    (100, 2992, 1000),
];

/// A shape whose extents are log-uniform in 1..=`largest`.
pub fn random(rng: &mut StdRng, largest: u32) -> Extents {
    let mut extent = || {
        let log = rng.random_range(0.0..f64::from(largest + 1).ln());
        (log.exp() as u32).clamp(1, largest)
    };
    matmul::extents(extent(), extent(), extent())
}

/// The shape with the dimensions that `problem` was compiled for.
pub fn with_known(shape: &Extents, problem: &Problem) -> Extents {
    let [m, n, k] = matmul::sizes(shape);
    matmul::extents(m, problem.known_n.unwrap_or(n), problem.known_k.unwrap_or(k))
}

/// Places A, B and C with `place(rows, columns)`.
pub fn placements(shape: &Extents, problem: &Problem, mut place: impl FnMut(usize, usize) -> Place) -> [Place; 3] {
    let [m, n, k] = matmul::sizes(shape).map(|size| size as usize);
    let b = if problem.layout.transpose_b() { place(n, k) } else { place(k, n) };
    let a = if problem.layout.transpose_a() { place(k, m) } else { place(m, k) };
    [a, b, place(m, n)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    #[test]
    fn random_shapes_span_small_and_large_extents() {
        let mut rng = StdRng::seed_from_u64(3);
        let shapes: Vec<Extents> = (0..300).map(|_| random(&mut rng, 3000)).collect();
        let extents = || shapes.iter().flat_map(matmul::sizes);
        assert!(extents().all(|extent| (1..=3000).contains(&extent)));
        assert!(extents().filter(|&extent| extent < 10).count() > 150);
        assert!(extents().filter(|&extent| extent > 1000).count() > 80);
    }
}
