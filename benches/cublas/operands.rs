//! Sets of random operands to rotate through, so that a launch finds none of its own in the L2 cache.

use autokernel::timing::sets_to_exceed_l2;
use autokernel::{Device, Element, Extents, Matrix, matmul};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use rand_distr::StandardNormal;

/// Random numbers that are drawn; larger matrices repeat them from an offset of their own.
const DRAWN: usize = 1 << 22;
/// No more sets than this: the smallest problems are then warm in part, as they are in any use.
const MAX_SETS: usize = 64;

/// What a launch finds in the L2 cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffers {
    /// Nothing of its own: launches rotate through sets of buffers that exceed twice the cache.
    Rotating,
    /// What the launch before it left: one set for all launches.
    Reused,
}

impl Buffers {
    /// The cache state, as tables name it.
    pub fn cache(self) -> &'static str {
        match self {
            Buffers::Rotating => "cold",
            Buffers::Reused => "hot",
        }
    }
}

/// The operands of one problem, several times over.
pub struct Operands<T: Element> {
    sets: Vec<(Matrix<T>, Matrix<T>, Matrix<T>)>,
}

impl<T: Element> Operands<T> {
    /// Random normal `a` and `b`, and room for the output, in as many sets as `buffers` asks for.
    pub fn new(device: &Device, shape: Extents, layout: matmul::Layout, buffers: Buffers) -> autokernel::Result<Self> {
        let [m, n, k] = matmul::sizes(&shape).map(|size| size as usize);
        let (a_rows, a_columns) = if layout.transpose_a() { (k, m) } else { (m, k) };
        let (b_rows, b_columns) = if layout.transpose_b() { (n, k) } else { (k, n) };
        let bytes = (m * k + k * n + m * n) * size_of::<T>();
        let count = match buffers {
            Buffers::Rotating => sets_to_exceed_l2(bytes as u64, device.info()?.l2_bytes).min(MAX_SETS),
            Buffers::Reused => 1,
        };
        let drawn = draw::<T>();
        let random = |rows: usize, columns: usize, offset: usize| {
            let data: Vec<T> = drawn.iter().copied().cycle().skip(offset % DRAWN).take(rows * columns).collect();
            Matrix::from_slice(device, &data, rows, columns)
        };
        let set = |number: usize| {
            let offset = 1_000_003 * number;
            let (a, b) = (random(a_rows, a_columns, offset)?, random(b_rows, b_columns, offset + 500_009)?);
            Ok((a, b, Matrix::zeros(device, m, n)?))
        };
        Ok(Operands { sets: (0..count).map(set).collect::<autokernel::Result<_>>()? })
    }

    /// The set of launch number `launch`.
    pub fn set(&mut self, launch: usize) -> (&Matrix<T>, &Matrix<T>, &mut Matrix<T>) {
        let count = self.sets.len();
        let (a, b, out) = &mut self.sets[launch % count];
        (a, b, out)
    }

    /// How many sets there are.
    pub fn count(&self) -> usize {
        self.sets.len()
    }
}

fn draw<T: Element>() -> Vec<T> {
    let mut random = StdRng::seed_from_u64(0);
    (0..DRAWN).map(|_| T::from_f32(random.sample(StandardNormal))).collect()
}
