//! What an 8-bit result with a scale for each row costs beside the same product's result in 16 bits, and what it saves: the latter with a
//! kernel behind it that quantises it, in the same rounds. By a scale that is given; with scales of rows, or one of all, for the next launch
//! beside it; and with scales of its own, of blocks and of rows that a tile holds whole. A kernel behind that makes the scales of rows is
//! what the latter two and scales of rows save.
//!
//! A measurement, so it is asked for: `cargo test --release -p gpu-tests --features speed --test gpu_fp8_output_speed -- --ignored
//! --nocapture`. `AUTOKERNEL_SEED` draws other shapes beside the listed ones, `AUTOKERNEL_CASES` so many, and
//! `AUTOKERNEL_SHAPES=4096x4096x4096,16384x256x4096` are listed in the place of those. Sets of operands rotate past the L2 cache. Each product is run by the schedule that is fastest for it at the shape. A wrong result of an image is a failure.

use std::cell::RefCell;

use autokernel::timing::{Cache, Timer};
use autokernel::{Argument, Column, CompiledKernel, Device, Matrix, Scalar, bf16, e4m3, matmul};
use autokernel_codegen::problem::Problem;
use gpu_tests::bodies::{
    QUANTISE, QUANTISE_ROWS, TIMED_FP8_OUTPUT, TIMED_FP8_SCALES, TIMED_IMAGES, TimedImage, WHOLE_ROWS, check_launch,
};
use gpu_tests::host::Values;
use gpu_tests::place::Place;
use gpu_tests::ranking::under_load;
use gpu_tests::settings;
use gpu_tests::timed::{self, Drawn};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};

const SHAPES: [(u32, u32, u32); 5] =
    [(4096, 4096, 4096), (8192, 8192, 8192), (4096, 14_336, 4096), (128, 8192, 8192), (16_384, WHOLE_ROWS, 4096)];
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
    /// Scales that kernels make: of rows, of all, and of blocks.
    of_rows: Column<f32>,
    of_all: Scalar<f32>,
    of_blocks: Matrix<f32>,
}

/// What a product writes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Output {
    Wide,
    Narrow,
    /// Scales of rows beside it.
    OfRows,
    OfAll,
    OfBlocks,
}

