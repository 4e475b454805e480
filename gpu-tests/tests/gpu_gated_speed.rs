//! How fast two products in one kernel are, beside what cuBLASLt takes for both at once and the kernel that follows it.
//!
//! A measurement, so it is asked for: `cargo test --release -p gpu-tests --features speed --test gpu_gated_speed --
//! --ignored --nocapture`. `AUTOKERNEL_SEED` draws other shapes beside the listed ones, `AUTOKERNEL_CASES` so many with many
//! rows and so many with few. Weights lie one behind the other, so that cuBLASLt multiplies them as one matrix of twice the
//! columns, by the fastest of its algorithms; `silu_mul` follows on both halves of what it wrote. Operands are normal random numbers, and sets
//! of them rotate past the L2 cache. Every schedule of the sweep is timed at every shape, and the
//! fastest of them against cuBLASLt in the same rounds.

use std::cell::RefCell;

use autokernel::timing::{Cache, Timer, Work};
use autokernel::{Argument, CompiledKernel, Device, Dtype, Matrix, bf16, builtin, matmul};
use autokernel_baseline::{CublasLt, Epilogue, Gemm, GemmProblem, HEURISTICS, fastest};
use gpu_tests::bodies::{SWIGLU, TIMED_IMAGES, TimedImage};
use gpu_tests::ranking::under_load;
use gpu_tests::timed::{self, Drawn, Rows};

/// Of C; the stacked weights have twice the columns.
const SHAPES: [(u32, u32, u32); 7] = [
    (4096, 4096, 4096),
    (4096, 14_336, 4096),
    (2048, 8192, 8192),
    (128, 14_336, 4096),
    (128, 8192, 8192),
    (64, 14_336, 4096),
    (16, 14_336, 4096),
];
/// Rows of those that are drawn.
const ROWS: [Rows; 2] = [1024..=4096, 1..=128];
const ROUNDS: usize = 24;
const LAUNCHES: usize = 12;
/// Schedules that are held against cuBLASLt.
const FINALISTS: usize = 4;
/// Sets of operands, of 64 MB and more each.
const SETS: usize = 3;

/// The operands of both ways.
struct Set {
    x: Matrix<bf16>,
    /// Those of the gate, and behind them those of its partner.
    weights: Matrix<bf16>,
    /// Both products, side by side.
    products: Matrix<bf16>,
    out: Matrix<bf16>,
    n: usize,
}

impl Set {
    fn random(device: &Device, [m, n, k]: [usize; 3], seed: u64) -> Self {
        let drawn = Drawn::normal(seed);
        let matrix = |rows: usize, columns: usize| drawn.matrix(device, [rows, columns], 0);
        let zeros = |columns| Matrix::zeros(device, m, columns).unwrap();
        Set { x: matrix(m, k), weights: matrix(2 * n, k), products: zeros(2 * n), out: zeros(n), n }
    }
}

/// A loaded kernel.
struct Kernel {
    schedule: &'static str,
    kernel: CompiledKernel,
}

impl Kernel {
    fn load(device: &Device, image: &TimedImage) -> Self {
        Kernel { schedule: image.schedule, kernel: image.load(device).unwrap() }
    }

