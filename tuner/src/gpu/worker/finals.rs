//! The final: contenders in turn within each round, so that drift of the clocks hits all alike.

use std::rc::Rc;

use autokernel_runtime::CompiledKernel;
use autokernel_runtime::timing::Timing;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

use super::cublas::Cublas;
use super::error::{Result, WorkerError};
use super::instruments::Instruments;
use super::stopwatch::{Batch, Stopwatch, mean_mhz};
use crate::gpu::protocol::{FinalReply, FinalRounds};
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

/// Effort spent on learning how long a contestant takes.
const CHOOSING: Effort =
    Effort { min_samples: 10, max_samples: 20, noise_pct: 1.0, limit_ms: 20.0, rest_ms: 0.0, energy_ms: 0.0 };
/// The most rounds that only warm up.
const MAX_WARM_UP_ROUNDS: u32 = 50;

struct Entrant {
    contestant: Contestant,
    batching: Batching,
    chosen: Option<String>,
    round_ms: Vec<f64>,
    clocks: Vec<Option<f64>>,
    energy_mj: Option<f64>,
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
) -> Result<Vec<FinalReply>> {
    let mut entrants: Vec<Result<Entrant>> = Vec::new();
    for contestant in contestants {
        let entrant = contestant.and_then(|contestant| enter(tools, stopwatch, request.round_ms, contestant, launch));
        match entrant {
            Err(error) if error.is_fatal() => return Err(error),
            entrant => entrants.push(entrant),
        }
    }
    let mut random = Pcg64::seed_from_u64(request.seed);
    let mut warm_up_ms = 0.0;
    for _ in 0..MAX_WARM_UP_ROUNDS {
        let batches = hold_round(tools, stopwatch, &mut random, &entrants, launch)?;
        warm_up_ms += batches.iter().map(|(_, batch)| batch.elapsed_ms).sum::<f64>();
        if warm_up_ms >= request.warm_up_ms {
            break;
        }
    }
    for _ in 0..request.rounds {
        for (index, batch) in hold_round(tools, stopwatch, &mut random, &entrants, launch)? {
            if let Ok(entrant) = &mut entrants[index] {
                entrant.round_ms.push(Timing::of_ms(&batch.samples_ms)?.median_ms);
                entrant.clocks.push(batch.sm_clock_mhz);
            }
        }
    }
    if request.energy_ms > 0.0 {
        for entrant in entrants.iter_mut().flatten() {
            let Entrant { contestant, batching, energy_mj, .. } = entrant;
            let mj =
                stopwatch.energy_mj(tools, *batching, request.energy_ms, &mut |number| launch(contestant, number))?;
            *energy_mj = Some(mj);
        }
    }
    Ok(entrants.into_iter().map(reply).collect())
}

/// One batch of each entrant, with its index, in an order of its own.
///
/// At the power limit a batch runs at the clock that what ran before it left. In a fixed order each entrant always follows
/// the same other, and a round says as much of the neighbour as of the entrant.
fn hold_round(
    tools: &Instruments,
    stopwatch: &mut Stopwatch,
    random: &mut Pcg64,
    entrants: &[Result<Entrant>],
    launch: LaunchOf<'_>,
) -> Result<Vec<(usize, Batch)>> {
    let mut batches = Vec::with_capacity(entrants.len());
    for index in order(random, entrants.len()) {
        let Ok(Entrant { contestant, batching, .. }) = &entrants[index] else { continue };
        let batch = stopwatch.batch(tools, *batching, &mut 0, &mut |number| launch(contestant, number))?;
        batches.push((index, batch));
    }
    Ok(batches)
}

fn order(random: &mut Pcg64, count: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.shuffle(random);
    order
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
            let measured = stopwatch.measure(tools, &CHOOSING, &mut |number| launch(&kernel, number))?;
            (kernel, measured.timing.median_ms, None)
        }
    };
    let batching = Batching::for_round(launch_ms, round_ms);
    Ok(Entrant { contestant, batching, chosen, round_ms: Vec::new(), clocks: Vec::new(), energy_mj: None })
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

fn reply(entrant: Result<Entrant>) -> FinalReply {
    match entrant {
        Ok(Entrant { round_ms, clocks, chosen, energy_mj, .. }) => {
            FinalReply::Timed { round_ms, sm_clock_mhz: mean_mhz(clocks), energy_mj, chosen }
        }
        Err(error) => FinalReply::Failed { failure: error.failure() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_has_each_contestant_once_and_everyone_follows_everyone_else_about_as_often() {
        const COUNT: usize = 5;
        const ROUNDS: usize = 2000;
        let mut random = Pcg64::seed_from_u64(1);
        let mut followed = [[0usize; COUNT]; COUNT];
        for _ in 0..ROUNDS {
            let round = order(&mut random, COUNT);
            let mut sorted = round.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4]);
            for pair in round.windows(2) {
                followed[pair[0]][pair[1]] += 1;
            }
        }
        // Each ordered pair is adjacent in a fifth of the rounds.
        let pairs = (0..COUNT).flat_map(|a| (0..COUNT).map(move |b| (a, b))).filter(|(a, b)| a != b);
        for (a, b) in pairs {
            let share = followed[a][b] as f64 / ROUNDS as f64;
            assert!((0.15..0.25).contains(&share), "{b} follows {a} in {share} of the rounds");
        }
    }
}
