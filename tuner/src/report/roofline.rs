//! The roofline: what the GPU allows at each arithmetic intensity, and where the tuned kernels are.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::chart::{ChartError, FAINT, FONT, FOUND, GRID, INK};
use super::result::TargetResult;

const SIZE: (u32, u32) = (1000, 620);

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

    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let title = format!(
        "{}: {:.0} TFLOP/s dense 16-bit, {:.0} GB/s, ridge at {:.0} FLOP/B",
        first.gpu.name,
        roof.peak_tflops,
        roof.bandwidth_gb_s,
        roof.ridge()
    );
    let area = root.titled(&title, (FONT, 18).into_font().color(&INK))?;
    let mut chart = ChartBuilder::on(&area).margin(12).x_label_area_size(42).y_label_area_size(62).build_cartesian_2d(
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
    number(&area, &place)?;
    key(&area, spots)?;
    root.present()?;
    Ok(())
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// The number of each spot beside it.
fn number(area: &Area<'_>, places: &[(i32, i32)]) -> Result<(), ChartError> {
    let (left, top) = area.get_base_pixel();
    for (index, &(x, y)) in places.iter().enumerate() {
        // Spots of one shape lie on top of each other: their numbers go round.
        let near = places[..index].iter().filter(|other| (other.0 - x).abs() < 14 && (other.1 - y).abs() < 14).count();
        let (dx, dy) = [(10, -9), (10, 9), (-16, -9), (-16, 9)][near % 4];
        let style = (FONT, 13).into_font().color(&INK).pos(Pos::new(HPos::Left, VPos::Center));
        area.draw_text(&(index + 1).to_string(), &style, (x - left + dx, y - top + dy))?;
    }
    Ok(())
}

/// What the numbers mean, in the corner below the roof where no kernel can be missed.
fn key(area: &Area<'_>, spots: &[Spot]) -> Result<(), ChartError> {
    const LINE: i32 = 17;
    let (width, height) = area.dim_in_pixel();
    let lines = spots.iter().enumerate().map(|(index, spot)| format!("{}  {}", index + 1, spot.label));
    let mut lines: Vec<String> = lines.collect();
    lines.push("●  tuned    ○  default schedule".to_owned());
    let style = (FONT, 13).into_font().color(&INK).pos(Pos::new(HPos::Right, VPos::Bottom));
    let bottom = height as i32 - 66;
    for (up, line) in lines.iter().rev().enumerate() {
        area.draw_text(line, &style, (width as i32 - 26, bottom - LINE * up as i32))?;
    }
    Ok(())
}

/// A number without exponent or needless digits.
fn plain(value: f64) -> String {
    if value >= 1.0 { format!("{value:.0}") } else { format!("{value}") }
}