    fn launch(&self, device: &Device, set: &mut Set) -> autokernel::Result<()> {
        let Set { x, weights, out, n, .. } = set;
        let weights = weights.view();
        let arguments: &mut [Argument<'_>] =
            &mut [(&*x).into(), weights.rows(..*n)?.into(), weights.rows(*n..)?.into(), out.into()];
        self.kernel.launch(device, arguments)
    }
}

/// cuBLASLt on the stacked weights, and what follows it.
struct Stacked {
    cublaslt: CublasLt,
    gemm: Gemm,
}

impl Stacked {
    fn launch(&mut self, algorithm: usize, set: &mut Set) -> autokernel::Result<()> {
        let Set { x, weights, products, out, n } = set;
        self.gemm.launch(&mut self.cublaslt, algorithm, &*x, &*weights, &mut *products)?;
        let products = products.view();
        builtin::silu_mul::launch(products.columns(..*n)?, products.columns(*n..)?, out.view_mut())
    }
}

#[test]
#[ignore = "a measurement of minutes, for a GPU that does nothing else"]
fn two_products_in_one_kernel_beside_cublaslt_on_stacked_weights() {
    let test = "gpu_gated_speed::two_products_in_one_kernel_beside_cublaslt_on_stacked_weights";
    let images = || TIMED_IMAGES.iter().filter(|image| image.name == SWIGLU.0);
    let Some(device) = timed::gpu(test, images().count()) else { return };
    println!("{device}; medians of {ROUNDS} rounds of {LAUNCHES} launches, nt bf16; above 1 is faster");
    let mut timer = Timer::new(&device, Cache::Warm).unwrap();
    let kernels: Vec<Kernel> = images().map(|image| Kernel::load(&device, image)).collect();
    let mut best: [Vec<f64>; ROWS.len()] = Default::default();
    for (m, n, k) in timed::shapes(&SHAPES, &ROWS) {
        let sizes = [m, n, k].map(|size| size as usize);
        let mut sets: Vec<Set> = (0..SETS as u64).map(|seed| Set::random(&device, sizes, seed)).collect();
        println!("\n{}", matmul::extents(m, n, k));
        let sets = RefCell::new(&mut sets);
        let launch = |kernel: &Kernel, launch: usize| kernel.launch(&device, &mut sets.borrow_mut()[launch % SETS]);
        let timed = under_load(&mut timer, LAUNCHES, &kernels, launch).unwrap();
        for (ms, kernel) in &timed {
            println!("{ms:>12.4} ms  {}", kernel.schedule);
        }
        let cublaslt = CublasLt::new(&device).unwrap();
        let (epilogue, dtype) = (Epilogue::Identity, Dtype::Bf16);
        let extents = matmul::extents(m, 2 * n, k);
        let problem = GemmProblem { extents, dtype, output: dtype, layout: matmul::Layout::Nt, epilogue };
        let gemm = cublaslt.gemm(problem, HEURISTICS).unwrap();
        let mut stacked = Stacked { cublaslt, gemm };
        let algorithm = fastest(stacked.gemm.algorithms(), |algorithm, launches| {
            let mut run = |launch: usize| stacked.launch(algorithm, &mut sets.borrow_mut()[launch % SETS]);
            Ok::<_, autokernel::Error>(timer.time_batch(launches, &mut run).ok())
        });
        let (algorithm, _) = algorithm.unwrap().expect("an algorithm of cuBLASLt runs");

        let (device, sets) = (&device, &sets);
        let mut of_theirs = |launch: usize| stacked.launch(algorithm, &mut sets.borrow_mut()[launch % SETS]);
        let finalists: Vec<&Kernel> = timed.iter().take(FINALISTS).map(|(_, kernel)| *kernel).collect();
        let of_ours = finalists
            .iter()
            .copied()
            .map(|kernel| move |launch: usize| kernel.launch(device, &mut sets.borrow_mut()[launch % SETS]));
        let mut of_ours: Vec<_> = of_ours.collect();
        let mut work: Vec<Work<'_>> = vec![&mut of_theirs];
        work.extend(of_ours.iter_mut().map(|work| work as Work<'_>));
        let times = timer.interleave(ROUNDS, LAUNCHES, &mut work).unwrap();
        let ratios = (1..=finalists.len()).map(|number| times.ratio(0, number).unwrap().median);
        best[usize::from(ROWS[1].contains(&m))].push(ratios.fold(0.0, f64::max));
        for (number, kernel) in (1..).zip(finalists) {
            let (median_ms, ratio) = (times.timing(number).unwrap().median_ms, times.ratio(0, number).unwrap());
            println!(
                "{median_ms:>12.4} ms, {:.3} of cuBLASLt and silu_mul (spread {:.1} %), by {}",
                ratio.median, ratio.spread_pct, kernel.schedule
            );
        }
    }
    for (rows, best) in ROWS.iter().zip(best).filter(|(_, best)| !best.is_empty()) {
        println!("{rows:?} rows: {}", timed::mean_and_least(&best));
    }
}
