//! Regret over evaluations and over seconds: a panel a shape, a line a strategy.

use plotters::coord::Shift;
use plotters::prelude::*;

use super::contest::{Arena, Course};
use super::standing::Quartiles;
use crate::report::ChartError;
use crate::report::chart::{CUBLAS, FAILURE, FAINT, FONT, FOUND, INCUMBENT, INK, OPTIMUM, axes};

const PANEL: (u32, u32) = (620, 380);
/// Regret is drawn on a logarithmic axis, which has no zero: this stands for it, in percent.
const LEAST_PCT: f64 = 0.1;
const MOST_PCT: f64 = 100.0;
/// Points of a line over seconds.
const STEPS: usize = 120;

/// The courses of one strategy at one shape, one a seed.
pub struct Line<'c> {
    /// The strategy.
    pub strategy: String,
    /// Its courses.
    pub courses: &'c [Course],
}

/// What is at the bottom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    /// Evaluations.
    Evaluations,
    /// Simulated seconds.
    Seconds,
}

/// The charts of `panels` as SVG: the median and the middle half over the seeds of how much slower than the optimum
/// the best so far is.
///
/// # Errors
/// The drawing library fails.
pub fn regret(panels: &[(&Arena, Vec<Line<'_>>)], axis: Axis) -> Result<String, ChartError> {
    let columns = panels.len().clamp(1, 3);
    let rows = panels.len().max(1).div_ceil(columns);
    let mut svg = String::new();
    {
        let size = (PANEL.0 * columns as u32, PANEL.1 * rows as u32);
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE)?;
        for (area, (arena, lines)) in root.split_evenly((rows, columns)).iter().zip(panels) {
            panel(area, arena, lines, axis)?;
        }
        root.present()?;
    }
    Ok(svg)
}

fn panel<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    arena: &Arena,
    lines: &[Line<'_>],
    axis: Axis,
) -> Result<(), ChartError>
where
    DB::ErrorType: 'static,
{
    let end = lines.iter().flat_map(|line| line.courses).map(|course| extent(course, axis)).fold(1.0, f64::max);
    let title = format!("{} · {} schedules", arena.target.shape, arena.len());
    let title = area.titled(&title, (FONT, 16).into_font().color(&INK))?;
    let mut chart = ChartBuilder::on(&title)
        .margin_right(16)
        .margin_left(8)
        .margin_bottom(10)
        .x_label_area_size(36)
        .y_label_area_size(56)
        .build_cartesian_2d(0.0..end, (LEAST_PCT..MOST_PCT).log_scale())?;
    axes(&mut chart, 12)
        .disable_x_mesh()
        .x_desc(if axis == Axis::Evaluations { "evaluations" } else { "simulated seconds" })
        .y_desc("slower than the optimum, %")
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| if *y <= LEAST_PCT { format!("≤ {y}") } else { y.to_string() })
        .draw()?;
    for (line, colour) in lines.iter().zip(colours().cycle()) {
        let points = points(line.courses, arena.optimum_ms, axis, end);
        // Half of the seeds lie in the band.
        let upper = points.iter().map(|(x, quartiles)| (*x, quartiles.upper));
        let lower = points.iter().rev().map(|(x, quartiles)| (*x, quartiles.lower));
        let band: Vec<(f64, f64)> = upper.chain(lower).collect();
        chart.draw_series([Polygon::new(band, colour.mix(0.12))])?;
        let medians = points.iter().map(|(x, quartiles)| (*x, quartiles.median));
        chart
            .draw_series(LineSeries::new(medians, colour.stroke_width(2)))?
            .label(line.strategy.clone())
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], colour.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .label_font((FONT, 13).into_font().color(&INK))
        .background_style(WHITE.mix(0.8))
        .draw()?;
    Ok(())
}

fn colours() -> impl Iterator<Item = RGBColor> + Clone {
    [FAINT, INCUMBENT, FOUND, CUBLAS, OPTIMUM, FAILURE].into_iter()
}

fn extent(course: &Course, axis: Axis) -> f64 {
    match axis {
        Axis::Evaluations => course.times_ms.len() as f64,
        Axis::Seconds => course.seconds.last().copied().unwrap_or(0.0),
    }
}

/// The quartiles of the regret in percent, each with its place on the axis.
fn points(courses: &[Course], optimum_ms: f64, axis: Axis, end: f64) -> Vec<(f64, Quartiles)> {
    let regret = |course: &Course, evaluations: usize| {
        let pct = 100.0 * (1.0 / course.share(evaluations, optimum_ms) - 1.0);
        pct.clamp(LEAST_PCT, MOST_PCT)
    };
    let quartiles =
        |done: &dyn Fn(&Course) -> usize| Quartiles::of(courses.iter().map(|course| regret(course, done(course))));
    match axis {
        Axis::Evaluations => (1..=end as usize).map(|at| (at as f64, quartiles(&|_| at))).collect(),
        Axis::Seconds => {
            let at = |step: usize| end * step as f64 / STEPS as f64;
            let known = |course: &Course, now: f64| course.seconds.partition_point(|&then| then <= now);
            (0..=STEPS).map(|step| (at(step), quartiles(&|course| known(course, at(step))))).collect()
        }
    }
}
