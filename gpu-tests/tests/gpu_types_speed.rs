//! How fast products of whole numbers of 8 bits and of tf32 are beside cuBLASLt's, in the same rounds.
//!
//! A measurement, so it is asked for: `cargo test --release -p gpu-tests --features speed --test gpu_types_speed -- --ignored
//! --nocapture`. cuBLASLt leaves products of i8 as whole numbers of 32 bits, unscaled: what stands beside it is our product in f32,
//! which writes as many bytes, and the one that is scaled by rows and columns into bf16, which is also held against cuBLASLt's and a kernel
//! behind it that scales. `AUTOKERNEL_SHAPES=4096x4096x4096` are taken in the place of those that are listed.
//! Sets of operands rotate past the L2 cache. Each kernel is run by the schedule that is fastest at the shape, cuBLASLt by the fastest
//! of its algorithms. A wrong result is a failure: i8 must give cuBLASLt's numbers, as f32, tf32 what its tolerance allows.

use std::cell::RefCell;

use autokernel::timing::{Cache, Timer, Work};
use autokernel::{
    Argument, Column, CompiledKernel, Device, Dtype, Element, Extents, Matrix, Number, Row, bf16, matmul,
};
use autokernel_baseline::{CublasLt, Epilogue, Gemm, GemmProblem, HEURISTICS, fastest};
use gpu_tests::bodies::{I8_SCALED, I8_SUMS, SCALED_BEHIND, TF32_SUMS, TIMED_IMAGES};
use gpu_tests::ranking::under_load;
use gpu_tests::settings;
use gpu_tests::timed::{self, Drawn};
use gpu_tests::tolerance::accumulation;
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

const SHAPES: [(u32, u32, u32); 5] =
    [(4096, 4096, 4096), (8192, 8192, 8192), (4096, 14_336, 4096), (16, 8192, 8192), (64, 28_672, 8192)];
/// What drawn shapes are made of: rows and columns of common layers.
const ROWS: [u32; 7] = [16, 32, 64, 128, 512, 2048, 8192];
const COLUMNS: [u32; 8] = [2048, 3584, 4096, 5120, 6144, 8192, 10_240, 14_336];
const ROUNDS: usize = 24;
const LAUNCHES: usize = 12;
/// Bytes that sets of operands have together at least: several times the L2 cache.
const ROTATED_BYTES: usize = 200 << 20;
const SCALES: [f32; 2] = [0.5, 1.0 / 64.0];

/// The operands of every candidate, factors of type `T`.
struct Set<T: Element> {
    x: Matrix<T>,
    w: Matrix<T>,
    of_rows: Column<f32>,
    of_columns: Row<f32>,
    sums: Matrix<f32>,
    scaled: Matrix<bf16>,
}

impl<T: Element> Set<T> {
    fn random(device: &Device, [m, n, k]: [usize; 3], seed: u64, draw: fn(&mut StdRng) -> T) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let drawn = Drawn::new(&mut rng, draw);
        let mut matrix =
            |rows, columns| drawn.matrix(device, [rows, columns], rng.random_range(0..drawn.numbers().len()));
        let (x, w) = (matrix(m, k), matrix(n, k));
        Set {
            x,
            w,
            of_rows: Column::from_slice(device, &vec![SCALES[0]; m]).unwrap(),
            of_columns: Row::from_slice(device, &vec![SCALES[1]; n]).unwrap(),
            sums: Matrix::zeros(device, m, n).unwrap(),
            scaled: Matrix::zeros(device, m, n).unwrap(),
        }
    }

    fn launch(&mut self, device: &Device, kernel: &CompiledKernel, name: &str) -> autokernel::Result<()> {
        let Set { x, w, of_rows, of_columns, sums, scaled } = self;
        let (x, w): (Argument<'_>, Argument<'_>) = ((&*x).into(), (&*w).into());
        if name == I8_SCALED.0 {
            return kernel.launch(device, &mut [x, w, of_rows.view().into(), of_columns.view().into(), scaled.into()]);
        }
        kernel.launch(device, &mut [x, w, sums.into()])
    }

    /// What cuBLASLt leaves to another kernel. Words of whole numbers are read as floats, which takes as long.
    fn scale(&mut self, device: &Device, kernel: &CompiledKernel) -> autokernel::Result<()> {
        let Set { of_rows, of_columns, sums, scaled, .. } = self;
        kernel.launch(device, &mut [(&*sums).into(), of_rows.view().into(), of_columns.view().into(), scaled.into()])
    }
}

