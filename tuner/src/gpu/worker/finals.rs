//! The final: contenders in turn within each round, so that drift of the clocks hits all alike.

use std::rc::Rc;

use autokernel_runtime::CompiledKernel;
use autokernel_runtime::timing::Timing;

use super::cublas::Cublas;
use super::error::{Result, WorkerError};
use super::instruments::Instruments;
use super::stopwatch::{Stopwatch, mean_mhz};
use crate::gpu::protocol::{FinalReply, FinalRounds};
use crate::gpu::rounds::{self, Held, Plan, Ran};
use crate::gpu::sampling::{Batching, Effort};

/// Who meets.
pub enum Contestant {
    /// A kernel of ours, checked.
    Kernel(Box<CompiledKernel>),
    /// cuBLASLt by one of its algorithms, and whether the epilogue follows as a kernel of its own.
    Cublas {
        /// The product.
        cublas: Rc<Cublas>,
        /// Which of its algorithms.
        algorithm: usize,
        /// Whether the epilogue is applied.
        epilogue: bool,
    },
}

/// Launches a contestant; the number rotates through the sets of buffers.
pub type LaunchOf<'l> = &'l mut dyn FnMut(&Contestant, usize) -> Result<()>;

/// What came of a meeting: each contestant with its reply, those that could not be prepared with the reply alone.
pub struct Met {
    /// In the order in which they came.
    pub replies: Vec<(Option<Contestant>, FinalReply)>,
    /// Whether rounds took alike before the first that counted.
    pub settled: bool,
}

struct Entrant {
    contestant: Contestant,
    batching: Batching,
    chosen: Option<String>,
}

/// Times the contestants that could be prepared; the others keep their failures.
///
/// # Errors
/// The CUDA context is lost.
pub fn run(
    tools: &Instruments,
    stopwatch: &mut Stopwatch,
    request: &FinalRounds,
    contestants: Vec<Result<Contestant>>,
    launch: LaunchOf<'_>,
) -> Result<Met> {
    let mut entrants = Vec::new();
    let mut failed = Vec::new();
    for contestant in contestants {
        let entrant = contestant.and_then(|contestant| enter(tools, stopwatch, request.round_ms, contestant, launch));
        match entrant {
            Err(error) if error.is_fatal() => return Err(error),
            Err(error) => failed.push(Some(error)),
            Ok(entrant) => {
                entrants.push(entrant);
                failed.push(None);
            }
        }
    }
    let &FinalRounds { rounds, warm_up_ms, settle_ms, seed, energy_ms, .. } = request;
    let plan = Plan { rounds, warm_up_ms, settle_ms, seed };
    let Held { batches, settled } = rounds::hold::<WorkerError>(entrants.len(), &plan, &mut |index| {
        let Entrant { contestant, batching, .. } = &entrants[index];
        let batch = stopwatch.batch(tools, *batching, &mut 0, &mut |number| launch(contestant, number))?;
        let median_ms = Timing::of_ms(&batch.samples_ms)?.median_ms;
        Ok(Ran { median_ms, elapsed_ms: batch.elapsed_ms, sm_clock_mhz: batch.sm_clock_mhz })
    })?;
    let mut met = entrants.into_iter().zip(batches);
    let mut replies = Vec::with_capacity(failed.len());
    for failed in failed {
        if let Some(error) = failed {
            replies.push((None, FinalReply::Failed { failure: error.failure() }));
        } else if let Some((Entrant { contestant, batching, chosen }, batches)) = met.next() {
            let mut energy =
                || stopwatch.energy_mj(tools, batching, energy_ms, &mut |number| launch(&contestant, number));
            let energy_mj = if energy_ms > 0.0 { Some(energy()?) } else { None };
            let round_ms = batches.iter().map(|ran| ran.median_ms).collect();
            let sm_clock_mhz = mean_mhz(batches.iter().map(|ran| ran.sm_clock_mhz));
            replies.push((Some(contestant), FinalReply::Timed { round_ms, sm_clock_mhz, energy_mj, chosen }));
        }
    }
    Ok(Met { replies, settled })
}

fn enter(
    tools: &Instruments,
    stopwatch: &mut Stopwatch,
    round_ms: f64,
    contestant: Contestant,
    launch: LaunchOf<'_>,
) -> Result<Entrant> {
    let (contestant, launch_ms, chosen) = match contestant {
        Contestant::Cublas { cublas, epilogue, .. } => {
            let (algorithm, ms) = choose(tools, stopwatch, &cublas, launch)?;
            let chosen = format!("algorithm {} of {}", algorithm + 1, cublas.algorithms());
            (Contestant::Cublas { cublas, algorithm, epilogue }, ms, Some(chosen))
        }
        kernel @ Contestant::Kernel(_) => {
            let measured = stopwatch.measure(tools, &Effort::SOUNDING, &mut |number| launch(&kernel, number))?;
            (kernel, measured.timing.median_ms, None)
        }
    };
    let batching = Batching::for_round(launch_ms, round_ms);
    Ok(Entrant { contestant, batching, chosen })
}

/// The fastest of cuBLASLt's algorithms without an epilogue, and its time in milliseconds.
pub fn choose(
    tools: &Instruments,
    stopwatch: &mut Stopwatch,
    cublas: &Rc<Cublas>,
    launch: LaunchOf<'_>,
) -> Result<(usize, f64)> {
    let mut refused = None;
    let fastest = autokernel_baseline::fastest(cublas.algorithms(), |algorithm, launches| {
        let contestant = Contestant::Cublas { cublas: cublas.clone(), algorithm, epilogue: false };
        let batching = Batching { launches_per_sample: launches, samples_per_batch: 1 };
        // Once outside the timing: a first launch may load the library's kernel.
        let timed = launch(&contestant, 0)
            .and_then(|()| stopwatch.batch(tools, batching, &mut 0, &mut |number| launch(&contestant, number)));
        match timed {
            Ok(batch) => Ok(batch.samples_ms.first().copied()),
            Err(error) if error.is_fatal() => Err(error),
            Err(error) => {
                refused = Some(error);
                Ok(None)
            }
        }
    })?;
    let none = || WorkerError::Cublas("cuBLASLt has no algorithm for this product".to_owned());
    fastest.ok_or_else(|| refused.unwrap_or_else(none))
}
