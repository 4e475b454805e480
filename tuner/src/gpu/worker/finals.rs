//! The final: contenders in turn within each round, so that drift of the clocks hits all alike.

use std::rc::Rc;

use autokernel_runtime::CompiledKernel;
use autokernel_runtime::timing::Timing;

use super::cublas::Cublas;
use super::error::{Result, WorkerError};
use super::instruments::Instruments;
use super::stopwatch::{Stopwatch, mean_mhz};
use crate::gpu::protocol::{FinalReply, FinalRounds};
use crate::gpu::sampling::{Batching, Effort};

/// Who meets.
pub enum Contestant {
    /// A kernel of ours, checked.
    Kernel(Box<CompiledKernel>),
    /// cuBLASLt by one of its choices, and whether the epilogue follows as a kernel of its own.
    Cublas {
        /// The product.
        cublas: Rc<Cublas>,
        /// Which of its choices.
        choice: usize,
        /// Whether the epilogue is applied.
        epilogue: bool,
    },
}

/// Launches a contestant; the number rotates through the sets of buffers.
pub type LaunchOf<'l> = &'l mut dyn FnMut(&Contestant, usize) -> Result<()>;

/// Effort spent on each of cuBLASLt's choices, and on learning how long a contestant takes.
const CHOOSING: Effort = Effort { min_samples: 10, max_samples: 20, noise_pct: 1.0, limit_ms: 20.0, rest_ms: 0.0 };
/// Rounds that only warm up.
const WARM_UP_ROUNDS: u32 = 1;

struct Entrant {
    contestant: Contestant,
    batching: Batching,
    chosen: Option<String>,
    round_ms: Vec<f64>,
    clocks: Vec<Option<f64>>,
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
    let count = entrants.len();
    for round in 0..WARM_UP_ROUNDS + request.rounds {
        for turn in 0..count {
            let index = order(round as usize, turn, count);
            let Ok(entrant) = &mut entrants[index] else { continue };
            let Entrant { contestant, batching, .. } = entrant;
            let batch = stopwatch.batch(tools, *batching, &mut 0, &mut |number| launch(contestant, number))?;
            if round >= WARM_UP_ROUNDS {
                entrant.round_ms.push(Timing::of_ms(&batch.samples_ms)?.median_ms);
                entrant.clocks.push(batch.sm_clock_mhz);
            }
        }
    }
    Ok(entrants.into_iter().map(reply).collect())
}

/// Whose turn it is: each round begins with the next contestant, and every second one runs backwards, so that no one
/// always follows the same other.
fn order(round: usize, turn: usize, count: usize) -> usize {
    let turn = if round.is_multiple_of(2) { turn } else { count - 1 - turn };
    (round + turn) % count
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
            let (choice, ms) = choose(tools, stopwatch, &cublas, &CHOOSING, launch)?;
            let chosen = format!("choice {} of {}", choice + 1, cublas.choices());
            (Contestant::Cublas { cublas, choice, epilogue }, ms, Some(chosen))
        }
        kernel @ Contestant::Kernel(_) => {
            let measured = stopwatch.measure(tools, &CHOOSING, &mut |number| launch(&kernel, number))?;
            (kernel, measured.timing.median_ms, None)
        }
    };
    let batching = Batching::for_round(launch_ms, round_ms);
    Ok(Entrant { contestant, batching, chosen, round_ms: Vec::new(), clocks: Vec::new() })
}

/// The fastest of cuBLASLt's choices, and its time in milliseconds.
pub fn choose(
    tools: &Instruments,
    stopwatch: &mut Stopwatch,
    cublas: &Rc<Cublas>,
    effort: &Effort,
    launch: LaunchOf<'_>,
) -> Result<(usize, f64)> {
    let mut best = None;
    let mut refused = None;
    for choice in 0..cublas.choices() {
        let contestant = Contestant::Cublas { cublas: cublas.clone(), choice, epilogue: false };
        // Once outside the timing: a first launch may load the library's kernel.
        let measured = launch(&contestant, 0)
            .and_then(|()| stopwatch.measure(tools, effort, &mut |number| launch(&contestant, number)));
        match measured {
            Ok(measured) => {
                let ms = measured.timing.median_ms;
                if best.is_none_or(|(_, fastest)| ms < fastest) {
                    best = Some((choice, ms));
                }
            }
            Err(error) if error.is_fatal() => return Err(error),
            Err(error) => refused = Some(error),
        }
    }
    best.ok_or_else(|| refused.unwrap_or_else(|| WorkerError::Cublas("it has no choices".to_owned())))
}

fn reply(entrant: Result<Entrant>) -> FinalReply {
    match entrant {
        Ok(Entrant { round_ms, clocks, chosen, .. }) => {
            FinalReply::Timed { round_ms, sm_clock_mhz: mean_mhz(clocks), chosen }
        }
        Err(error) => FinalReply::Failed { failure: error.failure() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_round_has_each_contestant_once_and_no_one_always_follows_the_same_other() {
        let rounds: Vec<Vec<usize>> = (0..6).map(|round| (0..3).map(|turn| order(round, turn, 3)).collect()).collect();
        for round in &rounds {
            let mut sorted = round.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2]);
        }
        let before_zero: std::collections::BTreeSet<usize> = rounds
            .iter()
            .filter_map(|round| Some(round[round.iter().position(|&who| who == 0)?.checked_sub(1)?]))
            .collect();
        assert_eq!(before_zero.len(), 2, "{rounds:?}");
    }
}
