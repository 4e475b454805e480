//! The energy of a launch, by a counter that the board keeps.
//!
//! NVML's counter is of the whole board, in millijoules, and moves on in steps, some ten milliseconds apart. So launches run back to
//! back from one step to another that is much later, and what the counter says between both is shared by the launches between both.
//! What is under way when the counter is read belongs to the next step: that is at most a batch of them, of all.

/// Launches that ran back to back.
#[derive(Clone, Copy, Debug)]
pub struct Ran {
    /// How many.
    pub launches: usize,
    /// How long they took, in milliseconds.
    pub elapsed_ms: f64,
}

/// A board that runs launches and counts what energy it took since it was switched on.
pub trait Board {
    /// Why it cannot go on.
    type Error;

    /// The counter, in millijoules.
    ///
    /// # Errors
    /// It cannot be read.
    fn counter_mj(&mut self) -> Result<u64, Self::Error>;

    /// Runs a batch of launches, and waits for it.
    ///
    /// # Errors
    /// A launch fails.
    fn run(&mut self) -> Result<Ran, Self::Error>;
}

/// A counter that stands still for so long under load, in milliseconds, does not count.
const STILL_MS: f64 = 2_000.0;

/// The energy of a launch in millijoules, over launches of at least so many milliseconds; none where the counter stands still.
///
/// # Errors
/// As the board's.
pub fn of_a_launch<B: Board>(board: &mut B, at_least_ms: f64) -> Result<Option<f64>, B::Error> {
    let Some((first_mj, _)) = to_a_step(board, 0.0)? else { return Ok(None) };
    let (mut counted, mut launches, mut elapsed_ms) = (None, 0, 0.0);
    while elapsed_ms < at_least_ms {
        let Some((mj, ran)) = to_a_step(board, at_least_ms - elapsed_ms)? else { break };
        launches += ran.launches;
        elapsed_ms += ran.elapsed_ms;
        counted = Some((mj.saturating_sub(first_mj), launches));
    }
    Ok(counted.map(|(mj, launches)| mj as f64 / launches.max(1) as f64))
}

/// Runs launches up to the first step of the counter that is so much later: what it says then, and what was run. None where it stands
/// still.
fn to_a_step<B: Board>(board: &mut B, after_ms: f64) -> Result<Option<(u64, Ran)>, B::Error> {
    let mut all = Ran { launches: 0, elapsed_ms: 0.0 };
    let mut before = board.counter_mj()?;
    let mut still_ms = 0.0;
    loop {
        let ran = board.run()?;
        all = Ran { launches: all.launches + ran.launches, elapsed_ms: all.elapsed_ms + ran.elapsed_ms };
        still_ms += ran.elapsed_ms;
        let now = board.counter_mj()?;
        if now != before {
            if all.elapsed_ms >= after_ms {
                return Ok(Some((now, all)));
            }
            (before, still_ms) = (now, 0.0);
        }
        if still_ms > STILL_MS {
            return Ok(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Launches of so many milliseconds at so many watts, and a counter that moves on every so many milliseconds.
    struct FakeBoard {
        launch_ms: f64,
        watts: f64,
        step_ms: f64,
        now_ms: f64,
        fails_after: usize,
        runs: usize,
    }

    impl Board for FakeBoard {
        type Error = &'static str;

        fn counter_mj(&mut self) -> Result<u64, &'static str> {
            // A watt is a millijoule a millisecond.
            let counted_until = (self.now_ms / self.step_ms).floor() * self.step_ms;
            Ok((1e6 + self.watts * counted_until) as u64)
        }

        fn run(&mut self) -> Result<Ran, &'static str> {
            self.runs += 1;
            if self.runs > self.fails_after {
                return Err("lost");
            }
            let launches = (10.0 / self.launch_ms).ceil() as usize;
            let elapsed_ms = launches as f64 * self.launch_ms;
            self.now_ms += elapsed_ms;
            Ok(Ran { launches, elapsed_ms })
        }
    }

    const BOARD: FakeBoard =
        FakeBoard { launch_ms: 0.2, watts: 350.0, step_ms: 25.0, now_ms: 7.0, fails_after: usize::MAX, runs: 0 };

    #[test]
    fn a_launch_takes_its_share_of_the_power_however_coarse_the_steps_are() {
        for (launch_ms, watts, step_ms) in
            [(0.2, 350.0, 25.0), (0.003, 120.0, 100.0), (3.7, 690.0, 20.0), (40.0, 500.0, 7.0)]
        {
            let mut board = FakeBoard { launch_ms, watts, step_ms, ..BOARD };
            let mj = of_a_launch(&mut board, 2_000.0).unwrap().unwrap();
            let expected = watts * launch_ms;
            assert!((mj / expected - 1.0).abs() < 0.05, "{launch_ms} ms at {watts} W: {mj} mJ, not {expected}");
        }
    }

    #[test]
    fn a_counter_that_stands_still_counts_nothing_and_ends() {
        let mut board = FakeBoard { watts: 0.0, ..BOARD };
        assert_eq!(of_a_launch(&mut board, 500.0), Ok(None));
        assert!(board.now_ms < 2.0 * STILL_MS);
    }

    #[test]
    fn a_launch_that_fails_ends_it_with_its_error() {
        let mut board = FakeBoard { fails_after: 20, ..BOARD };
        assert_eq!(of_a_launch(&mut board, 5_000.0), Err("lost"));
    }
}
