//! What the fused epilogue costs: the fused kernel and the plain product, interleaved.

use std::cell::RefCell;

use autokernel::matmul::{Layout, extents};
use autokernel::timing::{Cache, Statistics, Timer, WarmUp};
use autokernel::{Device, Extents, bf16, builtin};

use crate::Outcome;
use crate::operands::{Buffers, Operands};

/// Where the product is large enough for the cost to be measured.
pub const SHAPES: [Extents; 2] = [extents(4096, 4096, 4096), extents(8192, 8192, 8192)];
const ROUNDS: usize = 40;
const BATCH_MS: f64 = 6.0;

/// Time of `matmul_leaky_relu` over time of `matmul` with the same schedule, by rounds.
pub fn cost(device: &Device, shape: Extents) -> Outcome<Statistics> {
    let operands = RefCell::new(Operands::<bf16>::new(device, shape, Layout::Nn, Buffers::Rotating)?);
    let mut fused = |launch| {
        let mut operands = operands.borrow_mut();
        let (a, b, out) = operands.set(launch);
        builtin::matmul_leaky_relu::KERNEL.launch(a, b, out)
    };
    let mut plain = |launch| {
        let mut operands = operands.borrow_mut();
        let (a, b, out) = operands.set(launch);
        builtin::matmul::KERNEL.launch(a, b, out)
    };
    let mut timer = Timer::new(device, Cache::Warm)?;
    let launch_ms = timer.warm_up(WarmUp::default(), &mut fused)?.last_ms;
    timer.warm_up(WarmUp::default(), &mut plain)?;
    let launches = (BATCH_MS / launch_ms).ceil().max(2.0) as usize;
    Ok(timer.interleave(ROUNDS, launches, &mut [&mut fused, &mut plain])?.ratio(0, 1)?)
}
