//! What an 8-bit result with a scale for each row costs beside the same product's result in 16 bits, and what it saves: the latter with a
//! kernel behind it that quantises it, in the same rounds.
//!
//! A measurement, so it is asked for: `cargo test --release -p gpu-tests --features speed --test gpu_fp8_output_speed -- --ignored
//! --nocapture`. `AUTOKERNEL_SEED` draws other shapes beside the listed ones, `AUTOKERNEL_CASES` so many. Sets of operands rotate past the
//! L2 cache. Each product is run by the schedule that is fastest for it at the shape. A wrong result of an image is a failure.

use std::cell::RefCell;

use autokernel::timing::{Cache, Timer};
use autokernel::{Argument, Column, CompiledKernel, Device, Matrix, bf16, e4m3, matmul};
use autokernel_codegen::problem::Problem;
use gpu_tests::bodies::{QUANTISE, TIMED_FP8_OUTPUT, TIMED_IMAGES, TimedImage, check_launch};
use gpu_tests::host::Values;
use gpu_tests::placement::Placement;
use gpu_tests::ranking::under_load;
use gpu_tests::settings;
use gpu_tests::timed::{self, Drawn};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

const SHAPES: [(u32, u32, u32); 4] = [(4096, 4096, 4096), (8192, 8192, 8192), (4096, 14_336, 4096), (128, 8192, 8192)];
/// What drawn shapes are made of.
const ROWS: [u32; 4] = [512, 1024, 4096, 8192];
const COLUMNS: [u32; 6] = [2048, 3584, 4096, 6144, 8192, 14_336];
const ROUNDS: usize = 24;
const LAUNCHES: usize = 12;
/// Bytes that sets of operands have together at least: several times the L2 cache.
const ROTATED_BYTES: usize = 200 << 20;

/// The factors, in 16 bits or in 8.
enum Factors {
    Bf16(Matrix<bf16>, Matrix<bf16>),
    E4m3(Matrix<e4m3>, Matrix<e4m3>),
}

struct Set {
    factors: Factors,
    scale: Column<f32>,
    wide: Matrix<bf16>,
    narrow: Matrix<e4m3>,
}

impl Set {
    fn random(device: &Device, [m, n, k]: [usize; 3], of_bytes: bool, seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let start = rng.random_range(0..1 << 20);
        let factors = if of_bytes {
            let drawn = Drawn::new(&mut rng, |rng| e4m3::from_f32(rng.random_range(-1.0..1.0)));
            Factors::E4m3(drawn.matrix(device, [m, k], start), drawn.matrix(device, [n, k], start / 2))
        } else {
            let drawn = Drawn::uniform(seed);
            Factors::Bf16(drawn.matrix(device, [m, k], start), drawn.matrix(device, [n, k], start / 2))
        };
        let scale = Column::from_slice(device, &vec![0.5; m]).unwrap();
        let (wide, narrow) = (Matrix::zeros(device, m, n).unwrap(), Matrix::zeros(device, m, n).unwrap());
        Set { factors, scale, wide, narrow }
    }

    fn product(&mut self, kernel: &CompiledKernel, device: &Device, into_bytes: bool) -> autokernel::Result<()> {
        let Set { factors, scale, wide, narrow } = self;
        let [x, w]: [Argument<'_>; 2] = match factors {
            Factors::Bf16(x, w) => [(&*x).into(), (&*w).into()],
            Factors::E4m3(x, w) => [(&*x).into(), (&*w).into()],
        };
        let out = if into_bytes { narrow.into() } else { wide.into() };
        kernel.launch(device, &mut [x, w, scale.view().into(), out])
    }

    fn quantise(&mut self, kernel: &CompiledKernel, device: &Device) -> autokernel::Result<()> {
        let Set { scale, wide, narrow, .. } = self;
        kernel.launch(device, &mut [(&*wide).into(), scale.view().into(), narrow.into()])
    }
}

fn images(name: &str) -> impl Iterator<Item = &'static TimedImage> {
    TIMED_IMAGES.iter().filter(move |image| image.name == name)
}

