//! The learning curve: what each trial reached, and the best so far. A panel a target.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::chart::{ChartError, FAILURE, FONT, FOUND, GRID, INK, TRIAL, axes};
use super::level::{Level, Levels, told_apart};
use super::rate::{Rate, axis_number};
use super::result::TargetResult;

const PANEL: (u32, u32) = (760, 430);
/// Numbers of the vertical axis, at most.
const NUMBERS: usize = 11;

/// The learning curves of `results` as SVG.
///
/// # Errors
/// The drawing library fails.
pub fn learning_curves(results: &[TargetResult]) -> Result<String, ChartError> {
    let columns = results.len().clamp(1, if results.len() > 6 { 3 } else { 2 });
    let rows = results.len().max(1).div_ceil(columns);
    let mut svg = String::new();
    {
        let size = (PANEL.0 * columns as u32, PANEL.1 * rows as u32);
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE)?;
        for (area, result) in root.split_evenly((rows, columns)).iter().zip(results) {
            panel(area, result)?;
        }
        root.present()?;
    }
    Ok(svg)
}

fn levels(result: &TargetResult) -> Vec<Level> {
    let winner = result.promotion.as_ref().and_then(|promotion| promotion.winner.as_ref());
    let levels = Levels {
        optimum_ms: result.optimum.map(|(_, measurement)| measurement.median_ms),
        incumbent_ms: result.incumbent_ms(),
        cublas_ms: result.cublas_ms(),
        default_ms: result.default_ms(),
        winner_ms: winner.and_then(|(trial, time)| Some((trial.median_ms()?, time.measurement.median_ms))),
    };
    levels.of(&result.search.target, "cuBLAS + epilogue")
}

fn panel<DB: DrawingBackend>(area: &DrawingArea<DB, Shift>, result: &TargetResult) -> Result<(), ChartError>
where
    DB::ErrorType: 'static,
{
    let search = &result.search;
    let target = &search.target;
    let levels = levels(result);
    let rates: Vec<Option<f64>> = search.trials.iter().map(|trial| Some(target.tflops(trial.median_ms()?))).collect();
    let range = told_apart(rates.iter().flatten().copied(), levels.iter().map(|level| level.tflops));
    let (floor, highest, number) = (range.start, range.end, axis_number(&range, NUMBERS));
    let trials = rates.len().max(1) as f64;

    let title = format!("{} {}", target.shape, target.problem.brief());
    let title = area.titled(&title, (FONT, 17).into_font().color(&INK))?;
    let mut chart = ChartBuilder::on(&title)
        .margin_right(150)
        .margin_left(8)
        .margin_bottom(14)
        .x_label_area_size(38)
        .y_label_area_size(52)
        .build_cartesian_2d(0.0..trials + 1.0, range)?;
    axes(&mut chart, 13)
        .disable_x_mesh()
        .x_desc("evaluations")
        .y_desc("TFLOP/s")
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_labels(NUMBERS)
        .y_label_formatter(&number)
        .draw()?;

    for pair in search.trials.windows(2).enumerate().filter(|(_, pair)| pair[0].generation != pair[1].generation) {
        let x = pair.0 as f64 + 1.5;
        chart.draw_series(LineSeries::new([(x, floor), (x, highest)], GRID))?;
    }
    for level in &levels {
        let line = [(0.0, level.tflops), (trials + 1.0, level.tflops)];
        chart.draw_series(DashedLineSeries::new(line, 5, 4, level.colour.stroke_width(1)))?;
    }
    let at = |index: usize| index as f64 + 1.0;
    chart.draw_series(
        rates
            .iter()
            .enumerate()
            .filter_map(|(index, rate)| Some(Circle::new((at(index), rate.as_ref()?.max(floor)), 3, TRIAL.filled()))),
    )?;
    let failed = rates.iter().enumerate().filter(|(_, rate)| rate.is_none());
    chart.draw_series(failed.map(|(index, _)| Cross::new((at(index), floor), 4, FAILURE.stroke_width(2))))?;
    chart.draw_series(LineSeries::new(best_so_far(&rates), FOUND.stroke_width(3)))?;

    let place = |tflops: f64| chart.as_coord_spec().translate(&(trials + 1.0, tflops));
    let labels: Vec<(String, RGBColor, (i32, i32))> = levels
        .iter()
        .map(|level| (format!("{} {}", level.name, Rate(level.tflops)), level.colour, place(level.tflops)))
        .chain(
            rates
                .iter()
                .flatten()
                .copied()
                .reduce(f64::max)
                .map(|best| (format!("best {}", Rate(best)), FOUND, place(best))),
        )
        .collect();
    draw_labels(&title, labels)
}

/// The best rate up to each trial, as a staircase.
fn best_so_far(rates: &[Option<f64>]) -> Vec<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut best = None::<f64>;
    for (index, rate) in rates.iter().enumerate() {
        let x = index as f64 + 1.0;
        if let Some(best) = best {
            points.push((x, best));
        }
        if let Some(rate) = rate.filter(|rate| best.is_none_or(|best| *rate > best)) {
            best = Some(rate);
            points.push((x, rate));
        }
    }
    points
}

/// Labels right of the plot, moved apart where they would overlap.
fn draw_labels<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    mut labels: Vec<(String, RGBColor, (i32, i32))>,
) -> Result<(), ChartError>
where
    DB::ErrorType: 'static,
{
    const HEIGHT: i32 = 16;
    labels.sort_by_key(|(_, _, (_, y))| *y);
    let (left, top) = area.get_base_pixel();
    let mut lowest = i32::MIN;
    for (text, colour, (x, y)) in labels {
        lowest = lowest.saturating_add(HEIGHT).max(y);
        let style = (FONT, 13).into_font().color(&colour).pos(Pos::new(HPos::Left, VPos::Center));
        area.draw_text(&text, &style, (x - left + 6, lowest - top))?;
    }
    Ok(())
}
