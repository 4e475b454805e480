//! The roofline: what the GPU allows at each arithmetic intensity, and where the tuned kernels are.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::chart::{ChartError, FAINT, FONT, FOUND, GRID, INK};
use super::result::TargetResult;

/// Width of the plot, and of the key beside it.
const WIDTHS: (u32, u32) = (820, 500);
const LOWEST_HEIGHT: u32 = 580;
/// Height of a line of the key.
const LINE: u32 = 17;
/// Spots nearer than this many pixels to each other share a label.
const NEAR: i32 = 14;

/// A kernel on the chart.
struct Spot {
    label: String,
    intensity: f64,
    best_tflops: f64,
    default_tflops: Option<f64>,
}

/// The roofline of the GPU of `results`, with the best and the default schedule of each target, as SVG. Results of
/// another GPU than the first one's are left out: they have another roof.
///
/// # Errors
/// The drawing library fails.
pub fn roofline(results: &[TargetResult]) -> Result<String, ChartError> {
    let mut svg = String::new();
    let Some(first) = results.first() else { return Ok(svg) };
    let of_gpu = results.iter().filter(|result| result.gpu.name == first.gpu.name);
    let spots: Vec<Spot> = of_gpu.filter_map(spot).collect();
    draw(&mut svg, first, &spots)?;
    Ok(svg)
}

fn spot(result: &TargetResult) -> Option<Spot> {
    let target = &result.search.target;
    let best_tflops = target.tflops(result.best_ms()?);
    let share = result.roofline().percent(&target.work(), result.best_ms()?);
    let problem = &target.problem;
    let label = format!(
        "{} {} {} {}: {best_tflops:.0} TFLOP/s, {share:.0} % of the roof",
        target.shape, problem.layout, problem.input, problem.epilogue
    );
    let default_tflops = result.default_ms().map(|ms| target.tflops(ms));
    Some(Spot { label, intensity: target.work().intensity(), best_tflops, default_tflops })
}

fn draw(svg: &mut String, first: &TargetResult, spots: &[Spot]) -> Result<(), ChartError> {
    let roof = first.roofline();
    let lowest_x = spots.iter().map(|spot| spot.intensity / 2.0).fold(roof.ridge() / 16.0, f64::min).max(0.1);
    let highest_x = spots.iter().map(|spot| spot.intensity * 2.0).fold(roof.ridge() * 16.0, f64::max);
    let rates = spots.iter().flat_map(|spot| [Some(spot.best_tflops), spot.default_tflops]).flatten();
    let lowest_y = rates.fold(roof.attainable_tflops(lowest_x), f64::min) / 1.5;

    let height = LOWEST_HEIGHT.max(LINE * (spots.len() as u32 + 6));
    let root = SVGBackend::with_string(svg, (WIDTHS.0 + WIDTHS.1, height)).into_drawing_area();
    root.fill(&WHITE)?;
    let title = format!(
        "{}: {:.0} TFLOP/s dense 16-bit, {:.0} GB/s, ridge at {:.0} FLOP/B",
        first.gpu.name,
        roof.peak_tflops,
        roof.bandwidth_gb_s,
        roof.ridge()
    );
    let area = root.titled(&title, (FONT, 18).into_font().color(&INK))?;
    let (plot, beside) = area.split_horizontally(WIDTHS.0);
    let mut chart = ChartBuilder::on(&plot).margin(12).x_label_area_size(42).y_label_area_size(62).build_cartesian_2d(
        (lowest_x..highest_x).log_scale().base(2.0),
        (lowest_y..roof.peak_tflops * 1.5).log_scale(),
    )?;
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(FAINT)
        .label_style((FONT, 13).into_font().color(&INK))
        .x_desc("arithmetic intensity, FLOP per byte of device memory traffic")
        .y_desc("TFLOP/s")
        .x_label_formatter(&|x| plain(*x))
        .y_label_formatter(&|y| plain(*y))
        .draw()?;
    let corners = [lowest_x, roof.ridge(), highest_x].map(|x| (x, roof.attainable_tflops(x)));
    chart.draw_series(LineSeries::new(corners, INK.stroke_width(2)))?;

    let mut place = Vec::new();
    for spot in spots {
        if let Some(default) = spot.default_tflops {
            let (from, to) = ((spot.intensity, default), (spot.intensity, spot.best_tflops));
            chart.draw_series(LineSeries::new([from, to], FOUND.mix(0.4)))?;
            chart.draw_series([Circle::new(from, 4, FAINT.stroke_width(2))])?;
        }
        chart.draw_series([Circle::new((spot.intensity, spot.best_tflops), 5, FOUND.filled())])?;
        place.push(chart.as_coord_spec().translate(&(spot.intensity, spot.best_tflops)));
    }
    drop(chart);
    number(&plot, &place)?;
    key(&beside, spots)?;
    root.present()?;
    Ok(())
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// The numbers of the spots beside them; spots on top of each other share a label.
fn number(area: &Area<'_>, places: &[(i32, i32)]) -> Result<(), ChartError> {
    let (left, top) = area.get_base_pixel();
    let mut labels: Vec<((i32, i32), String)> = Vec::new();
    for (index, &(x, y)) in places.iter().enumerate() {
        let number = (index + 1).to_string();
        match labels.iter_mut().find(|((at, up), _)| (at - x).abs() < NEAR && (up - y).abs() < NEAR) {
            Some((_, label)) => *label += &format!(", {number}"),
            None => labels.push(((x, y), number)),
        }
    }
    let style = (FONT, 13).into_font().color(&INK).pos(Pos::new(HPos::Left, VPos::Center));
    for ((x, y), label) in labels {
        area.draw_text(&label, &style, (x - left + 10, y - top - 9))?;
    }
    Ok(())
}

/// What the numbers mean.
fn key(area: &Area<'_>, spots: &[Spot]) -> Result<(), ChartError> {
    let style = (FONT, 13).into_font().color(&INK).pos(Pos::new(HPos::Left, VPos::Center));
    let line = |row: usize| 30 + (LINE * row as u32) as i32;
    for (row, spot) in spots.iter().enumerate() {
        area.draw_text(&format!("{}", row + 1), &style, (8, line(row)))?;
        area.draw_text(&spot.label, &style, (34, line(row)))?;
    }
    let last = spots.len() + 1;
    area.draw(&Circle::new((12, line(last)), 5, FOUND.filled()))?;
    area.draw_text("tuned", &style, (34, line(last)))?;
    area.draw(&Circle::new((12, line(last + 1)), 4, FAINT.stroke_width(2)))?;
    area.draw_text("default schedule", &style, (34, line(last + 1)))?;
    Ok(())
}

/// A number without exponent or needless digits.
fn plain(value: f64) -> String {
    if value >= 1.0 { format!("{value:.0}") } else { format!("{value}") }
}