/// Every image of a product at small shapes, ragged ones among them, against fp64.
fn check_images(device: &Device) {
    for image in TIMED_FP8_OUTPUT.as_flattened().iter().flat_map(|(name, _)| images(name)) {
        let Problem::Matmul(problem) = image.problem() else { panic!("{} is no product", image.name) };
        let kernel = image.load(device).unwrap();
        for (seed, (m, n, k)) in (0..).zip([(300, 528, 1040), (16, 512, 2048), (1, 77, 131)]) {
            let mut places = StdRng::seed_from_u64(seed);
            let place = |rows, columns| Placement::random(&mut places, rows, columns);
            let launch = |arguments: &mut [Argument<'_>]| kernel.launch(device, arguments);
            check_launch(device, &problem, (matmul::extents(m, n, k), Values::Uniform, seed), place, launch)
                .unwrap_or_else(|report| panic!("{} by {}: {report}", image.name, image.schedule));
        }
    }
}

/// The kernel of that name whose schedule is fastest on those operands, and the schedule.
fn best(
    device: &Device,
    timer: &mut Timer,
    (name, into_bytes): (&str, bool),
    sets: &mut [Set],
) -> (&'static str, CompiledKernel) {
    let mut kernels: Vec<(&'static str, CompiledKernel)> =
        images(name).map(|image| (image.schedule, image.load(device).unwrap())).collect();
    let (count, sets) = (sets.len(), RefCell::new(sets));
    let launch = |(_, kernel): &(&str, CompiledKernel), launch: usize| {
        sets.borrow_mut()[launch % count].product(kernel, device, into_bytes)
    };
    let best = under_load(timer, LAUNCHES, &kernels, launch).unwrap()[0].1.0;
    kernels.retain(|(schedule, _)| *schedule == best);
    kernels.swap_remove(0)
}

fn shapes() -> Vec<(u32, u32, u32)> {
    let mut rng = StdRng::seed_from_u64(settings::number("AUTOKERNEL_SEED", 16));
    let mut one_of = |of: &[u32]| *of.choose(&mut rng).expect("there are some");
    let drawn =
        (0..settings::number("AUTOKERNEL_CASES", 4)).map(|_| (one_of(&ROWS), one_of(&COLUMNS), one_of(&COLUMNS)));
    SHAPES.into_iter().chain(drawn).collect()
}

#[test]
#[ignore = "a measurement of minutes, for a GPU that does nothing else"]
fn results_in_8_bits_beside_those_in_16_and_a_kernel_behind_them() {
    let test = "gpu_fp8_output_speed::results_in_8_bits_beside_those_in_16_and_a_kernel_behind_them";
    let Some(device) = timed::gpu(test, TIMED_IMAGES.len()) else { return };
    check_images(&device);
    println!("{device}; medians of {ROUNDS} rounds of {LAUNCHES} launches; above 1 the result in 8 bits is faster");
    let mut timer = Timer::new(&device, Cache::Warm).unwrap();
    let quantise = images(QUANTISE.0).next().expect("it was compiled").load(&device).unwrap();
    for (m, n, k) in shapes() {
        let sizes = [m, n, k].map(|size| size as usize);
        for [(wide, _), (narrow, _)] in TIMED_FP8_OUTPUT {
            let of_bytes = wide.starts_with("e4m3");
            let [rows, columns, depth] = sizes;
            let count = (ROTATED_BYTES / ((rows + columns) * depth)).clamp(2, 12) as u64;
            let mut sets: Vec<Set> = (0..count).map(|seed| Set::random(&device, sizes, of_bytes, seed)).collect();
            let (_, into_wide) = best(&device, &mut timer, (wide, false), &mut sets);
            let (schedule, into_narrow) = best(&device, &mut timer, (narrow, true), &mut sets);
            let (count, sets) = (sets.len(), RefCell::new(sets));
            let mut fused = |launch: usize| sets.borrow_mut()[launch % count].product(&into_narrow, &device, true);
            let mut plain = |launch: usize| sets.borrow_mut()[launch % count].product(&into_wide, &device, false);
            let mut behind = |launch: usize| {
                let set = &mut sets.borrow_mut()[launch % count];
                set.product(&into_wide, &device, false)?;
                set.quantise(&quantise, &device)
            };
            let times = timer.interleave(ROUNDS, LAUNCHES, &mut [&mut fused, &mut plain, &mut behind]).unwrap();
            let (of_plain, of_behind) = (times.ratio(1, 0).unwrap(), times.ratio(2, 0).unwrap());
            println!(
                "{:>18} {narrow}: {:.4} ms, {:.3} of {wide} (spread {:.1} %), {:.3} of it and a kernel (spread {:.1} %), by {schedule}",
                matmul::extents(m, n, k),
                times.timing(0).unwrap().median_ms,
                of_plain.median,
                of_plain.spread_pct,
                of_behind.median,
                of_behind.spread_pct
            );
        }
    }
}
