//! How fast products are whose clusters share tiles (stream K), beside the same schedules with whole tiles and beside cuBLASLt,
//! where the last wave of tiles is mostly empty and at a few drawn shapes.
//!
//! A measurement, so it is asked for: `cargo test --release -p gpu-tests --features speed --test gpu_shared_tiles_speed --
//! --ignored --nocapture`; `AUTOKERNEL_SEED` draws other shapes, `AUTOKERNEL_CASES` as many. Operands are random, and sets of
//! them rotate past the L2 cache. Every schedule is timed at every shape; the fastest of each kind and the fastest of
//! cuBLASLt's algorithms then run in the same rounds.

use std::cell::RefCell;

use autokernel::timing::{Cache, Timer};
use autokernel::{Argument, CompiledKernel, Device, Dtype, Extents, Matrix, bf16, matmul};
use autokernel_baseline::{CublasLt, Epilogue, Gemm, GemmProblem, HEURISTICS, fastest};
use gpu_tests::ranking::under_load;
use gpu_tests::settings;
use gpu_tests::shared::{SHARED, SHARED_IMAGES, WHOLE, images};
use gpu_tests::timed::{self, Drawn};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

const SHAPES: [(u32, u32, u32); 6] = [
    (523, 8192, 8192),
    (2100, 4096, 4096),
    (1568, 1280, 5120),
    (4088, 4104, 4120),
    (4096, 4096, 4096),
    (640, 4096, 4096),
];
/// Columns and sums of common layers, for the shapes that are drawn.
const WIDTHS: [u32; 7] = [1280, 2048, 4096, 5120, 8192, 11_008, 14_336];
const DRAWN: u64 = 6;
const ROUNDS: usize = 24;
const LAUNCHES: usize = 12;
/// Bytes of all sets of operands together, at least: several times the L2 cache.
const ROTATED_BYTES: usize = 400 << 20;
const MOST_SETS: usize = 12;

fn shapes() -> Vec<Extents> {
    let mut rng = StdRng::seed_from_u64(settings::number("AUTOKERNEL_SEED", 1));
    let drawn = (0..settings::number("AUTOKERNEL_CASES", DRAWN)).map(|_| {
        let width = |rng: &mut StdRng| *WIDTHS.choose(rng).expect("there are some");
        let m = f64::exp(rng.random_range(f64::ln(64.0)..f64::ln(4096.0))) as u32;
        (m, width(&mut rng), width(&mut rng))
    });
    let drawn: Vec<(u32, u32, u32)> = drawn.collect();
    SHAPES.into_iter().chain(drawn).map(|(m, n, k)| matmul::extents(m, n, k)).collect()
}

struct Set {
    x: Matrix<bf16>,
    w: Matrix<bf16>,
    out: Matrix<bf16>,
}

impl Set {
    fn random(device: &Device, [m, n, k]: [usize; 3], seed: u64) -> Self {
        let drawn = Drawn::uniform(seed);
        let matrix = |rows: usize| drawn.matrix(device, [rows, k], 0);
        Set { x: matrix(m), w: matrix(n), out: Matrix::zeros(device, m, n).unwrap() }
    }

    /// As many as do not fit the L2 cache together.
    fn several(device: &Device, sizes @ [m, n, k]: [usize; 3]) -> Vec<Self> {
        let bytes = 2 * (m * k + n * k + m * n);
        let count = ROTATED_BYTES.div_ceil(bytes).clamp(2, MOST_SETS);
        (0..count as u64).map(|seed| Set::random(device, sizes, seed)).collect()
    }
}

/// A loaded image.
struct Kernel {
    schedule: &'static str,
    kernel: CompiledKernel,
}

impl Kernel {
    fn all(device: &Device, name: &str) -> Vec<Self> {
        let load = |image: &gpu_tests::bodies::TimedImage| image.load(device).unwrap();
        images(name).map(|image| Kernel { schedule: image.schedule, kernel: load(image) }).collect()
    }

