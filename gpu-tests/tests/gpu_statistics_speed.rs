//! What a norm's statistic costs beside the product with a residual that it is of, and what it saves: the same product without, and with
//! a row-wise kernel behind it that reads the result again, in the same rounds.
//!
//! A measurement, so it is asked for: `cargo test --release -p gpu-tests --features speed --test gpu_statistics_speed -- --ignored
//! --nocapture`. Operands are normal random numbers, and sets of them rotate past the L2 cache. All products are run by the schedule that is fastest for the
//! product alone.

use std::cell::RefCell;

use autokernel::timing::{Cache, Timer};
use autokernel::{Argument, Column, CompiledKernel, Device, Matrix, bf16, matmul};
use gpu_tests::bodies::{NORM_BEHIND, TIMED_IMAGES, TIMED_MATH};
use gpu_tests::ranking::under_load;
use gpu_tests::timed::{self, Drawn};

const SHAPES: [(u32, u32, u32); 3] = [(4096, 4096, 4096), (4096, 4096, 14_336), (128, 8192, 8192)];
const ROUNDS: usize = 24;
const LAUNCHES: usize = 12;
/// Sets of operands, of 100 MB and more each.
const SETS: usize = 3;

struct Set {
    x: Matrix<bf16>,
    w: Matrix<bf16>,
    skip: Matrix<bf16>,
    out: Matrix<bf16>,
    scale: Column<f32>,
}

impl Set {
    fn random(device: &Device, [m, n, k]: [usize; 3], seed: u64) -> Self {
        let drawn = Drawn::normal(seed);
        let matrix = |rows: usize, columns: usize| drawn.matrix(device, [rows, columns], 0);
        let (out, scale) = (Matrix::zeros(device, m, n).unwrap(), Column::from_slice(device, &vec![0.0; m]).unwrap());
        Set { x: matrix(m, k), w: matrix(n, k), skip: matrix(m, n), out, scale }
    }
}

impl Set {
    /// Launches the product, with or without its norm.
    fn product(&mut self, kernel: &CompiledKernel, device: &Device, with_norm: bool) -> autokernel::Result<()> {
        let Set { x, w, skip, out, scale } = self;
        let mut arguments: Vec<Argument<'_>> = vec![(&*x).into(), (&*w).into(), (&*skip).into(), out.into()];
        if with_norm {
            arguments.push(scale.view_mut().into());
        }
        kernel.launch(device, &mut arguments)
    }

    /// Launches what reads the result again.
    fn norm(&mut self, kernel: &CompiledKernel, device: &Device) -> autokernel::Result<()> {
        kernel.launch(device, &mut [(&self.out).into(), self.scale.view_mut().into()])
    }
}

/// The kernels of that name, with their schedules.
fn kernels(device: &Device, name: &str) -> Vec<(&'static str, CompiledKernel)> {
    let images = TIMED_IMAGES.iter().filter(|image| image.name == name);
    images.map(|image| (image.schedule, image.load(device).unwrap())).collect()
}

#[test]
#[ignore = "a measurement of minutes, for a GPU that does nothing else"]
fn statistics_beside_the_product_and_behind_it() {
    let test = "gpu_statistics_speed::statistics_beside_the_product_and_behind_it";
    let Some(device) = timed::gpu(test, TIMED_IMAGES.len()) else { return };
    println!("{device}; medians of {ROUNDS} rounds of {LAUNCHES} launches, nt bf16; below 1 is slower than without");
    let mut timer = Timer::new(&device, Cache::Warm).unwrap();
    let norm = kernels(&device, NORM_BEHIND.0).remove(0).1;
    for (m, n, k) in SHAPES {
        let sizes = [m, n, k].map(|size| size as usize);
        let sets: Vec<Set> = (0..SETS as u64).map(|seed| Set::random(&device, sizes, seed)).collect();
        let sets = RefCell::new(sets);
        let alone = kernels(&device, TIMED_MATH[2].0);
        let launch = |(_, kernel): &(&str, CompiledKernel), launch: usize| {
            sets.borrow_mut()[launch % SETS].product(kernel, &device, false)
        };
        let schedule = under_load(&mut timer, LAUNCHES, &alone, launch).unwrap()[0].1.0;
        let of_schedule = |kernels: Vec<(&'static str, CompiledKernel)>| {
            kernels.into_iter().find(|(name, _)| *name == schedule).map(|(_, kernel)| kernel)
        };
        let (Some(with_norm), Some(alone)) = (of_schedule(kernels(&device, TIMED_MATH[3].0)), of_schedule(alone))
        else {
            println!("{}: {schedule} does not keep the rules with a reduction", matmul::extents(m, n, k));
            continue;
        };
        let mut reduced = |launch: usize| sets.borrow_mut()[launch % SETS].product(&with_norm, &device, true);
        let mut plain = |launch: usize| sets.borrow_mut()[launch % SETS].product(&alone, &device, false);
        let mut behind = |launch: usize| {
            let set = &mut sets.borrow_mut()[launch % SETS];
            set.product(&alone, &device, false)?;
            set.norm(&norm, &device)
        };
        let times = timer.interleave(ROUNDS, LAUNCHES, &mut [&mut reduced, &mut plain, &mut behind]).unwrap();
        let (of_plain, of_behind) = (times.ratio(1, 0).unwrap(), times.ratio(2, 0).unwrap());
        println!(
            "{:>18}: {:.4} ms, {:.3} of the product alone (spread {:.1} %), {:.3} of a kernel behind it (spread {:.1} %), by {schedule}",
            matmul::extents(m, n, k),
            times.timing(0).unwrap().median_ms,
            of_plain.median,
            of_plain.spread_pct,
            of_behind.median,
            of_behind.spread_pct
        );
    }
}
