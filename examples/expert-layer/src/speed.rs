//! The layer in a CUDA graph, and the same of torch's parts in the same rounds.

use autokernel::cudarc::driver::CudaGraph;
use autokernel::cudarc::driver::sys::{CUgraphInstantiate_flags, CUstreamCaptureMode};
use autokernel::timing::{Cache, Statistics, Timer};
use autokernel::{AnyKernel, Device, Error, Matrix, Result, matmul};
use autokernel_baseline::Torch;

use crate::{EXPERTS, Layer, SCORE_UNIT, STEPS, Scratch, TOP_K, Widths, down, inputs, reference, swiglu};

const ROUNDS: usize = 20;
/// Replays of a round. The weights are many times the L2 cache: each replay reads them from memory.
const LAUNCHES: usize = 8;

/// Prints the times of a pass over so many tokens, by steps in one graph, and of torch's where there is one.
///
/// # Errors
/// A launch fails.
pub fn beside_torch(device: &Device, layer: &Layer, tokens: usize, widths: Widths) -> Result<()> {
    let (x, scores) = inputs(device, tokens, widths.features)?;
    let mut out = Matrix::zeros(device, tokens, widths.features)?;
    let mut scratch = Scratch::zeros(device, tokens, widths)?;
    layer.forward(&x, &scores, &mut scratch, &mut out)?; // loads what a capture cannot
    println!(
        "{tokens} tokens: relative error against fp64 {:.1e}",
        reference::relative_error(layer, &x, &scores, &out)?
    );

    let mut timer = Timer::new(device, Cache::Warm)?;
    for (name, step) in STEPS {
        let mut launch = |_| step(layer, (&x, &scores), &mut scratch, &mut out);
        let ms = timer.time_batch(LAUNCHES, &mut launch).and_then(|_| timer.time_batch(LAUNCHES, &mut launch))?;
        println!("{tokens} tokens: {name} {ms:.4} ms by itself");
    }
    let rows = (tokens * TOP_K) as u32;
    let plan = |kernel: &'static AnyKernel, columns: usize, k: usize| {
        let extents = matmul::grouped_extents(EXPERTS as u32, rows, columns as u32, k as u32);
        kernel.plan(device, &extents).map(|plan| println!("{tokens} tokens: {plan}"))
    };
    plan(&swiglu::KERNEL, widths.hidden, widths.features)?;
    plan(&down::KERNEL, widths.features, widths.hidden)?;

    let offsets = scratch.routes.offsets().to_vec()?;
    let with_rows = offsets.windows(2).filter(|bounds| bounds[0] < bounds[1]).count();
    println!("{tokens} tokens: {with_rows} of {EXPERTS} experts have rows");

    let graph = captured(device, || layer.forward(&x, &scores, &mut scratch, &mut out))?;
    // The same experts have the same rows on both sides.
    let same_scores: Vec<i64> = scores.to_vec()?.iter().map(|score| (score / SCORE_UNIT) as i64).collect();
    let mut ours = || timer.time_batch(LAUNCHES, |_| graph.launch().map_err(cuda));
    let mut torch = Torch::start(include_str!("torch_layer.py")).and_then(|mut torch| {
        let sizes = [tokens, widths.features, widths.hidden, EXPERTS, TOP_K, LAUNCHES].map(|size| size as i64);
        let numbers: Vec<i64> = sizes.into_iter().chain(same_scores).collect();
        torch.prepare(&numbers).map(|()| torch)
    });
    let (mut own, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        own.push(ours()?);
        match torch.as_mut().ok().map(Torch::round_ms) {
            Some(Ok(round)) => theirs.push(round),
            Some(Err(error)) => torch = Err(error),
            None => (),
        }
    }
    let Statistics { median, spread_pct, .. } = Statistics::of(&own)?;
    println!("{tokens} tokens: {median:.4} ms, median of {ROUNDS} rounds of {LAUNCHES}, spread {spread_pct:.1} %");
    let torch = match torch {
        Ok(torch) => torch,
        Err(error) => {
            println!("no torch beside it: {error}");
            return Ok(());
        }
    };
    for (number, name) in torch.contenders.iter().enumerate() {
        let ratios: Vec<f64> = own.iter().zip(&theirs).map(|(own, theirs)| theirs[number] / own).collect();
        let Statistics { median, spread_pct, .. } = Statistics::of(&ratios)?;
        println!("{tokens} tokens: torch's {name} takes {median:.3} x as long, spread {spread_pct:.1} %");
    }
    Ok(())
}

fn cuda(source: autokernel::cudarc::driver::DriverError) -> Error {
    Error::Cuda { doing: "a graph of launches", source }
}

/// What `launch` puts on the device's stream, as a graph.
fn captured(device: &Device, launch: impl FnOnce() -> Result<()>) -> Result<CudaGraph> {
    let stream = device.stream().ok_or(Error::NeedsGpu { what: "capturing a graph" })?;
    device.synchronize()?;
    stream.begin_capture(CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL).map_err(cuda)?;
    let launched = launch();
    let flag = CUgraphInstantiate_flags::CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH;
    let graph = stream.end_capture(flag).map_err(cuda);
    launched?;
    graph?.ok_or(Error::NeedsGpu { what: "a graph of launches" })
}
