//! What the cross entropy of a language model's head takes without logits in memory, beside the logits alone, and beside logits with a
//! row-wise kernel behind them that reads them again, in the same rounds.
//!
//! A measurement, so it is asked for: `cargo test --release -p gpu-tests --features speed --test gpu_cross_entropy_speed -- --ignored
//! --nocapture`. Operands are normal random numbers, of more bytes than the L2 cache has. Products are run by the schedule that is fastest
//! for each.

use std::cell::RefCell;

use autokernel::timing::{Cache, Timer};
use autokernel::{Column, CompiledKernel, Device, Matrix, bf16, matmul};
use gpu_tests::bodies::{LOSS_BEHIND, TIMED_IMAGES, TIMED_LOSS};
use gpu_tests::ranking::under_load;
use gpu_tests::timed::{self, Drawn};

/// Tokens, words and the model's width: vocabularies of Llama 2 and Llama 3.
const SHAPES: [(u32, u32, u32); 3] = [(4096, 32_000, 4096), (4096, 128_256, 4096), (512, 128_256, 4096)];
const ROUNDS: usize = 12;
const LAUNCHES: usize = 3;

struct Operands {
    x: Matrix<bf16>,
    w: Matrix<bf16>,
    target: Column<f32>,
    logits: Matrix<bf16>,
    loss: Column<f32>,
}

impl Operands {
    fn random(device: &Device, [m, n, k]: [usize; 3]) -> Self {
        let drawn = Drawn::normal(1);
        let matrix = |rows: usize, columns: usize| drawn.matrix(device, [rows, columns], 0);
        let target: Vec<f32> = (0..m).map(|row| (row * 7919 % n) as f32).collect();
        let [target, loss] = [target, vec![0.0; m]].map(|values| Column::from_slice(device, &values).unwrap());
        Operands { x: matrix(m, k), w: matrix(n, k), target, logits: Matrix::zeros(device, m, n).unwrap(), loss }
    }

    fn logits(&mut self, kernel: &CompiledKernel, device: &Device) -> autokernel::Result<()> {
        let Operands { x, w, logits, .. } = self;
        kernel.launch(device, &mut [(&*x).into(), (&*w).into(), logits.into()])
    }

    fn loss(&mut self, kernel: &CompiledKernel, device: &Device) -> autokernel::Result<()> {
        let Operands { x, w, target, loss, .. } = self;
        kernel.launch(device, &mut [(&*x).into(), (&*w).into(), target.view().into(), loss.view_mut().into()])
    }

    /// Launches what reads the logits again.
    fn behind(&mut self, kernel: &CompiledKernel, device: &Device) -> autokernel::Result<()> {
        let Operands { target, logits, loss, .. } = self;
        kernel.launch(device, &mut [(&*logits).into(), target.view().into(), loss.view_mut().into()])
    }
}

/// The kernels of that name, with their schedules.
fn kernels(device: &Device, name: &str) -> Vec<(&'static str, CompiledKernel)> {
    let images = TIMED_IMAGES.iter().filter(|image| image.name == name);
    images.map(|image| (image.schedule, image.load(device).unwrap())).collect()
}

#[test]
#[ignore = "a measurement of minutes, for a GPU that does nothing else"]
fn cross_entropy_without_logits_and_with_them() {
    let test = "gpu_cross_entropy_speed::cross_entropy_without_logits_and_with_them";
    let Some(device) = timed::gpu(test, TIMED_IMAGES.len()) else { return };
    println!("{device}; medians of {ROUNDS} rounds of {LAUNCHES} launches, nt bf16; above 1 is faster than the other");
    let mut timer = Timer::new(&device, Cache::Warm).unwrap();
    let behind = kernels(&device, LOSS_BEHIND.0).remove(0).1;
    for (m, n, k) in SHAPES {
        let operands = RefCell::new(Operands::random(&device, [m, n, k].map(|size| size as usize)));
        let (logits, loss) = (kernels(&device, TIMED_LOSS[0].0), kernels(&device, TIMED_LOSS[1].0));
        let launch = |(_, kernel): &(&str, CompiledKernel), _: usize| operands.borrow_mut().logits(kernel, &device);
        let (by, logits) = &under_load(&mut timer, LAUNCHES, &logits, launch).unwrap()[0].1;
        let launch = |(_, kernel): &(&str, CompiledKernel), _: usize| operands.borrow_mut().loss(kernel, &device);
        let (schedule, loss) = &under_load(&mut timer, LAUNCHES, &loss, launch).unwrap()[0].1;
        let mut without = |_: usize| operands.borrow_mut().loss(loss, &device);
        let mut alone = |_: usize| operands.borrow_mut().logits(logits, &device);
        let mut with = |_: usize| {
            operands.borrow_mut().logits(logits, &device)?;
            operands.borrow_mut().behind(&behind, &device)
        };
        let times = timer.interleave(ROUNDS, LAUNCHES, &mut [&mut without, &mut alone, &mut with]).unwrap();
        let (of_logits, of_both) = (times.ratio(1, 0).unwrap(), times.ratio(2, 0).unwrap());
        println!(
            "{:>18}: {:.4} ms, {:.3} × the logits alone (spread {:.1} %), {:.3} × both kernels (spread {:.1} %), by {schedule}; \
             logits by {by}",
            matmul::extents(m, n, k),
            times.timing(0).unwrap().median_ms,
            of_logits.median,
            of_logits.spread_pct,
            of_both.median,
            of_both.spread_pct
        );
    }
}
