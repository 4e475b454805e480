//! How fast the gradient of a weight is, `dot(dy.t(), x)`, beside a product of row-major factors and beside cuBLASLt, in the same rounds.
//!
//! A measurement, so it is asked for: `cargo test --release -p gpu-tests --features speed --test gpu_gradients_speed -- --ignored
//! --nocapture`. Operands are random, and sets of them rotate past the L2 cache. Each kernel is run by the schedule that is fastest at the
//! shape; cuBLASLt by the fastest of its algorithms.

use std::cell::RefCell;

use autokernel::timing::{Cache, Timer};
use autokernel::{CompiledKernel, Device, Dtype, Matrix, bf16, matmul};
use autokernel_baseline::{CublasLt, Epilogue, GemmProblem, HEURISTICS, fastest};
use gpu_tests::bodies::{TIMED_IMAGES, TIMED_MATH};
use gpu_tests::ranking::under_load;
use gpu_tests::settings;
use gpu_tests::timed::{self, Drawn};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Columns of the output's gradient, of the input, and rows of both: a layer's shapes, and others that a seed draws.
const SHAPES: [(u32, u32, u32); 3] = [(4096, 4096, 4096), (14_336, 4096, 4096), (4096, 4096, 16_384)];
const DRAWN: usize = 5;
const ROUNDS: usize = 24;
const LAUNCHES: usize = 12;
/// Sets of operands, of which a launch reads and writes 40 MB and more.
const SETS: usize = 3;

struct Set {
    dy: Matrix<bf16>,
    /// The same numbers as a row-major first factor.
    dy_of_rows: Matrix<bf16>,
    x: Matrix<bf16>,
    dw: Matrix<bf16>,
}

impl Set {
    fn random(device: &Device, [m, n, k]: [usize; 3], seed: u64) -> Self {
        let drawn = Drawn::uniform(seed);
        let matrix = |rows: usize, columns: usize| drawn.matrix(device, [rows, columns], 0);
        let dw = Matrix::zeros(device, m, n).unwrap();
        Set { dy: matrix(k, m), dy_of_rows: matrix(m, k), x: matrix(k, n), dw }
    }
}

impl Set {
    /// Launches a kernel of the factors as they are stored, or of row-major ones.
    fn launch(&mut self, kernel: &CompiledKernel, device: &Device, is_transposed: bool) -> autokernel::Result<()> {
        let dy = if is_transposed { &self.dy } else { &self.dy_of_rows };
        kernel.launch(device, &mut [dy.into(), (&self.x).into(), (&mut self.dw).into()])
    }
}

/// The kernel of that name whose schedule is fastest on those operands.
fn best(device: &Device, timer: &mut Timer, name: &str, sets: &RefCell<Vec<Set>>) -> CompiledKernel {
    let images: Vec<_> = TIMED_IMAGES.iter().filter(|image| image.name == name).collect();
    let is_transposed = name == TIMED_MATH[0].0;
    let kernels: Vec<_> = images.iter().map(|image| (image.schedule, image.load(device).unwrap())).collect();
    let launch = |(_, kernel): &(&str, CompiledKernel), launch: usize| {
        sets.borrow_mut()[launch % SETS].launch(kernel, device, is_transposed)
    };
    let schedule = {
        let ranked = under_load(timer, LAUNCHES, &kernels, launch).unwrap();
        let (ms, (schedule, _)) = &ranked[0];
        println!("{name:>12}: {ms:.4} ms by {schedule}");
        *schedule
    };
    kernels.into_iter().find(|(name, _)| *name == schedule).unwrap().1
}

fn shapes() -> Vec<(u32, u32, u32)> {
    let mut rng = StdRng::seed_from_u64(settings::number("AUTOKERNEL_SEED", 1));
    let mut extent = |least: u32, most: u32| 8 * rng.random_range(least / 8..=most / 8);
    SHAPES
        .into_iter()
        .chain((0..DRAWN).map(|_| (extent(2048, 8192), extent(2048, 8192), extent(4096, 16_384))))
        .collect()
}

#[test]
#[ignore = "a measurement of minutes, for a GPU that does nothing else"]
fn gradients_of_weights_beside_row_major_factors_and_cublaslt() {
    let test = "gpu_gradients_speed::gradients_of_weights_beside_row_major_factors_and_cublaslt";
    let Some(device) = timed::gpu(test, TIMED_IMAGES.len()) else { return };
    println!("{device}; medians of {ROUNDS} rounds of {LAUNCHES} launches, tn bf16; above 1 is faster");
    let mut timer = Timer::new(&device, Cache::Warm).unwrap();
    for (m, n, k) in shapes() {
        let extents = matmul::extents(m, n, k);
        let sizes = [m, n, k].map(|size| size as usize);
        let mut sets: Vec<Set> = (0..SETS as u64).map(|seed| Set::random(&device, sizes, seed)).collect();
        let mut cublaslt = CublasLt::new(&device).unwrap();
        let (dtype, layout, epilogue) = (Dtype::Bf16, matmul::Layout::Tn, Epilogue::Identity);
        let gemm = cublaslt.gemm(GemmProblem { extents, dtype, output: dtype, layout, epilogue }, HEURISTICS).unwrap();
        let algorithm = fastest(gemm.algorithms(), |algorithm, launches| {
            let mut run = |launch: usize| {
                let Set { dy, x, dw, .. } = &mut sets[launch % SETS];
                Ok::<_, autokernel::Error>(gemm.launch(&mut cublaslt, algorithm, &*dy, &*x, dw)?)
            };
            Ok::<_, autokernel::Error>(timer.time_batch(launches, &mut run).ok())
        });
        let (algorithm, _) = algorithm.unwrap().expect("an algorithm of cuBLASLt runs");

        let sets = RefCell::new(sets);
        println!("\n{extents}");
        let [gradient, product] = [0, 1].map(|at| best(&device, &mut timer, TIMED_MATH[at].0, &sets));
        let mut ours = |launch: usize| sets.borrow_mut()[launch % SETS].launch(&gradient, &device, true);
        let mut of_rows = |launch: usize| sets.borrow_mut()[launch % SETS].launch(&product, &device, false);
        let mut theirs = |launch: usize| {
            let Set { dy, x, dw, .. } = &mut sets.borrow_mut()[launch % SETS];
            Ok::<_, autokernel::Error>(gemm.launch(&mut cublaslt, algorithm, &*dy, &*x, dw)?)
        };
        let times = timer.interleave(ROUNDS, LAUNCHES, &mut [&mut ours, &mut of_rows, &mut theirs]).unwrap();
        let (of_rows, of_theirs) = (times.ratio(1, 0).unwrap(), times.ratio(2, 0).unwrap());
        println!(
            "{extents:>18}: {:.4} ms, {:.3} of row-major factors (spread {:.1} %), {:.3} of cuBLASLt (spread {:.1} %)",
            times.timing(0).unwrap().median_ms,
            of_rows.median,
            of_rows.spread_pct,
            of_theirs.median,
            of_theirs.spread_pct
        );
    }
}
