//! What a norm's statistic costs beside the product with a residual that it is of, and what it saves: the same product without, and with
//! a row-wise kernel behind it that reads the result again, in the same rounds.
//!
//! A measurement, so it is asked for: `cargo test --release -p gpu-tests --features speed --test gpu_statistics_speed -- --ignored
//! --nocapture`. Operands are random, and sets of them rotate past the L2 cache. Kernels are those that a launch chooses.

use std::cell::RefCell;

use autokernel::timing::{Cache, Timer};
use autokernel::{Column, Device, Matrix, bf16, matmul};
use gpu_tests::skip;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const SHAPES: [(u32, u32, u32); 3] = [(4096, 4096, 4096), (4096, 4096, 14_336), (128, 8192, 8192)];
const ROUNDS: usize = 24;
const LAUNCHES: usize = 12;
/// Sets of operands, of 100 MB and more each.
const SETS: usize = 3;

/// The product and its residual.
#[autokernel::fused_matmul]
pub fn project(x: &Matrix<bf16>, w: &Matrix<bf16>, skip: &Matrix<bf16>, out: &mut Matrix<bf16>) {
    out = dot(x, w.t()) + skip;
}

/// With what an RMS norm behind it multiplies each row with.
#[autokernel::fused_matmul]
pub fn project_and_reduce(
    x: &Matrix<bf16>,
    w: &Matrix<bf16>,
    skip: &Matrix<bf16>,
    out: &mut Matrix<bf16>,
    scale: &mut Column<f32>,
) {
    let y = dot(x, w.t()) + skip;
    out = y;
    scale = 1.0 / (row_mean(y * y) + 1e-6).sqrt();
}

/// The same number from the result.
#[autokernel::rows]
pub fn reduce(y: &Matrix<bf16>, scale: &mut Column<f32>) {
    scale = 1.0 / (row_mean(y * y) + 1e-6).sqrt();
}

struct Set {
    x: Matrix<bf16>,
    w: Matrix<bf16>,
    skip: Matrix<bf16>,
    out: Matrix<bf16>,
    scale: Column<f32>,
}

impl Set {
    fn random(device: &Device, [m, n, k]: [usize; 3], seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let drawn: Vec<bf16> = (0..(1 << 20) + 7).map(|_| bf16::from_f32(rng.random_range(-1.0..1.0))).collect();
        let matrix = |rows: usize, columns: usize| {
            let values: Vec<bf16> = drawn.iter().copied().cycle().take(rows * columns).collect();
            Matrix::from_slice(device, &values, rows, columns).unwrap()
        };
        let (out, scale) = (Matrix::zeros(device, m, n).unwrap(), Column::from_slice(device, &vec![0.0; m]).unwrap());
        Set { x: matrix(m, k), w: matrix(n, k), skip: matrix(m, n), out, scale }
    }
}

#[test]
#[ignore = "a measurement of minutes, for a GPU that does nothing else"]
fn statistics_beside_the_product_and_behind_it() {
    let test = "gpu_statistics_speed::statistics_beside_the_product_and_behind_it";
    let Some(device) = skip::gpu(test) else { return };
    println!("{device}; medians of {ROUNDS} rounds of {LAUNCHES} launches, nt bf16; below 1 is slower than without");
    let mut timer = Timer::new(&device, Cache::Warm).unwrap();
    for (m, n, k) in SHAPES {
        let sizes = [m, n, k].map(|size| size as usize);
        let sets: Vec<Set> = (0..SETS as u64).map(|seed| Set::random(&device, sizes, seed)).collect();
        let sets = RefCell::new(sets);
        let mut reduced = |launch: usize| {
            let Set { x, w, skip, out, scale } = &mut sets.borrow_mut()[launch % SETS];
            project_and_reduce(x, w, skip, out, scale)
        };
        let mut plain = |launch: usize| {
            let Set { x, w, skip, out, .. } = &mut sets.borrow_mut()[launch % SETS];
            project(x, w, skip, out)
        };
        let mut behind = |launch: usize| {
            let Set { x, w, skip, out, scale } = &mut sets.borrow_mut()[launch % SETS];
            project(x, w, skip, out)?;
            reduce(out, scale)
        };
        let times = timer.interleave(ROUNDS, LAUNCHES, &mut [&mut reduced, &mut plain, &mut behind]).unwrap();
        let (of_plain, of_behind) = (times.ratio(1, 0).unwrap(), times.ratio(2, 0).unwrap());
        println!(
            "{:>18}: {:.4} ms, {:.3} of the product alone (spread {:.1} %), {:.3} of a kernel behind it (spread {:.1} %)",
            matmul::extents(m, n, k),
            times.timing(0).unwrap().median_ms,
            of_plain.median,
            of_plain.spread_pct,
            of_behind.median,
            of_behind.spread_pct
        );
    }
}