/// A loaded kernel.
struct Kernel {
    schedule: &'static str,
    kernel: CompiledKernel,
}

/// The kernel of that name whose schedule is fastest on those operands.
fn best<T: Element>(device: &Device, timer: &mut Timer, name: &str, sets: &mut [Set<T>]) -> Kernel {
    let images = TIMED_IMAGES.iter().filter(|image| image.name == name);
    let load = |image: &'static gpu_tests::bodies::TimedImage| Kernel {
        schedule: image.schedule,
        kernel: image.load(device).unwrap(),
    };
    let mut kernels: Vec<Kernel> = images.map(load).collect();
    let (count, sets) = (sets.len(), RefCell::new(sets));
    let launch = |it: &Kernel, launch: usize| sets.borrow_mut()[launch % count].launch(device, &it.kernel, name);
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
    fn new(device: &Device, extents: Extents, dtype: Dtype) -> Self {
        let cublaslt = CublasLt::new(device).unwrap();
        let epilogue = Epilogue::Identity;
        let gemm = GemmProblem { extents, dtype, output: Dtype::F32, layout: matmul::Layout::Nt, epilogue };
        let gemm = cublaslt.gemm(gemm, HEURISTICS).unwrap();
        Theirs { cublaslt, gemm }
    }

    fn launch<T: Element>(&mut self, algorithm: usize, set: &mut Set<T>) -> autokernel_baseline::Result<()> {
        self.gemm.launch(&mut self.cublaslt, algorithm, &set.x, &set.w, &mut set.sums)
    }
}

/// What cuBLASLt left in words of 32 bits.
fn sums_of<T: Element>(set: &Set<T>) -> Vec<f32> {
    let words = set.sums.to_vec().unwrap();
    if T::DTYPE == Dtype::I8 { words.iter().map(|word| word.to_bits().cast_signed() as f32).collect() } else { words }
}

/// What a kernel wrote, against cuBLASLt's sums: whole numbers as they are, tf32 as far apart as each may be from the exact one.
fn expect_alike<T: Element>(shape: Extents, name: &str, set: &Set<T>, theirs: &[f32]) {
    let is_scaled = name == I8_SCALED.0;
    let ours: Vec<f32> = if is_scaled {
        set.scaled.to_vec().unwrap().into_iter().map(Number::to_f32).collect()
    } else {
        set.sums.to_vec().unwrap()
    };
    let [.., k] = matmul::sizes(&shape).map(f64::from);
    let allowed = if T::DTYPE == Dtype::I8 { 0.0 } else { 2.0 * accumulation(T::DTYPE, k) };
    for (at, (ours, sum)) in ours.iter().zip(theirs).enumerate() {
        let theirs = if is_scaled { bf16::from_f32(sum * SCALES[0] * SCALES[1]).to_f32() } else { *sum };
        // Written so that a NaN is wrong.
        let alike = (f64::from(*ours) - f64::from(theirs)).abs() <= allowed;
        assert!(alike, "{name}, {shape}: element {at} is {ours}, by cuBLASLt {theirs}; {allowed:.3e} is allowed");
    }
}

fn shapes() -> Vec<(u32, u32, u32)> {
    let mut rng = StdRng::seed_from_u64(settings::number("AUTOKERNEL_SEED", 16));
    let mut one_of = |of: &[u32]| *of.choose(&mut rng).expect("there are some");
    let drawn =
        (0..settings::number("AUTOKERNEL_CASES", 6)).map(|_| (one_of(&ROWS), one_of(&COLUMNS), one_of(&COLUMNS)));
    settings::shapes("AUTOKERNEL_SHAPES").unwrap_or_else(|| SHAPES.to_vec()).into_iter().chain(drawn).collect()
}

