//! How fast products of few rows are whose weights have 8 or 4 bits, beside our own of bf16 and a copy of the weights' bytes, in the same
//! rounds.
//!
//! A measurement, so it is asked for: `cargo test --release -p gpu-tests --features speed --test gpu_weights_speed -- --ignored
//! --nocapture`. `AUTOKERNEL_SHAPES=16x8192x8192` are taken in the place of those that are listed, and `AUTOKERNEL_SHOWN` schedules are
//! shown of each. Sets of operands rotate past the L2 cache. Each kernel is run by the schedule that is fastest at the shape. A wrong result
//! is a failure: the first rows are summed in fp64.

use std::cell::RefCell;

use autokernel::timing::{Cache, Timer};
use autokernel::{Argument, CompiledKernel, Device, Element, Matrix, Row, bf16, f16, i4x2, unpack};
use gpu_tests::bodies::{TIMED_IMAGES, TIMED_WEIGHTS, TimedImage, WEIGHTS_BF16};
use gpu_tests::ranking::under_load;
use gpu_tests::settings;
use gpu_tests::timed::{self, Drawn};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const SHAPES: [(u32, u32, u32); 6] =
    [(1, 8192, 8192), (16, 8192, 8192), (16, 28_672, 8192), (64, 8192, 8192), (256, 8192, 8192), (256, 28_672, 8192)];
const ROUNDS: usize = 24;
const LAUNCHES: usize = 12;
/// Bytes that the weights of all sets have together at least: several times the L2 cache.
const ROTATED_BYTES: usize = 200 << 20;
const GROUP: usize = 128;
const SCALE: f32 = 1.0 / 64.0;
/// The zero point of every group that has one.
const ZERO: i8 = -3;
/// Schedules that are shown, the fastest first.
const SHOWN: u64 = 6;
/// Columns of the first row that are summed again.
const SUMMED: usize = 64;

/// The operands of a kernel whose weights are of type `T`.
struct Set<T: Element> {
    x: Matrix<bf16>,
    w: Matrix<T>,
    scale: Row<f32>,
    scales: Matrix<f16>,
    zeros: Matrix<i8>,
    out: Matrix<bf16>,
}

impl<T: Element> Set<T> {
    fn random(device: &Device, [m, n, k]: [usize; 3], seed: u64, draw: fn(&mut StdRng) -> T) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let start = rng.random_range(0..1 << 20);
        let columns = k / numbers_of::<T>();
        Set {
            x: Drawn::uniform(seed).matrix(device, [m, k], 0),
            w: Drawn::new(&mut rng, draw).matrix(device, [n, columns], start),
            scale: Row::from_slice(device, &vec![SCALE; n]).unwrap(),
            scales: Matrix::from_slice(device, &vec![f16::from_f32(SCALE); n * k / GROUP], k / GROUP, n).unwrap(),
            zeros: Matrix::from_slice(device, &vec![ZERO; n * k / GROUP], k / GROUP, n).unwrap(),
            out: Matrix::zeros(device, m, n).unwrap(),
        }
    }

    fn launch(&mut self, device: &Device, kernel: &CompiledKernel, scaling: Scaling) -> autokernel::Result<()> {
        let Set { x, w, scale, scales, zeros, out } = self;
        let mut arguments: Vec<Argument<'_>> = vec![(&*x).into(), (&*w).into()];
        match scaling {
            Scaling::Columns => arguments.push(scale.view().into()),
            Scaling::Groups => arguments.push((&*scales).into()),
            Scaling::GroupsWithZeros => arguments.extend([(&*scales).into(), (&*zeros).into()]),
        }
        arguments.push(out.into());
        kernel.launch(device, &mut arguments)
    }

    /// The first columns of the first row, against fp64.
    fn expect_right(&self, name: &str, numbers: fn(&[T]) -> Vec<f64>) {
        let ([x, out], w) = ([&self.x, &self.out].map(|it| it.to_vec().unwrap()), self.w.to_vec().unwrap());
        let (k, columns) = (self.x.ncols(), self.w.ncols());
        for (column, got) in out.iter().enumerate().take(SUMMED.min(self.w.nrows())) {
            let row = numbers(&w[column * columns..][..columns]);
            let zero = if scaling(name) == Scaling::GroupsWithZeros { f64::from(ZERO) } else { 0.0 };
            let sum: f64 = row.iter().zip(&x[..k]).map(|(w, x)| (w - zero) * f64::from(x.to_f32())).sum();
            let (got, expected) = (f64::from(got.to_f32()), sum * f64::from(SCALE));
            let largest = row.iter().fold(0.0, |largest: f64, w| largest.max(w.abs())) * f64::from(SCALE);
            let allowed = expected.abs() / 256.0 + largest * (k as f64).sqrt() / 1024.0;
            // Written so that a NaN is wrong.
            assert!((got - expected).abs() <= allowed, "{name}: column {column} is {got}, not {expected}");
        }
    }
}

fn numbers_of<T: Element>() -> usize {
    T::DTYPE.numbers() as usize
}

/// A loaded kernel.
struct Kernel {
    schedule: &'static str,
    kernel: CompiledKernel,
}

