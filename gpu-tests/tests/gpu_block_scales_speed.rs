//! How fast products of 8-bit floats are whose blocks have scales, 128 along K of each row by 128 x 128, beside cuBLASLt's of the same
//! scales, in the same rounds.
//!
//! A measurement, so it is asked for: `cargo test --release -p gpu-tests --features speed --test gpu_block_scales_speed -- --ignored
//! --nocapture`. `AUTOKERNEL_SEED` draws other shapes beside the listed ones, `AUTOKERNEL_CASES` so many. Sets of operands rotate
//! past the L2 cache. Each kernel is run by the schedule that is fastest at the shape, cuBLASLt by the fastest of its algorithms. A
//! wrong result is a failure: of what was timed against cuBLASLt.

use std::cell::RefCell;

use autokernel::timing::{Cache, Timer};
use autokernel::{CompiledKernel, Device, Dtype, Extents, Matrix, Row, bf16, e4m3, matmul};
use autokernel_baseline::{Added, CublasLt, Epilogue, Gemm, GemmProblem, HEURISTICS, fastest};
use gpu_tests::bodies::{BLOCK_SCALES, TIMED_IMAGES, TimedImage};
use gpu_tests::ranking::under_load;
use gpu_tests::settings;
use gpu_tests::timed::{self, Drawn};
use gpu_tests::tolerance::accumulation;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

const SHAPES: [(u32, u32, u32); 8] = [
    (4096, 7168, 16_384),
    (4096, 4096, 7168),
    (4096, 24_576, 1536),
    (4096, 7168, 2048),
    (8192, 8192, 8192),
    (128, 7168, 16_384),
    (64, 24_576, 1536),
    (16, 8192, 8192),
];
/// What drawn shapes are made of: rows and columns of common layers.
const ROWS: [u32; 7] = [16, 32, 64, 128, 512, 2048, 8192];
const COLUMNS: [u32; 8] = [1536, 2048, 4096, 5120, 6144, 7168, 8192, 18_432];
const ROUNDS: usize = 16;
const LAUNCHES: usize = 8;
/// Bytes that sets of operands have together at least: several times the L2 cache.
const ROTATED_BYTES: usize = 200 << 20;
const BLOCK: usize = 128;
/// The largest scales: of a row's blocks, and of those of the second factor.
const SCALES: [f32; 2] = [1.0, 1.0 / 64.0];

/// The operands of every candidate. cuBLASLt takes the first factor's scales transposed.
struct Set {
    x: Matrix<e4m3>,
    w: Matrix<e4m3>,
    of_x: Matrix<f32>,
    of_w: Matrix<f32>,
    theirs: [Row<f32>; 2],
    out: Matrix<bf16>,
}

impl Set {
    fn random(device: &Device, [m, n, k]: [usize; 3], seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let drawn = Drawn::new(&mut rng, |rng| e4m3::from_f32(rng.random_range(-1.0..1.0)));
        let mut matrix =
            |rows, columns| drawn.matrix(device, [rows, columns], rng.random_range(0..drawn.numbers().len()));
        let (x, w) = (matrix(m, k), matrix(n, k));
        let (along_k, along_n) = (k.div_ceil(BLOCK), n.div_ceil(BLOCK));
        let mut scales = |count: usize, most: f32| -> Vec<f32> {
            (0..count).map(|_| most * rng.random_range(0.5f32..1.0)).collect()
        };
        let (of_x, of_w) = (scales(m * along_k, SCALES[0]), scales(along_n * along_k, SCALES[1]));
        let transposed = (0..along_k).flat_map(|at| (0..m).map(move |row| row * along_k + at)).map(|at| of_x[at]);
        let padded = of_w
            .chunks(along_k)
            .flat_map(|row| row.iter().copied().chain(std::iter::repeat_n(0.0, along_k.next_multiple_of(4) - along_k)));
        let [transposed, padded] = [transposed.collect::<Vec<_>>(), padded.collect()];
        Set {
            x,
            w,
            of_x: Matrix::from_slice(device, &of_x, m, along_k).unwrap(),
            of_w: Matrix::from_slice(device, &of_w, along_n, along_k).unwrap(),
            theirs: [transposed, padded].map(|scales| Row::from_slice(device, &scales).unwrap()),
            out: Matrix::zeros(device, m, n).unwrap(),
        }
    }

    fn launch(&mut self, device: &Device, kernel: &CompiledKernel) -> autokernel::Result<()> {
        let Set { x, w, of_x, of_w, out, .. } = self;
        kernel.launch(device, &mut [(&*x).into(), (&*of_x).into(), (&*w).into(), (&*of_w).into(), out.into()])
    }
}

/// A loaded kernel.
struct Kernel {
    schedule: &'static str,
    kernel: CompiledKernel,
}

/// The kernel whose schedule is fastest on those operands.
fn best(device: &Device, timer: &mut Timer, sets: &mut [Set]) -> Kernel {
    let images = TIMED_IMAGES.iter().filter(|image| image.name == BLOCK_SCALES.0);
    let load = |image: &'static TimedImage| Kernel { schedule: image.schedule, kernel: image.load(device).unwrap() };
    let mut kernels: Vec<Kernel> = images.map(load).collect();
    let (count, sets) = (sets.len(), RefCell::new(sets));
    let launch = |it: &Kernel, launch: usize| sets.borrow_mut()[launch % count].launch(device, &it.kernel);
    let ranked = under_load(timer, LAUNCHES, &kernels, launch).unwrap();
    for (ms, kernel) in ranked.iter().take(4) {
        println!("    {ms:.4} ms by {}", kernel.schedule);
    }
    let best = ranked[0].1.schedule;
    kernels.retain(|kernel| kernel.schedule == best);
    kernels.swap_remove(0)
}