    fn launch(&self, device: &Device, Set { x, w, out }: &mut Set) -> autokernel::Result<()> {
        self.kernel.launch(device, &mut [Argument::from(&*x), Argument::from(&*w), Argument::from(out)])
    }
}

struct Theirs {
    cublaslt: CublasLt,
    gemm: Gemm,
}

impl Theirs {
    fn new(device: &Device, extents: Extents) -> Self {
        let cublaslt = CublasLt::new(device).unwrap();
        let (dtype, epilogue) = (Dtype::Bf16, Epilogue::Identity);
        let gemm = cublaslt
            .gemm(GemmProblem { extents, dtype, output: dtype, layout: matmul::Layout::Nt, epilogue }, HEURISTICS);
        Theirs { cublaslt, gemm: gemm.unwrap() }
    }

    fn launch(&mut self, algorithm: usize, Set { x, w, out }: &mut Set) -> autokernel::Result<()> {
        self.gemm.launch(&mut self.cublaslt, algorithm, &*x, &*w, out)?;
        Ok(())
    }
}

#[test]
#[ignore = "a measurement of minutes, for a GPU that does nothing else"]
fn shared_tiles_beside_whole_ones_and_cublaslt() {
    let test = "gpu_shared_tiles_speed::shared_tiles_beside_whole_ones_and_cublaslt";
    let Some(device) = timed::gpu(test, SHARED_IMAGES.len()) else { return };
    println!("{device}; medians of {ROUNDS} rounds of {LAUNCHES} launches, nt bf16; above 1 is faster");
    let mut timer = Timer::new(&device, Cache::Warm).unwrap();
    let (whole, shared) = (Kernel::all(&device, WHOLE), Kernel::all(&device, SHARED));
    for extents in shapes() {
        let sets = RefCell::new(Set::several(&device, matmul::sizes(&extents).map(|size| size as usize)));
        let count = sets.borrow().len();
        let launch = |kernel: &Kernel, launch: usize| kernel.launch(&device, &mut sets.borrow_mut()[launch % count]);
        let best = |timer: &mut Timer, kernels| under_load(timer, LAUNCHES, kernels, launch).unwrap()[0].1;
        let (best_whole, best_shared) = (best(&mut timer, &whole), best(&mut timer, &shared));

        let mut theirs = Theirs::new(&device, extents);
        let algorithm = fastest(theirs.gemm.algorithms(), |algorithm, launches| {
            let mut run = |launch: usize| theirs.launch(algorithm, &mut sets.borrow_mut()[launch % count]);
            Ok::<_, autokernel::Error>(timer.time_batch(launches, &mut run).ok())
        });
        let (algorithm, _) = algorithm.unwrap().expect("an algorithm of cuBLASLt runs");

        let mut of_whole = |number: usize| launch(best_whole, number);
        let mut of_shared = |number: usize| launch(best_shared, number);
        let mut of_theirs = |number: usize| theirs.launch(algorithm, &mut sets.borrow_mut()[number % count]);
        let times = timer.interleave(ROUNDS, LAUNCHES, &mut [&mut of_whole, &mut of_shared, &mut of_theirs]).unwrap();
        let ms = |number| times.timing(number).unwrap().median_ms;
        let ratio = |to, of| times.ratio(to, of).unwrap();
        let (to_whole, to_theirs, of_whole) = (ratio(0, 1), ratio(2, 1), ratio(2, 0));
        println!(
            "{extents}: shared {:.4} ms, {:.3} of whole tiles (spread {:.1} %), {:.3} of cuBLASLt (spread {:.1} %), by {}; \
             whole {:.4} ms, {:.3} of cuBLASLt, by {}",
            ms(1),
            to_whole.median,
            to_whole.spread_pct,
            to_theirs.median,
            to_theirs.spread_pct,
            best_shared.schedule,
            ms(0),
            of_whole.median,
            best_whole.schedule
        );
    }
}