/// The kernel of that name whose schedule is fastest on those operands; shows those that are nearly as fast.
fn best<T: Element>(device: &Device, timer: &mut Timer, name: &str, sets: &RefCell<Vec<Set<T>>>) -> Kernel {
    let images = TIMED_IMAGES.iter().filter(|image| image.name == name);
    let load = |image: &'static TimedImage| Kernel { schedule: image.schedule, kernel: image.load(device).unwrap() };
    let mut kernels: Vec<Kernel> = images.map(load).collect();
    let (count, scaling) = (sets.borrow().len(), scaling(name));
    let launch = |it: &Kernel, launch: usize| sets.borrow_mut()[launch % count].launch(device, &it.kernel, scaling);
    let ranked = under_load(timer, LAUNCHES, &kernels, launch).unwrap();
    let shown = settings::number("AUTOKERNEL_SHOWN", SHOWN) as usize;
    for (ms, kernel) in ranked.iter().take(shown) {
        println!("    {ms:.4} ms by {}", kernel.schedule);
    }
    let best = ranked[0].1.schedule;
    kernels.retain(|kernel| kernel.schedule == best);
    kernels.swap_remove(0)
}

/// What numbers are scaled by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scaling {
    Columns,
    Groups,
    GroupsWithZeros,
}

fn scaling(name: &str) -> Scaling {
    let named = TIMED_WEIGHTS.iter().find(|(known, ..)| *known == name);
    match named {
        Some((_, "", _)) | None => Scaling::Columns,
        Some((_, _, source)) if source.contains("zeros") => Scaling::GroupsWithZeros,
        Some(_) => Scaling::Groups,
    }
}

/// Times the kernels whose weights are of type `T` beside the one of bf16, and a copy of as many bytes.
fn beside_bf16<T: Element>(
    test: &str,
    kernels: &[&'static str],
    draw: fn(&mut StdRng) -> T,
    numbers: fn(&[T]) -> Vec<f64>,
) {
    let Some(device) = timed::gpu(test, TIMED_IMAGES.len()) else { return };
    println!("{device}; medians of {ROUNDS} rounds of {LAUNCHES} launches; above 1 is faster");
    let mut timer = Timer::new(&device, Cache::Warm).unwrap();
    for (m, n, k) in settings::shapes("AUTOKERNEL_SHAPES").unwrap_or_else(|| SHAPES.to_vec()) {
        let sizes @ [m, n, k] = [m, n, k].map(|size| size as usize);
        let bytes = n * k / numbers_of::<T>();
        let count = (ROTATED_BYTES / bytes).clamp(2, 24);
        let sets =
            |seed| RefCell::new((0..count as u64).map(|at| Set::random(&device, sizes, seed + at, draw)).collect());
        let (ours, copies) = (sets(0), sets(100));
        let uniform = |rng: &mut StdRng| bf16::from_f32(rng.random_range(-1.0..1.0));
        let wide: Vec<Set<bf16>> = (0..2).map(|seed| Set::random(&device, sizes, seed, uniform)).collect();
        let wide = RefCell::new(wide);
        let of_bf16 = best(&device, &mut timer, WEIGHTS_BF16, &wide);
        for &name in kernels {
            let kernel = best(&device, &mut timer, name, &ours);
            ours.borrow_mut()[0].launch(&device, &kernel.kernel, scaling(name)).unwrap();
            ours.borrow()[0].expect_right(name, numbers);
            let stream = device.stream().expect("a GPU").clone();
            let mut launch = |at: usize| ours.borrow_mut()[at % count].launch(&device, &kernel.kernel, scaling(name));
            let mut launch_bf16 =
                |at: usize| wide.borrow_mut()[at % 2].launch(&device, &of_bf16.kernel, Scaling::Columns);
            let mut copy = |at: usize| {
                let (from, mut to) = (ours.borrow(), copies.borrow_mut());
                let (from, to) = (from[at % count].w.as_cudarc(), to[at % count].w.as_cudarc_mut());
                stream.memcpy_dtod(from.expect("on a GPU"), to.expect("on a GPU")).expect("a copy");
                Ok(())
            };
            let times = timer.interleave(ROUNDS, LAUNCHES, &mut [&mut launch, &mut launch_bf16, &mut copy]).unwrap();
            let [ms, copy_ms] = [0, 2].map(|at| times.timing(at).unwrap().median_ms);
            let beside = times.ratio(1, 0).unwrap();
            let [rate, of_copy] = [bytes as f64 / ms, 2.0 * bytes as f64 / copy_ms].map(|rate| rate / 1e6);
            println!(
                "{m}x{n}x{k} {name:>32}: {ms:.4} ms, {rate:.0} GB/s of weights, {:.3} of a copy's {of_copy:.0}, {:.3} x bf16 \
                 (spread {:.1} %), by {}; bf16 by {}",
                rate / of_copy,
                beside.median,
                beside.spread_pct,
                kernel.schedule,
                of_bf16.schedule
            );
        }
    }
}

/// One test, so that nothing else runs meanwhile.
#[test]
#[ignore = "a measurement of minutes, for a GPU that does nothing else"]
fn weights_of_8_and_4_bits_beside_bf16() {
    let test = "gpu_weights_speed::weights_of_8_and_4_bits_beside_bf16";
    let [_, i8, grouped_i8, i4, grouped_i4, shifted_i4] = TIMED_WEIGHTS.map(|(name, ..)| name);
    let as_they_are = |row: &[i8]| row.iter().map(|number| f64::from(*number)).collect();
    beside_bf16::<i8>(test, &[i8, grouped_i8], |rng| rng.random(), as_they_are);
    let unpacked = |row: &[i4x2]| unpack(row).into_iter().map(f64::from).collect();
    beside_bf16::<i4x2>(test, &[i4, grouped_i4, shifted_i4], |rng| i4x2::from_bits(rng.random()), unpacked);
}