/// Times the kernels of those names, on factors that `draw` draws, at every shape.
fn beside_cublaslt<T: Element>(test: &str, names: &[&'static str], draw: fn(&mut StdRng) -> T) {
    let Some(device) = timed::gpu(test, TIMED_IMAGES.len()) else { return };
    println!("{device}; medians of {ROUNDS} rounds of {LAUNCHES} launches, nt {}; above 1 is faster", T::DTYPE);
    let mut timer = Timer::new(&device, Cache::Warm).unwrap();
    let behind = TIMED_IMAGES.iter().find(|image| image.name == SCALED_BEHIND.0).expect("it was compiled");
    let behind = &behind.load(&device).unwrap();
    for (m, n, k) in shapes() {
        let (extents, sizes) = (matmul::extents(m, n, k), [m, n, k].map(|size| size as usize));
        let bytes = (sizes[0] + sizes[1]) * sizes[2] * T::DTYPE.bytes() as usize;
        let count = (ROTATED_BYTES / bytes).clamp(2, 24);
        let mut sets: Vec<Set<T>> = (0..count as u64).map(|seed| Set::random(&device, sizes, seed, draw)).collect();
        println!("\n{extents}, {count} sets of operands");
        let mut theirs = Theirs::new(&device, extents, T::DTYPE);
        let algorithm = fastest(theirs.gemm.algorithms(), |algorithm, launches| {
            let mut run = |launch: usize| Ok(theirs.launch(algorithm, &mut sets[launch % count])?);
            Ok::<_, autokernel::Error>(timer.time_batch(launches, &mut run).ok())
        });
        let (algorithm, _) = algorithm.unwrap().expect("an algorithm of cuBLASLt runs");
        theirs.launch(algorithm, &mut sets[0]).unwrap();
        let expected = sums_of(&sets[0]);
        for &name in names {
            let ours = best(&device, &mut timer, name, &mut sets);
            sets[0].launch(&device, &ours.kernel, name).unwrap();
            expect_alike(extents, name, &sets[0], &expected);

            let sets = RefCell::new(&mut sets);
            let mut of_ours = |launch: usize| sets.borrow_mut()[launch % count].launch(&device, &ours.kernel, name);
            let theirs = RefCell::new(&mut theirs);
            let mut of_cublaslt =
                |launch: usize| Ok(theirs.borrow_mut().launch(algorithm, &mut sets.borrow_mut()[launch % count])?);
            let mut of_both = |launch: usize| {
                let set = &mut sets.borrow_mut()[launch % count];
                theirs.borrow_mut().launch(algorithm, set)?;
                set.scale(&device, behind)
            };
            let mut work: Vec<Work<'_>> = vec![&mut of_ours, &mut of_cublaslt];
            if name == I8_SCALED.0 {
                work.push(&mut of_both);
            }
            let times = timer.interleave(ROUNDS, LAUNCHES, &mut work).unwrap();
            let (median_ms, ratio) = (times.timing(0).unwrap().median_ms, times.ratio(1, 0).unwrap());
            let of_both = times
                .ratio(2, 0)
                .map_or(String::new(), |it| format!(", {:.3} of it and a kernel that scales", it.median));
            let rate = 2.0 * f64::from(m) * f64::from(n) * f64::from(k) / (median_ms * 1e9);
            println!(
                "{name:>34}: {median_ms:.4} ms, {rate:.0} · 10¹² operations/s, {:.3} of cuBLASLt (spread {:.1} %){of_both}, by {}",
                ratio.median, ratio.spread_pct, ours.schedule
            );
        }
    }
}

#[test]
#[ignore = "a measurement of minutes, for a GPU that does nothing else"]
fn whole_numbers_and_tf32_beside_cublaslt() {
    let test = "gpu_types_speed::whole_numbers_and_tf32_beside_cublaslt";
    beside_cublaslt::<i8>(test, &[I8_SUMS, I8_SCALED.0], |rng| rng.random());
    beside_cublaslt::<f32>(test, &[TF32_SUMS], |rng| rng.random_range(-1.0..1.0));
}
