//! How fast products of 8-bit floats are beside cuBLASLt's with fast accumulation, in the same rounds: with a scale each, and with scales of
//! rows and columns, beside cuBLASLt's own of these where it has them and beside its product of a scale each. Of few rows, what share of the
//! bandwidth of a copy of the second factor they read it with.
//!
//! A measurement, so it is asked for: `cargo test --release -p gpu-tests --features speed --test gpu_fp8_speed -- --ignored
//! --nocapture`. `AUTOKERNEL_SEED` draws other shapes beside the listed ones, `AUTOKERNEL_CASES` so many. Sets of operands rotate
//! past the L2 cache. Each kernel is run by the schedule that is fastest at the shape, cuBLASLt by the fastest of its algorithms. A
//! wrong result is a failure: of every image at small shapes against fp64, and of what was timed against cuBLASLt. `AUTOKERNEL_CASES=0
//! AUTOKERNEL_SHAPES=16x8192x8192,16x28672x8192` runs those alone.

use std::cell::RefCell;

use autokernel::timing::{Cache, Timer, Work};
use autokernel::{Argument, Column, CompiledKernel, Device, Dtype, Extents, Matrix, Row, bf16, e4m3, matmul};
use autokernel_baseline::{Added, CublasLt, Epilogue, Gemm, GemmProblem, HEURISTICS, fastest};
use autokernel_codegen::problem::Problem;
use gpu_tests::bodies::{TIMED_FP8, TIMED_IMAGES, TimedImage, check_launch};
use gpu_tests::host::Values;
use gpu_tests::place::Place;
use gpu_tests::ranking::under_load;
use gpu_tests::settings;
use gpu_tests::timed::{self, Drawn};
use gpu_tests::tolerance::accumulation;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

const SHAPES: [(u32, u32, u32); 6] = [
    (4096, 4096, 4096),
    (8192, 8192, 8192),
    (4096, 14_336, 4096),
    (16, 8192, 8192),
    (16, 28_672, 8192),
    (64, 28_672, 8192),
];
/// The most rows that are timed beside a copy.
const FEW: u32 = 16;
/// What drawn shapes are made of: rows and columns of common layers, whose rows cuBLASLt takes.
const ROWS: [u32; 7] = [1, 8, 32, 128, 512, 2048, 8192];
const COLUMNS: [u32; 8] = [2048, 3584, 4096, 5120, 6144, 8192, 10_240, 14_336];
const ROUNDS: usize = 24;
const LAUNCHES: usize = 12;
/// Bytes that sets of operands have together at least: several times the L2 cache.
const ROTATED_BYTES: usize = 200 << 20;
const SCALES: [f32; 2] = [0.5, 1.0 / 64.0];

/// What a row, or a column, is scaled by beside that: powers of two, so that a result of one kind of scales tells that of the other.
fn own_scale(at: usize) -> f32 {
    [1.0, 0.5, 0.25][at % 3]
}

/// The operands of every candidate.
struct Set {
    x: Matrix<e4m3>,
    w: Matrix<e4m3>,
    of_rows: Column<f32>,
    of_columns: Row<f32>,
    scales: [Row<f32>; 2],
    /// Those of rows, as cuBLASLt is handed them.
    row_of_rows: Row<f32>,
    out: Matrix<bf16>,
}

