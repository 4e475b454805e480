//! The fastest of cuBLASLt's algorithms.

/// Heuristics that cuBLASLt is asked for.
pub const HEURISTICS: usize = 64;

/// Launches of an algorithm's first, short trial.
const FIRST_LAUNCHES: usize = 2;
/// Algorithms that are timed again.
const FINALISTS: usize = 8;
/// How long each of them is then timed, twice, in milliseconds: far above the resolution of events.
const FINAL_MS: f64 = 6.0;

/// The fastest of `algorithms`, and the time of a launch of it in milliseconds.
///
/// `time` runs an algorithm that many times back to back and says what one launch took, or nothing if cuBLASLt refuses to
/// run it here. All are tried briefly, the fastest of them twice for longer.
///
/// # Errors
/// What `time` returns.
pub fn fastest<E>(
    algorithms: usize,
    mut time: impl FnMut(usize, usize) -> Result<Option<f64>, E>,
) -> Result<Option<(usize, f64)>, E> {
    let mut tried = Vec::new();
    for algorithm in 0..algorithms {
        tried.extend(time(algorithm, FIRST_LAUNCHES)?.map(|ms| (algorithm, ms)));
    }
    tried.sort_by(|a, b| a.1.total_cmp(&b.1));
    let mut best: Option<(usize, f64)> = None;
    for &(algorithm, ms) in tried.iter().take(FINALISTS) {
        let launches = (FINAL_MS / ms.max(1e-4)).ceil().clamp(3.0, 300.0) as usize;
        for _ in 0..2 {
            if let Some(ms) = time(algorithm, launches)?
                && best.is_none_or(|(_, fastest)| ms < fastest)
            {
                best = Some((algorithm, ms));
            }
        }
    }
    Ok(best)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    #[test]
    fn the_fastest_of_the_longer_trials_wins_and_algorithms_that_refuse_are_out() {
        // Algorithm 3 refuses; 5 looks slow in its first launches, which load it, and is the fastest after.
        let time = |algorithm: usize, launches: usize| {
            let steady = [1.0, 0.9, 1.2, 0.1, 1.1, 0.8][algorithm];
            let cold = if algorithm == 5 && launches == FIRST_LAUNCHES { 0.5 } else { 0.0 };
            Ok::<_, Infallible>((algorithm != 3).then_some(steady + cold))
        };
        assert_eq!(fastest(6, time), Ok(Some((5, 0.8))));
        assert_eq!(fastest(0, time), Ok(None));
    }

    #[test]
    fn a_fault_ends_the_choice() {
        assert_eq!(fastest(3, |algorithm, _| if algorithm == 1 { Err("lost") } else { Ok(Some(1.0)) }), Err("lost"));
    }
}
