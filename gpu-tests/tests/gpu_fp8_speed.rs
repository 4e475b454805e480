//! How fast products of 8-bit floats are beside cuBLASLt's with fast accumulation and a scale each, in the same rounds.
//!
//! A measurement, so it is asked for: `cargo test --release -p gpu-tests --features speed --test gpu_fp8_speed -- --ignored
//! --nocapture`. `AUTOKERNEL_SEED` draws other shapes beside the listed ones, `AUTOKERNEL_CASES` so many. Sets of operands rotate
//! past the L2 cache. Each kernel is run by the schedule that is fastest at the shape, cuBLASLt by the fastest of its algorithms. A
//! wrong result is a failure: of every image at small shapes against fp64, and of what was timed against cuBLASLt.

use std::cell::RefCell;

use autokernel::timing::{Cache, Timer};
use autokernel::{Argument, Column, CompiledKernel, Device, Dtype, Extents, Matrix, Row, bf16, e4m3, matmul};
use autokernel_baseline::{Added, CublasLt, Epilogue, Gemm, GemmProblem, HEURISTICS, fastest};
use autokernel_codegen::problem::Problem;
use gpu_tests::bodies::{TIMED_FP8, TIMED_IMAGES, TimedImage, check_launch};
use gpu_tests::host::Values;
use gpu_tests::placement::Placement;
use gpu_tests::ranking::under_load;
use gpu_tests::settings;
use gpu_tests::timed::{self, Drawn};
use gpu_tests::tolerance::accumulation;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

const SHAPES: [(u32, u32, u32); 5] =
    [(4096, 4096, 4096), (8192, 8192, 8192), (4096, 14_336, 4096), (16, 8192, 8192), (64, 28_672, 8192)];
/// What drawn shapes are made of: rows and columns of common layers, whose rows cuBLASLt takes.
const ROWS: [u32; 7] = [1, 8, 32, 128, 512, 2048, 8192];
const COLUMNS: [u32; 8] = [2048, 3584, 4096, 5120, 6144, 8192, 10_240, 14_336];
const ROUNDS: usize = 24;
const LAUNCHES: usize = 12;
/// Bytes that sets of operands have together at least: several times the L2 cache.
const ROTATED_BYTES: usize = 200 << 20;
const SCALES: [f32; 2] = [0.5, 1.0 / 64.0];

/// The operands of every candidate.
struct Set {
    x: Matrix<e4m3>,
    w: Matrix<e4m3>,
    of_rows: Column<f32>,
    of_columns: Row<f32>,
    scales: [Row<f32>; 2],
    out: Matrix<bf16>,
}

impl Set {
    fn random(device: &Device, [m, n, k]: [usize; 3], seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let drawn = Drawn::new(&mut rng, |rng| e4m3::from_f32(rng.random_range(-1.0..1.0)));
        let mut matrix =
            |rows, columns| drawn.matrix(device, [rows, columns], rng.random_range(0..drawn.numbers().len()));
        let (x, w) = (matrix(m, k), matrix(n, k));
        let row = |value: f32, len: usize| Row::from_slice(device, &vec![value; len]).unwrap();
        Set {
            x,
            w,
            of_rows: Column::from_slice(device, &vec![SCALES[0]; m]).unwrap(),
            of_columns: row(SCALES[1], n),
            scales: SCALES.map(|scale| row(scale, 1)),
            out: Matrix::zeros(device, m, n).unwrap(),
        }
    }

    /// The arguments of a kernel, with a scale for each factor or for each row and column.
    fn arguments(&mut self, has_one_each: bool) -> [Argument<'_>; 5] {
        let Set { x, w, of_rows, of_columns, out, .. } = self;
        let [of_x, of_w] = SCALES;
        if has_one_each {
            return [(&*x).into(), (&*w).into(), of_x.into(), of_w.into(), out.into()];
        }
        [(&*x).into(), (&*w).into(), of_rows.view().into(), of_columns.view().into(), out.into()]
    }
}

/// A loaded kernel.
struct Kernel {
    schedule: &'static str,
    has_one_each: bool,
    kernel: CompiledKernel,
}

impl Kernel {
    fn load(device: &Device, image: &TimedImage) -> Self {
        let has_one_each = image.name == TIMED_FP8[0].0;
        Kernel { schedule: image.schedule, has_one_each, kernel: image.load(device).unwrap() }
    }

    fn launch(&self, device: &Device, set: &mut Set) -> autokernel::Result<()> {
        self.kernel.launch(device, &mut set.arguments(self.has_one_each))
    }
}

fn images(name: &str) -> impl Iterator<Item = &'static TimedImage> {
    TIMED_IMAGES.iter().filter(move |image| image.name == name)
}