/// A launch of cuBLASLt's.
struct Theirs {
    cublaslt: CublasLt,
    gemm: Gemm,
}

impl Theirs {
    fn new(device: &Device, extents: Extents) -> autokernel_baseline::Result<Self> {
        let cublaslt = CublasLt::new(device)?;
        let (dtype, output) = (Dtype::E4m3, Dtype::Bf16);
        let problem = GemmProblem { extents, dtype, output, layout: matmul::Layout::Nt, epilogue: Epilogue::Identity };
        let gemm = cublaslt.gemm_of_blocks(problem, HEURISTICS)?;
        Ok(Theirs { cublaslt, gemm })
    }

    fn launch(&mut self, algorithm: usize, set: &mut Set) -> autokernel_baseline::Result<()> {
        let Set { x, w, theirs: [of_x, of_w], out, .. } = set;
        let added = Added { scales: Some([&*of_x, &*of_w]), ..Added::NOTHING };
        self.gemm.launch_adding(&mut self.cublaslt, algorithm, &*x, &*w, added, out)
    }
}

/// Both results, which may be as far apart as each from the exact one, and by a rounding.
fn expect_alike(shape: Extents, ours: &[bf16], theirs: &[bf16]) {
    let [.., k] = matmul::sizes(&shape).map(f64::from);
    let absolute = 2.0 * accumulation(Dtype::E4m3, k) * f64::from(SCALES[0] * SCALES[1]);
    for (at, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        let (ours, theirs) = (ours.to_f64(), theirs.to_f64());
        // Written so that a NaN is wrong.
        let alike = (ours - theirs).abs() <= absolute + theirs.abs() / 128.0;
        assert!(alike, "{shape}: element {at} is {ours}, by cuBLASLt {theirs}; {absolute:.3e} is allowed");
    }
}

fn shapes() -> Vec<(u32, u32, u32)> {
    let mut rng = StdRng::seed_from_u64(settings::number("AUTOKERNEL_SEED", 15));
    let mut one_of = |of: &[u32]| *of.choose(&mut rng).expect("there are some");
    let drawn =
        (0..settings::number("AUTOKERNEL_CASES", 6)).map(|_| (one_of(&ROWS), one_of(&COLUMNS), one_of(&COLUMNS)));
    SHAPES.into_iter().chain(drawn).collect()
}

#[test]
#[ignore = "a measurement of minutes, for a GPU that does nothing else"]
fn scaled_blocks_beside_cublaslt() {
    let test = "gpu_block_scales_speed::scaled_blocks_beside_cublaslt";
    let Some(device) = timed::gpu(test, TIMED_IMAGES.len()) else { return };
    println!("{device}; medians of {ROUNDS} rounds of {LAUNCHES} launches, nt e4m3 into bf16; above 1 is faster");
    let mut timer = Timer::new(&device, Cache::Warm).unwrap();
    let mut compared = 0;
    for (m, n, k) in shapes() {
        let (extents, sizes) = (matmul::extents(m, n, k), [m, n, k].map(|size| size as usize));
        let [rows, columns, depth] = sizes;
        let count = (ROTATED_BYTES / ((rows + columns) * depth)).clamp(2, 24) as u64;
        let mut sets: Vec<Set> = (0..count).map(|seed| Set::random(&device, sizes, seed)).collect();
        let count = sets.len();
        println!("\n{extents}, {count} sets of operands");
        let ours = best(&device, &mut timer, &mut sets);
        sets[0].launch(&device, &ours.kernel).unwrap();
        let result = sets[0].out.to_vec().unwrap();
        let flop = 2.0 * f64::from(m) * f64::from(n) * f64::from(k);
        let mut theirs = match Theirs::new(&device, extents) {
            Ok(theirs) => theirs,
            Err(why) => {
                println!("    cuBLASLt has none: {why}");
                continue;
            }
        };
        let algorithm = fastest(theirs.gemm.algorithms(), |algorithm, launches| {
            let mut run = |launch: usize| Ok(theirs.launch(algorithm, &mut sets[launch % count])?);
            Ok::<_, autokernel::Error>(timer.time_batch(launches, &mut run).ok())
        });
        let (algorithm, _) = algorithm.unwrap().expect("an algorithm of cuBLASLt runs");
        theirs.launch(algorithm, &mut sets[0]).unwrap();
        expect_alike(extents, &result, &sets[0].out.to_vec().unwrap());
        compared += 1;

        let sets = RefCell::new(&mut sets);
        let mut of_ours = |launch: usize| sets.borrow_mut()[launch % count].launch(&device, &ours.kernel);
        let mut of_theirs = |launch: usize| Ok(theirs.launch(algorithm, &mut sets.borrow_mut()[launch % count])?);
        let times = timer.interleave(ROUNDS, LAUNCHES, &mut [&mut of_ours, &mut of_theirs]).unwrap();
        let (median_ms, ratio) = (times.timing(0).unwrap().median_ms, times.ratio(1, 0).unwrap());
        println!(
            "{extents}: {median_ms:.4} ms, {:.0} TFLOP/s, {:.3} of cuBLASLt (spread {:.1} %), by {}",
            flop / (median_ms * 1e9),
            ratio.median,
            ratio.spread_pct,
            ours.schedule
        );
    }
    assert!(compared > 0, "cuBLASLt offered nothing at any shape: nothing was compared");
}