impl Output {
    /// Those of [`TIMED_FP8_SCALES`], in order.
    const SCALED: [Output; 4] = [Output::OfRows, Output::OfAll, Output::OfBlocks, Output::OfRows];
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
        let (of_rows, of_all) = (Column::zeros(device, m).unwrap(), Scalar::new(device, 0.0).unwrap());
        let of_blocks = Matrix::zeros(device, m, n.div_ceil(128)).unwrap();
        Set { factors, scale, wide, narrow, of_rows, of_all, of_blocks }
    }

    fn product(&mut self, kernel: &CompiledKernel, device: &Device, output: Output) -> autokernel::Result<()> {
        let Set { factors, scale, wide, narrow, of_rows, of_all, of_blocks } = self;
        let [x, w]: [Argument<'_>; 2] = match factors {
            Factors::Bf16(x, w) => [(&*x).into(), (&*w).into()],
            Factors::E4m3(x, w) => [(&*x).into(), (&*w).into()],
        };
        let scale = scale.view().into();
        let beside = match output {
            Output::Wide => return kernel.launch(device, &mut [x, w, scale, wide.into()]),
            Output::Narrow => return kernel.launch(device, &mut [x, w, scale, narrow.into()]),
            Output::OfRows => of_rows.view_mut().into(),
            Output::OfAll => of_all.view_mut().into(),
            Output::OfBlocks => of_blocks.into(),
        };
        kernel.launch(device, &mut [x, w, scale, narrow.into(), beside])
    }

    fn quantise_rows(&mut self, kernel: &CompiledKernel, device: &Device) -> autokernel::Result<()> {
        let Set { wide, narrow, of_rows, .. } = self;
        kernel.launch(device, &mut [(&*wide).into(), of_rows.view_mut().into(), narrow.into()])
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
    // Scales of blocks and of whole rows are held against what they are of bit by bit, in `gpu_made_scales`.
    let next = TIMED_FP8_SCALES.iter().flat_map(|bodies| bodies[..2].iter().map(|(name, ..)| *name));
    for image in TIMED_FP8_OUTPUT.as_flattened().iter().map(|(name, _)| *name).chain(next).flat_map(images) {
        let Problem::Matmul(problem) = image.problem() else { panic!("{} is no product", image.name) };
        let kernel = image.load(device).unwrap();
        for (seed, (m, n, k)) in (0..).zip([(300, 528, 1040), (16, 512, 2048), (1, 77, 131)]) {
            let mut places = StdRng::seed_from_u64(seed);
            let place = |rows, columns| Place::random(&mut places, rows, columns);
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
    (name, output): (&str, Output),
    sets: &mut [Set],
) -> (&'static str, CompiledKernel) {
    let mut kernels: Vec<(&'static str, CompiledKernel)> =
        images(name).map(|image| (image.schedule, image.load(device).unwrap())).collect();
    let (count, sets) = (sets.len(), RefCell::new(sets));
    let launch = |(_, kernel): &(&str, CompiledKernel), launch: usize| {
        sets.borrow_mut()[launch % count].product(kernel, device, output)
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
    settings::shapes("AUTOKERNEL_SHAPES").unwrap_or_else(|| SHAPES.to_vec()).into_iter().chain(drawn).collect()
}

#[test]
#[ignore = "a measurement of minutes, for a GPU that does nothing else"]
fn results_in_8_bits_beside_those_in_16_and_a_kernel_behind_them() {
    let test = "gpu_fp8_output_speed::results_in_8_bits_beside_those_in_16_and_a_kernel_behind_them";
    let Some(device) = timed::gpu(test, TIMED_IMAGES.len()) else { return };
    check_images(&device);
    println!("{device}; medians of {ROUNDS} rounds of {LAUNCHES} launches; above 1 the result in 8 bits is faster");
    let mut timer = Timer::new(&device, Cache::Warm).unwrap();
    let [quantise, quantise_rows] =
        [QUANTISE, QUANTISE_ROWS].map(|(name, _)| images(name).next().expect("it was compiled").load(&device).unwrap());
    for (m, n, k) in shapes() {
        let (extents, sizes) = (matmul::extents(m, n, k), [m, n, k].map(|size| size as usize));
        for ([(wide, _), (narrow, _)], scaled) in TIMED_FP8_OUTPUT.into_iter().zip(TIMED_FP8_SCALES) {
            let of_bytes = wide.starts_with("e4m3");
            let [rows, columns, depth] = sizes;
            let count = (ROTATED_BYTES / ((rows + columns) * depth)).clamp(2, 12) as u64;
            let mut sets: Vec<Set> = (0..count).map(|seed| Set::random(&device, sizes, of_bytes, seed)).collect();
            let (_, into_wide) = best(&device, &mut timer, (wide, Output::Wide), &mut sets);
            let of_scales = scaled.into_iter().zip(Output::SCALED).filter_map(|((name, settings, _), output)| {
                (n == WHOLE_ROWS || !settings.starts_with('n')).then_some((name, output))
            });
            for (name, output) in std::iter::once((narrow, Output::Narrow)).chain(of_scales) {
                let (schedule, into_narrow) = best(&device, &mut timer, (name, output), &mut sets);
                let (count, sets) = (sets.len(), RefCell::new(&mut sets));
                let product = |kernel: &CompiledKernel, output: Output, launch: usize| {
                    sets.borrow_mut()[launch % count].product(kernel, &device, output)
                };
                let mut fused = |launch: usize| product(&into_narrow, output, launch);
                let mut plain = |launch: usize| product(&into_wide, Output::Wide, launch);
                let mut behind = |launch: usize| {
                    product(&into_wide, Output::Wide, launch)?;
                    let set = &mut sets.borrow_mut()[launch % count];
                    match output {
                        Output::OfRows | Output::OfBlocks => set.quantise_rows(&quantise_rows, &device),
                        Output::Wide | Output::Narrow | Output::OfAll => set.quantise(&quantise, &device),
                    }
                };
                let times = timer.interleave(ROUNDS, LAUNCHES, &mut [&mut fused, &mut plain, &mut behind]).unwrap();
                let (of_plain, of_behind) = (times.ratio(1, 0).unwrap(), times.ratio(2, 0).unwrap());
                println!(
                    "{extents:>18} {name}: {:.4} ms, {:.3} of {wide} (spread {:.1} %), {:.3} of it and a kernel (spread {:.1} %), by \
                     {schedule}",
                    times.timing(0).unwrap().median_ms,
                    of_plain.median,
                    of_plain.spread_pct,
                    of_behind.median,
                    of_behind.spread_pct
                );
            }
        }
    }
}