impl Set {
    fn random(device: &Device, [m, n, k]: [usize; 3], seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let drawn = Drawn::new(&mut rng, |rng| e4m3::from_f32(rng.random_range(-1.0..1.0)));
        let mut matrix =
            |rows, columns| drawn.matrix(device, [rows, columns], rng.random_range(0..drawn.numbers().len()));
        let (x, w) = (matrix(m, k), matrix(n, k));
        let own = |scale: f32, len: usize| -> Vec<f32> { (0..len).map(|at| scale * own_scale(at)).collect() };
        let [of_rows, of_columns] = [own(SCALES[0], m), own(SCALES[1], n)];
        Set {
            x,
            w,
            of_rows: Column::from_slice(device, &of_rows).unwrap(),
            of_columns: Row::from_slice(device, &of_columns).unwrap(),
            scales: SCALES.map(|scale| Row::from_slice(device, &[scale]).unwrap()),
            row_of_rows: Row::from_slice(device, &of_rows).unwrap(),
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
            let place = |rows, columns| Place::random(&mut places, rows, columns);
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

/// cuBLASLt's product, and its fastest algorithm.
struct Theirs {
    cublaslt: CublasLt,
    gemm: Gemm,
    has_one_each: bool,
    algorithm: usize,
}

impl Theirs {
    /// The one with a scale for each factor, or for each row and column.
    fn new(
        device: &Device,
        timer: &mut Timer,
        extents: Extents,
        has_one_each: bool,
        sets: &mut [Set],
    ) -> autokernel_baseline::Result<Self> {
        let cublaslt = CublasLt::new(device)?;
        let epilogue = Epilogue::Identity;
        let problem =
            GemmProblem { extents, dtype: Dtype::E4m3, output: Dtype::Bf16, layout: matmul::Layout::Nt, epilogue };
        let gemm = if has_one_each {
            cublaslt.gemm(problem, HEURISTICS)?
        } else {
            cublaslt.gemm_of_rows_and_columns(problem, HEURISTICS)?
        };
        let mut theirs = Theirs { cublaslt, gemm, has_one_each, algorithm: 0 };
        let found = fastest(theirs.gemm.algorithms(), |algorithm, launches| {
            theirs.algorithm = algorithm;
            let mut run = |launch: usize| Ok(theirs.launch(&mut sets[launch % sets.len()])?);
            Ok::<_, autokernel::Error>(timer.time_batch(launches, &mut run).ok())
        });
        let (algorithm, _) = found?.ok_or(autokernel_baseline::Error::NoAlgorithm)?;
        Ok(Theirs { algorithm, ..theirs })
    }

    fn launch(&mut self, set: &mut Set) -> autokernel_baseline::Result<()> {
        let Set { x, w, scales: [of_x, of_w], row_of_rows, of_columns, out, .. } = set;
        let scales = if self.has_one_each { [&*of_x, &*of_w] } else { [&*row_of_rows, &*of_columns] };
        let added = Added { scales: Some(scales), ..Added::NOTHING };
        self.gemm.launch_adding(&mut self.cublaslt, self.algorithm, &*x, &*w, added, out)
    }

    /// Its result, of which each element is scaled alike.
    fn result(&mut self, set: &mut Set) -> Vec<f64> {
        self.launch(set).unwrap();
        scaled_alike(set, self.has_one_each)
    }
}

/// What lies in the output, without what rows and columns are scaled by of their own.
fn scaled_alike(set: &Set, has_one_each: bool) -> Vec<f64> {
    let columns = set.out.ncols();
    let own = |at: usize| {
        if has_one_each { 1.0 } else { f64::from(own_scale(at / columns) * own_scale(at % columns)) }
    };
    set.out.to_vec().unwrap().iter().enumerate().map(|(at, value)| value.to_f64() / own(at)).collect()
}

/// Both results, which may be as far apart as each from the exact one, and by a rounding.
fn expect_alike(shape: Extents, name: &str, found: &[f64], expected: &[f64]) {
    let [.., k] = matmul::sizes(&shape).map(f64::from);
    let absolute = 2.0 * accumulation(Dtype::E4m3, k) * f64::from(SCALES[0] * SCALES[1]);
    for (at, (found, expected)) in found.iter().zip(expected).enumerate() {
        // Written so that a NaN is wrong.
        let alike = (found - expected).abs() <= absolute + expected.abs() / 128.0;
        assert!(alike, "{name}, {shape}: element {at} is {found}, by cuBLASLt {expected}; {absolute:.3e} is allowed");
    }
}

fn shapes() -> Vec<(u32, u32, u32)> {
    let mut rng = StdRng::seed_from_u64(settings::number("AUTOKERNEL_SEED", 15));
    let mut one_of = |of: &[u32]| *of.choose(&mut rng).expect("there are some");
    let drawn =
        (0..settings::number("AUTOKERNEL_CASES", 6)).map(|_| (one_of(&ROWS), one_of(&COLUMNS), one_of(&COLUMNS)));
    settings::shapes("AUTOKERNEL_SHAPES").unwrap_or_else(|| SHAPES.to_vec()).into_iter().chain(drawn).collect()
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
        let mut of_one_each = Theirs::new(&device, &mut timer, extents, true, &mut sets).unwrap();
        let mut of_rows = Theirs::new(&device, &mut timer, extents, false, &mut sets);
        let expected = of_one_each.result(&mut sets[0]);
        match &mut of_rows {
            Ok(theirs) => {
                expect_alike(extents, "cuBLASLt's rows and columns", &theirs.result(&mut sets[0]), &expected);
            }
            Err(why) => println!("    cuBLASLt has no scales of rows and columns here: {why}"),
        }
        let mut copies: Vec<Matrix<e4m3>> = if m <= FEW {
            (0..count).map(|_| Matrix::zeros(&device, columns, depth).unwrap()).collect()
        } else {
            Vec::new()
        };
        for (name, _) in TIMED_FP8 {
            let ours = best(&device, &mut timer, name, &mut sets);
            ours.launch(&device, &mut sets[0]).unwrap();
            expect_alike(extents, name, &scaled_alike(&sets[0], ours.has_one_each), &expected);

            let (sets, copies) = (RefCell::new(&mut sets), RefCell::new(&mut copies));
            let mut run_ours = |launch: usize| ours.launch(&device, &mut sets.borrow_mut()[launch % count]);
            let mut run_one_each = |launch: usize| Ok(of_one_each.launch(&mut sets.borrow_mut()[launch % count])?);
            let mut run_rows = of_rows
                .as_mut()
                .ok()
                .filter(|_| !ours.has_one_each)
                .map(|theirs| |launch: usize| Ok(theirs.launch(&mut sets.borrow_mut()[launch % count])?));
            let stream = device.stream().expect("a GPU").clone();
            let mut copy = |launch: usize| {
                let (sets, mut copies) = (sets.borrow(), copies.borrow_mut());
                let (from, to) = (sets[launch % count].w.as_cudarc(), copies[launch % count].as_cudarc_mut());
                stream
                    .memcpy_dtod(from.expect("on a GPU"), to.expect("on a GPU"))
                    .map_err(|source| autokernel::Error::Cuda { doing: "copying in device memory", source })
            };
            let mut works: Vec<Work<'_>> = vec![&mut run_ours, &mut run_one_each];
            let number_of_rows = run_rows.as_mut().map(|run| {
                works.push(run);
                works.len() - 1
            });
            let number_of_copy = (m <= FEW).then(|| {
                works.push(&mut copy);
                works.len() - 1
            });
            let times = timer.interleave(ROUNDS, LAUNCHES, &mut works).unwrap();
            let ms = |work: usize| times.timing(work).unwrap().median_ms;
            let tflops = 2.0 * f64::from(m) * f64::from(n) * f64::from(k) / (ms(0) * 1e9);
            let beside = |work: usize, of: &str| {
                let ratio = times.ratio(work, 0).unwrap();
                format!("{:.3} of cuBLASLt with {of} (spread {:.1} %)", ratio.median, ratio.spread_pct)
            };
            let own = number_of_rows.map(|work| beside(work, "the same scales") + ", ").unwrap_or_default();
            // A copy reads as many bytes and writes them.
            let share = number_of_copy.map(|work| {
                let bytes = f64::from(n) * f64::from(k);
                let (rate, of_copy) = (bytes / ms(0), 2.0 * bytes / ms(work));
                format!(", {:.0} GB/s, {:.3} of a copy's {:.0}", rate / 1e6, rate / of_copy, of_copy / 1e6)
            });
            println!(
                "{name:>34}: {:.4} ms, {tflops:.0} TFLOP/s, {own}{}{}, by {}",
                ms(0),
                beside(1, "a scale each"),
                share.unwrap_or_default(),
                ours.schedule
            );
        }
    }
}