/// Every image at small shapes, ragged ones among them, against fp64.
fn check_images(device: &Device) {
    for image in TIMED_FP8.into_iter().flat_map(|(name, _)| images(name)) {
        let Problem::Matmul(problem) = image.problem() else { panic!("{} is no product", image.name) };
        let kernel = image.load(device).unwrap();
        for (seed, (m, n, k)) in (0..).zip([(300, 520, 1040), (16, 512, 2048), (1, 77, 131)]) {
            let mut places = StdRng::seed_from_u64(seed);
            let place = |rows, columns| Placement::random(&mut places, rows, columns);
            let launch = |arguments: &mut [Argument<'_>]| kernel.launch(device, arguments);
            check_launch(device, &problem, (matmul::extents(m, n, k), Values::Uniform, seed), place, launch)
                .unwrap_or_else(|report| panic!("{} by {}: {report}", image.name, image.schedule));
        }
    }
}

/// The kernel of that name whose schedule is fastest on those operands.
fn best(device: &Device, timer: &mut Timer, name: &str, sets: &mut [Set]) -> Kernel {
    let mut kernels: Vec<Kernel> = images(name).map(|image| Kernel::load(device, image)).collect();
    let (count, sets) = (sets.len(), RefCell::new(sets));
    let launch = |kernel: &Kernel, launch: usize| kernel.launch(device, &mut sets.borrow_mut()[launch % count]);
    let ranked = under_load(timer, LAUNCHES, &kernels, launch).unwrap();
    for (ms, kernel) in &ranked {
        println!("{name:>34}: {ms:.4} ms by {}", kernel.schedule);
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
    fn new(device: &Device, extents: Extents) -> Self {
        let cublaslt = CublasLt::new(device).unwrap();
        let epilogue = Epilogue::Identity;
        let problem =
            GemmProblem { extents, dtype: Dtype::E4m3, output: Dtype::Bf16, layout: matmul::Layout::Nt, epilogue };
        let gemm = cublaslt.gemm(problem, HEURISTICS).unwrap();
        Theirs { cublaslt, gemm }
    }

    fn launch(&mut self, algorithm: usize, set: &mut Set) -> autokernel_baseline::Result<()> {
        let Set { x, w, scales: [of_x, of_w], out, .. } = set;
        let added = Added { scales: Some([&*of_x, &*of_w]), ..Added::NOTHING };
        self.gemm.launch_adding(&mut self.cublaslt, algorithm, &*x, &*w, added, out)
    }
}

/// Both results, which may be as far apart as each from the exact one, and by a rounding.
fn expect_alike(shape: Extents, name: &str, ours: &[bf16], theirs: &[bf16]) {
    let [.., k] = matmul::sizes(&shape).map(f64::from);
    let absolute = 2.0 * accumulation(Dtype::E4m3, k) * f64::from(SCALES[0] * SCALES[1]);
    for (at, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        let (ours, theirs) = (ours.to_f64(), theirs.to_f64());
        // Written so that a NaN is wrong.
        let alike = (ours - theirs).abs() <= absolute + theirs.abs() / 128.0;
        assert!(alike, "{name}, {shape}: element {at} is {ours}, by cuBLASLt {theirs}; {absolute:.3e} is allowed");
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
fn eight_bit_floats_beside_cublaslt() {
    let test = "gpu_fp8_speed::eight_bit_floats_beside_cublaslt";
    let Some(device) = timed::gpu(test, TIMED_IMAGES.len()) else { return };
    check_images(&device);
    println!("{device}; medians of {ROUNDS} rounds of {LAUNCHES} launches, nt e4m3 into bf16; above 1 is faster");
    let mut timer = Timer::new(&device, Cache::Warm).unwrap();
    for (m, n, k) in shapes() {
        let (extents, sizes) = (matmul::extents(m, n, k), [m, n, k].map(|size| size as usize));
        let [rows, columns, depth] = sizes;
        let count = (ROTATED_BYTES / ((rows + columns) * depth)).clamp(2, 24) as u64;
        let mut sets: Vec<Set> = (0..count).map(|seed| Set::random(&device, sizes, seed)).collect();
        let count = sets.len();
        println!("\n{extents}, {count} sets of operands");
        let mut theirs = Theirs::new(&device, extents);
        let algorithm = fastest(theirs.gemm.algorithms(), |algorithm, launches| {
            let mut run = |launch: usize| Ok(theirs.launch(algorithm, &mut sets[launch % count])?);
            Ok::<_, autokernel::Error>(timer.time_batch(launches, &mut run).ok())
        });
        let (algorithm, _) = algorithm.unwrap().expect("an algorithm of cuBLASLt runs");
        theirs.launch(algorithm, &mut sets[0]).unwrap();
        let expected = sets[0].out.to_vec().unwrap();
        for (name, _) in TIMED_FP8 {
            let ours = best(&device, &mut timer, name, &mut sets);
            ours.launch(&device, &mut sets[0]).unwrap();
            expect_alike(extents, name, &sets[0].out.to_vec().unwrap(), &expected);

            let sets = RefCell::new(&mut sets);
            let mut of_body = |launch: usize| ours.launch(&device, &mut sets.borrow_mut()[launch % count]);
            let mut of_cublaslt = |launch: usize| Ok(theirs.launch(algorithm, &mut sets.borrow_mut()[launch % count])?);
            let times = timer.interleave(ROUNDS, LAUNCHES, &mut [&mut of_body, &mut of_cublaslt]).unwrap();
            let (median_ms, ratio) = (times.timing(0).unwrap().median_ms, times.ratio(1, 0).unwrap());
            let tflops = 2.0 * f64::from(m) * f64::from(n) * f64::from(k) / (median_ms * 1e9);
            println!(
                "{name:>34}: {median_ms:.4} ms, {tflops:.0} TFLOP/s, {:.3} of cuBLASLt (spread {:.1} %), by {}",
                ratio.median, ratio.spread_pct, ours.schedule
            );
        }
    }
}
