//! What the safe launch costs the host: checks, choice of schedule and tensor maps, against a bare cudarc launch.
//!
//! With one weight every tensor map is remembered from the launch before; with many in rotation, as in the layers of a
//! model, from the last time round.

use std::time::Instant;

use autokernel::timing::Statistics;
use autokernel::{Device, Matrix, bf16, builtin};
use autokernel_baseline::LeakyRelu;

use crate::Outcome;

/// Rows and columns of every matrix: so few that the GPU keeps up with the host.
const SIZE: usize = 64;
/// How many weights take turns.
const WEIGHTS: [usize; 2] = [1, 64];
const ROUNDS: usize = 40;
/// Launches of a round: fewer than the driver queues before it makes the host wait.
const LAUNCHES: usize = 400;

/// Host time of a launch, in microseconds.
pub struct Overhead {
    /// Weights that take turns.
    pub weights: usize,
    /// Of `builtin::matmul_leaky_relu`.
    pub safe_us: Statistics,
    /// Of an elementwise kernel through cudarc's launch builder.
    pub raw_us: Statistics,
    /// The first over the second, by rounds.
    pub ratio: Statistics,
}

/// For each number of weights.
pub fn measure(device: &Device) -> Outcome<Vec<Overhead>> {
    WEIGHTS.into_iter().map(|weights| rotating(device, weights)).collect()
}

fn rotating(device: &Device, weights: usize) -> Outcome<Overhead> {
    let matrix = || Matrix::<bf16>::zeros(device, SIZE, SIZE);
    let (x, mut out) = (matrix()?, matrix()?);
    let mut matrices = (0..weights).map(|_| matrix()).collect::<autokernel::Result<Vec<_>>>()?;
    let leaky_relu = LeakyRelu::new(device)?;
    let (mut safe_us, mut raw_us) = (Vec::new(), Vec::new());
    // The first round loads what it needs, and meets each weight for the first time.
    for round in 0..=ROUNDS {
        let safe =
            host_us(device, |launch| Ok(builtin::matmul_leaky_relu(&x, &matrices[launch % weights], &mut out)?))?;
        let raw = host_us(device, |launch| Ok(leaky_relu.launch(0.01, &mut matrices[launch % weights])?))?;
        if round > 0 {
            safe_us.push(safe);
            raw_us.push(raw);
        }
    }
    let ratios: Vec<f64> = safe_us.iter().zip(&raw_us).map(|(safe, raw)| safe / raw).collect();
    Ok(Overhead {
        weights,
        safe_us: Statistics::of(&safe_us)?,
        raw_us: Statistics::of(&raw_us)?,
        ratio: Statistics::of(&ratios)?,
    })
}

fn host_us(device: &Device, mut launch: impl FnMut(usize) -> Outcome<()>) -> Outcome<f64> {
    device.synchronize()?;
    let start = Instant::now();
    for number in 0..LAUNCHES {
        launch(number)?;
    }
    let host = start.elapsed();
    device.synchronize()?;
    Ok(host.as_secs_f64() * 1e6 / LAUNCHES as f64)
}
