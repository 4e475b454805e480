//! What the safe launch costs the host: checks, choice of schedule and tensor maps, against a bare cudarc launch.

use std::time::Instant;

use autokernel::timing::Statistics;
use autokernel::{Device, Matrix, Shape, bf16, builtin};
use autokernel_baseline::LeakyRelu;

use crate::Outcome;

/// Small enough that the GPU keeps up with the host.
const SHAPE: Shape = Shape::new(64, 64, 64);
const ROUNDS: usize = 40;
/// Launches of a round: fewer than the driver queues before it makes the host wait.
const LAUNCHES: usize = 400;

/// Host time of a launch, in microseconds.
pub struct Overhead {
    /// Of `builtin::matmul_leaky_relu`.
    pub safe_us: Statistics,
    /// Of an elementwise kernel through cudarc's launch builder.
    pub raw_us: Statistics,
    /// The first over the second, by rounds.
    pub ratio: Statistics,
}

pub fn measure(device: &Device) -> Outcome<Overhead> {
    let [m, n, k] = [SHAPE.m, SHAPE.n, SHAPE.k].map(|dim| dim as usize);
    let a = Matrix::<bf16>::zeros(device, m, k)?;
    let b = Matrix::<bf16>::zeros(device, k, n)?;
    let mut out = Matrix::<bf16>::zeros(device, m, n)?;
    let leaky_relu = LeakyRelu::new(device)?;
    let (mut safe_us, mut raw_us) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        safe_us.push(host_us(device, || Ok(builtin::matmul_leaky_relu(&a, &b, &mut out)?))?);
        raw_us.push(host_us(device, || Ok(leaky_relu.launch(0.01, &mut out)?))?);
    }
    let ratios: Vec<f64> = safe_us.iter().zip(&raw_us).map(|(safe, raw)| safe / raw).collect();
    Ok(Overhead {
        safe_us: Statistics::of(&safe_us)?,
        raw_us: Statistics::of(&raw_us)?,
        ratio: Statistics::of(&ratios)?,
    })
}

fn host_us(device: &Device, mut launch: impl FnMut() -> Outcome<()>) -> Outcome<f64> {
    device.synchronize()?;
    let start = Instant::now();
    for _ in 0..LAUNCHES {
        launch()?;
    }
    let host = start.elapsed();
    device.synchronize()?;
    Ok(host.as_secs_f64() * 1e6 / LAUNCHES as f64)
}
