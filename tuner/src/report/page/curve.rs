//! The learning curve of one target: its trials by generation, with the mean and the best.

use plotters::prelude::*;

use super::data::Tuning;
use super::plot::{Label, SIZE, TEXT, axis_titles, labels};
use crate::report::chart::{ChartError, FOUND, INK, TRIAL, axes};
use crate::report::level::{Level, Levels, told_apart};
use crate::report::rate::{Rate, axis_number};
use crate::trial::Trial;

/// Points that a chart shows.
const MOST_POINTS: usize = 2000;

/// Numbers of the vertical axis, at most.
const NUMBERS: usize = 6;

/// A chart, and how many trials it shows.
pub struct Curve {
    /// The SVG.
    pub svg: String,
    /// The points of single trials.
    pub points: usize,
}

/// The chart of `tuning`.
///
/// # Errors
/// The drawing library fails.
pub fn curve(tuning: &Tuning) -> Result<Curve, ChartError> {
    let generations = tuning.generations();
    let rate = |trial: &Trial| trial.median_ms().map(|ms| tuning.target.tflops(ms));
    let rates: Vec<Vec<f64>> =
        generations.iter().map(|trials| trials.iter().filter_map(|trial| rate(trial)).collect()).collect();
    let levels = levels(tuning);
    let told = means(&rates).into_iter().chain(best_so_far(&rates)).map(|(_, rate)| rate);
    let range = told_apart(rates.iter().flatten().copied(), told.chain(levels.iter().map(|level| level.tflops)));
    let (floor, number) = (range.start, axis_number(&range, NUMBERS));

    let mut svg = String::new();
    let points;
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let span = 0.5..rates.len().max(1) as f64 + 0.5;
        let mut chart = ChartBuilder::on(&area)
            .margin_top(24)
            .margin_right(116)
            .margin_bottom(22)
            .x_label_area_size(24)
            .y_label_area_size(42)
            .build_cartesian_2d(span.clone(), range)?;
        axes(&mut chart, TEXT)
            .disable_x_mesh()
            .x_labels(rates.len().clamp(2, 10))
            .y_labels(NUMBERS)
            .x_label_formatter(&|x| if x.fract().abs() < 0.01 { format!("{x:.0}") } else { String::new() })
            .y_label_formatter(&number)
            .draw()?;
        for level in &levels {
            let line = [(span.start, level.tflops), (span.end, level.tflops)];
            chart.draw_series(DashedLineSeries::new(line, 5, 4, level.colour.stroke_width(1)))?;
        }
        let at = |index: usize| index as f64 + 1.0;
        let single = rates.iter().enumerate().flat_map(|(index, rates)| {
            let (count, x) = (rates.len() as f64, at(index));
            // Side by side in the order of the trials, so that equal times stay apart.
            let place = move |i: usize| x + 0.5 * ((i as f64 + 0.5) / count - 0.5);
            rates.iter().enumerate().map(move |(i, &rate)| (place(i), rate.max(floor)))
        });
        // Evenly thinned where there are more than a chart can show.
        let step = rates.iter().map(Vec::len).sum::<usize>().div_ceil(MOST_POINTS).max(1);
        let single: Vec<(f64, f64)> = single.step_by(step).collect();
        points = single.len();
        chart.draw_series(single.into_iter().map(|place| Circle::new(place, 3, TRIAL.filled())))?;
        chart.draw_series(LineSeries::new(means(&rates), INK.stroke_width(2)))?;
        let best = best_so_far(&rates);
        chart.draw_series(LineSeries::new(best.iter().copied(), FOUND.stroke_width(3)))?;

        let place = |rate: f64| {
            let (x, y) = chart.as_coord_spec().translate(&(span.end, rate));
            (x + 6, y)
        };
        let ends = [("best", best.last(), FOUND), ("mean", means(&rates).last(), INK)].map(|(name, end, colour)| {
            let (_, rate) = *end?;
            Some(Level { name, tflops: rate, colour })
        });
        let named = levels.into_iter().chain(ends.into_iter().flatten());
        let named = named.map(|Level { name, tflops, colour }| Label {
            text: format!("{name} {}", Rate(tflops)),
            colour,
            at: place(tflops),
        });
        labels(&area, named.collect())?;
        axis_titles(&area, "TFLOP/s", "generation")?;
        area.present()?;
    }
    Ok(Curve { svg, points })
}

fn levels(tuning: &Tuning) -> Vec<Level> {
    let result = tuning.result.as_ref();
    let in_trial = |schedule| tuning.trials.iter().find(|trial| trial.schedule == schedule)?.median_ms();
    let best = result.and_then(|result| result.best.as_ref());
    let levels = Levels {
        optimum_ms: result.and_then(|result| result.optimum.as_ref()).map(|optimum| optimum.median_ms),
        incumbent_ms: tuning.incumbent_ms(),
        cublas_ms: tuning.cublas_ms(),
        // Where a final was held, the time of a trial does not stand in for it.
        default_ms: match result.filter(|result| result.verdict.is_some()) {
            Some(held) => held.default_ms,
            None => tuning.default_ms(),
        },
        winner_ms: best.and_then(|best| Some((in_trial(best.schedule)?, best.median_ms))),
    };
    levels.of(&tuning.target, "cuBLAS")
}

/// The mean rate of each generation that has one.
fn means(rates: &[Vec<f64>]) -> Vec<(f64, f64)> {
    let mean = |(index, rates): (usize, &Vec<f64>)| {
        let sum: f64 = rates.iter().sum();
        (!rates.is_empty()).then(|| (index as f64 + 1.0, sum / rates.len() as f64))
    };
    rates.iter().enumerate().filter_map(mean).collect()
}

/// The best rate up to each generation.
fn best_so_far(rates: &[Vec<f64>]) -> Vec<(f64, f64)> {
    let mut best = None::<f64>;
    let mut points = Vec::new();
    for (index, rates) in rates.iter().enumerate() {
        best = rates.iter().copied().chain(best).reduce(f64::max);
        points.extend(best.map(|best| (index as f64 + 1.0, best)));
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_skips_a_generation_in_which_all_failed_and_the_best_stays() {
        let rates = [vec![100.0, 300.0], vec![], vec![200.0]];
        assert_eq!(means(&rates), [(1.0, 200.0), (3.0, 200.0)]);
        assert_eq!(best_so_far(&rates), [(1.0, 300.0), (2.0, 300.0), (3.0, 300.0)]);
    }
}
