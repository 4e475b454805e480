//! How far choices are behind what searches found, shape by shape and in all.

use autokernel_codegen::schedule::Schedule;
use autokernel_core::Ms;
use statrs::statistics::{Data, OrderStatistics, Statistics};

use crate::drawn::Drawn;
use crate::held_final::Leg;

/// One shape's result.
#[derive(Clone, Debug)]
pub struct Lost {
    /// What was drawn.
    pub drawn: Drawn,
    /// What a launch chooses, and its time.
    pub choice: (Schedule, f64),
    /// The fastest of the search, and its time.
    pub best: (Schedule, f64),
    /// The choice's time over that of the fastest, within rounds that both ran in. Below 1 where no schedule of the search is as fast.
    pub ratio: f64,
}

impl Lost {
    /// What `leg` says of `choice`, against the fastest of those it met; none unless both have a time.
    pub fn of(drawn: Drawn, choice: Schedule, leg: &Leg, searched: &[Schedule]) -> Option<Self> {
        let ranking = leg.ranking();
        let standing =
            |wanted: Schedule| ranking.iter().find(|(schedule, _)| *schedule == wanted).map(|(_, score)| *score);
        let ms = |schedule: Schedule| {
            let time = leg.result_of(crate::evaluate::Contender::Schedule(schedule)).ok()?;
            Some((schedule, time.measurement.median_ms))
        };
        let &(best, fastest) = ranking.iter().find(|(schedule, _)| searched.contains(schedule))?;
        Some(Lost { drawn, choice: ms(choice)?, best: ms(best)?, ratio: standing(choice)? / fastest })
    }

    /// The line of this shape.
    pub fn line(&self) -> String {
        let (chosen, best) = (&self.choice, &self.best);
        let Drawn { extents, layout, .. } = self.drawn;
        let times = format!("{extents} {layout}: {}, {:+.1} %", Ms(chosen.1), percent(self.ratio));
        if chosen.0 == best.0 {
            return format!("{times}: {}, which led the search too", chosen.0);
        }
        format!("{times}: {}; the search's {}: {}", chosen.0, Ms(best.1), best.0)
    }
}

/// The line that sums results up.
pub fn summary(lost: &[Lost]) -> String {
    if lost.is_empty() {
        return "no shape was measured".to_owned();
    }
    let ratios: Vec<f64> = lost.iter().map(|lost| lost.ratio).collect();
    let mean = percent(ratios.iter().mean());
    let mut ordered = Data::new(ratios);
    format!(
        "{} shapes: the choice is behind by {:+.1} % in the median, {:+.1} % at the 90th percentile, {:+.1} % at most, {mean:+.1} % in the mean",
        lost.len(),
        percent(ordered.median()),
        percent(ordered.quantile(0.9)),
        percent(ordered.quantile(1.0)),
    )
}

fn percent(ratio: f64) -> f64 {
    100.0 * (ratio - 1.0)
}

#[cfg(test)]
mod tests {
    use autokernel_codegen::arch::Arch;
    use autokernel_codegen::dtype::Dtype;
    use autokernel_codegen::problem::Problem;

    use super::*;
    use crate::drawn::{Activation, Shapes};
    use crate::evaluate::{Contender, Final, FinalTime};
    use crate::outcome::{Failure, Measurement};

    fn schedule(group: u16) -> Schedule {
        let problem = Problem::matmul(Dtype::Bf16, drawn().layout, Activation::Plain.epilogue());
        problem.class().default_schedule(Arch::SM_90A).with("raster_group", group).unwrap()
    }

    fn drawn() -> Drawn {
        Shapes::of_seed(1).next().unwrap()
    }

    fn time(round_ms: [f64; 3]) -> Final {
        Ok(FinalTime { measurement: Measurement::new(round_ms[1], 0.1, 3), round_ms: round_ms.to_vec() })
    }

    fn leg(results: Vec<Final>) -> Leg {
        let contenders: Vec<Contender> =
            (1..=results.len()).map(|at| Contender::Schedule(schedule(at as u16))).collect();
        Leg::new(None, &contenders, results)
    }

    #[test]
    fn a_choice_is_held_against_the_fastest_of_the_search_round_by_round() {
        // The clock halves after the first round.
        let met = leg(vec![time([1.1, 2.2, 2.2]), time([1.0, 2.0, 2.0]), time([1.2, 2.4, 2.4])]);
        let lost = Lost::of(drawn(), schedule(1), &met, &[schedule(2), schedule(3)]).unwrap();
        assert_eq!((lost.best.0, lost.choice.1), (schedule(2), 2.2));
        assert!((lost.ratio - 1.1).abs() < 1e-9, "{}", lost.ratio);
        let ahead = Lost::of(drawn(), schedule(2), &met, &[schedule(3)]).unwrap();
        assert!((ahead.ratio - 1.0 / 1.2).abs() < 1e-9, "what a search does not find is below one: {}", ahead.ratio);
        let led = Lost::of(drawn(), schedule(2), &met, &[schedule(2), schedule(3)]).unwrap();
        assert!((led.ratio - 1.0).abs() < 1e-9 && led.line().ends_with("which led the search too"), "{}", led.line());
    }

    #[test]
    fn a_choice_that_fails_is_no_result() {
        let met = leg(vec![Err(Failure::NotRecorded), time([1.0, 1.0, 1.0])]);
        assert!(Lost::of(drawn(), schedule(1), &met, &[schedule(2)]).is_none());
    }

    #[test]
    fn a_summary_has_median_percentile_worst_and_mean() {
        let lost = |ratio: f64| Lost { drawn: drawn(), choice: (schedule(1), ratio), best: (schedule(2), 1.0), ratio };
        let told = summary(&(0..=10).map(|at| lost(1.0 + 0.01 * f64::from(at))).collect::<Vec<_>>());
        assert!(told.starts_with("11 shapes: the choice is behind by +5.0 % in the median, +9."), "{told}");
        assert!(told.contains("+10.0 % at most, +5.0 % in the mean"), "{told}");
        assert_eq!(summary(&[]), "no shape was measured");
    }
}
