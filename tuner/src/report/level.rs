//! What both learning curves are compared with.

use std::ops::Range;

use plotters::style::RGBColor;

use super::chart::{CUBLAS, FAINT, INCUMBENT, OPTIMUM};
use crate::target::Target;

/// A rate to compare a curve with.
pub struct Level {
    pub name: &'static str,
    /// In 10¹² FLOP/s.
    pub tflops: f64,
    pub colour: RGBColor,
}

/// Times to compare trials with, in milliseconds.
pub struct Levels {
    /// Of the whole space, measured as trials are.
    pub optimum_ms: Option<f64>,
    pub incumbent_ms: Option<f64>,
    pub cublas_ms: Option<f64>,
    pub default_ms: Option<f64>,
    /// What the winner took in its trial, if it is known, and in the final that the other times are from. Trials rest
    /// before they are timed and finals run under load, so these times are drawn at their ratio to the winner's.
    pub winner_ms: Option<(f64, f64)>,
}

impl Levels {
    /// The levels that are known, for trials of `target`.
    pub fn of(&self, target: &Target, cublas: &'static str) -> Vec<Level> {
        let trial_over_final = self.winner_ms.map_or(1.0, |(in_trial, in_final)| in_trial / in_final);
        let beside_trials = |ms: Option<f64>| Some(ms? * trial_over_final);
        let times = [
            ("optimum", self.optimum_ms, OPTIMUM),
            ("in use", beside_trials(self.incumbent_ms), INCUMBENT),
            (cublas, beside_trials(self.cublas_ms), CUBLAS),
            ("default", beside_trials(self.default_ms), FAINT),
        ];
        let level = |(name, ms, colour): (_, Option<f64>, _)| Some(Level { name, tflops: target.tflops(ms?), colour });
        times.into_iter().filter_map(level).collect()
    }
}

/// Of so many trials the slowest one may lie on the lower edge of a chart.
const SLOWEST: usize = 10;

/// The rates that a chart of `trials` and what they are compared with shows: they are told apart near the top, so it need not
/// begin at 0, nor at the slowest trial.
pub fn told_apart(trials: impl Iterator<Item = f64>, compared: impl Iterator<Item = f64>) -> Range<f64> {
    let mut trials: Vec<f64> = trials.collect();
    trials.sort_by(f64::total_cmp);
    let ends = [trials.get(trials.len() / SLOWEST), trials.last()].into_iter().flatten().copied();
    let shown = ends.chain(compared);
    let (lowest, highest) = shown.fold((f64::INFINITY, 0.0), |(low, high), rate| (rate.min(low), rate.max(high)));
    // An axis needs some length, whatever was timed.
    let highest = if highest > 0.0 { highest } else { 1.0 };
    lowest.min(highest) * 0.92..highest * 1.03
}

#[cfg(test)]
mod tests {
    use autokernel_codegen::arch::Arch;
    use autokernel_codegen::dtype::Dtype;
    use autokernel_codegen::matmul::extents;
    use autokernel_codegen::problem::{Layout, Problem};

    use super::*;

    #[test]
    fn rates_below_one_fill_their_chart() {
        let range = told_apart([0.004, 0.005].into_iter(), [0.003].into_iter());
        assert!(range.start > 0.002 && range.end < 0.006, "{range:?}");
        assert!(!told_apart([].into_iter(), [].into_iter()).is_empty(), "nothing was timed");
    }

    #[test]
    fn times_of_the_final_stand_at_their_ratio_to_the_winner_and_the_optimum_as_it_was_recorded() {
        let problem = Problem::matmul(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap());
        let target = Target { problem, arch: Arch::SM_90A, shape: extents(1024, 1024, 1024) };
        let levels = Levels {
            optimum_ms: Some(0.5),
            incumbent_ms: None,
            cublas_ms: Some(2.0),
            default_ms: Some(4.0),
            winner_ms: Some((0.5, 1.0)),
        };
        let named: Vec<(&str, f64)> =
            levels.of(&target, "cuBLAS").iter().map(|level| (level.name, level.tflops)).collect();
        let at = |ms: f64| target.tflops(ms);
        assert_eq!(named, [("optimum", at(0.5)), ("cuBLAS", at(1.0)), ("default", at(2.0))]);
    }
}
