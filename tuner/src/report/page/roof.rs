//! The roofline of one GPU with the targets that were tuned on it.

use autokernel_runtime::roofline::Roofline;
use plotters::prelude::*;

use super::data::Tuning;
use super::plot::{Label, SIZE, TEXT, axis_titles, text_style};
use crate::report::chart::{ChartError, FAINT, FONT, FOUND, GRID, INK};

/// A roofline chart.
pub struct RoofChart {
    /// The GPU.
    pub gpu: String,
    /// Its ceilings.
    pub roof: Roofline,
    /// The targets on it, in the order of their numbers on the chart.
    pub spots: Vec<Spot>,
    /// The SVG.
    pub svg: String,
}

/// A target on the chart.
pub struct Spot {
    /// What was tuned.
    pub title: String,
    /// FLOP per byte.
    pub intensity: f64,
    /// The best rate, in 10¹² FLOP/s.
    pub tflops: f64,
    /// The rate of the default schedule.
    pub default_tflops: Option<f64>,
    /// The best rate over what the roof allows, in percent.
    pub percent: f64,
}

/// Spots nearer than this many pixels share a label.
const NEAR: i32 = 14;

/// A chart for each GPU whose ceilings are known.
///
/// # Errors
/// The drawing library fails.
pub fn charts(tunings: &[Tuning]) -> Result<Vec<RoofChart>, ChartError> {
    let mut charts: Vec<RoofChart> = Vec::new();
    for tuning in tunings {
        let (Some(roof), Some(ms)) = (tuning.roofline(), tuning.best_ms()) else { continue };
        let target = &tuning.target;
        let spot = Spot {
            title: tuning.title(),
            intensity: target.work().intensity(),
            tflops: target.tflops(ms),
            default_tflops: tuning.default_ms().map(|ms| target.tflops(ms)),
            percent: roof.percent(&target.work(), ms),
        };
        let gpu = &tuning.environment.gpu;
        match charts.iter_mut().find(|chart| chart.gpu == *gpu && chart.roof == roof) {
            Some(chart) => chart.spots.push(spot),
            None => charts.push(RoofChart { gpu: gpu.clone(), roof, spots: vec![spot], svg: String::new() }),
        }
    }
    for chart in &mut charts {
        chart.svg = draw(&chart.roof, &chart.spots)?;
    }
    Ok(charts)
}

fn draw(roof: &Roofline, spots: &[Spot]) -> Result<String, ChartError> {
    let low = spots.iter().map(|spot| spot.intensity / 2.0).fold(roof.ridge() / 8.0, f64::min).max(0.1);
    let high = spots.iter().map(|spot| spot.intensity * 2.0).fold(roof.ridge() * 8.0, f64::max);
    let rates = spots.iter().flat_map(|spot| [Some(spot.tflops), spot.default_tflops]).flatten();
    let bottom = rates.fold(roof.attainable_tflops(low), f64::min) / 1.5;

    let mut svg = String::new();
    {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let mut chart = ChartBuilder::on(&area)
            .margin_top(24)
            .margin_right(16)
            .margin_bottom(22)
            .x_label_area_size(24)
            .y_label_area_size(48)
            .build_cartesian_2d(
                (low..high).log_scale().base(2.0),
                (bottom..roof.peak_tflops * 1.4).log_scale().base(2.0),
            )?;
        chart
            .configure_mesh()
            .light_line_style(TRANSPARENT)
            .bold_line_style(GRID)
            .axis_style(FAINT)
            .label_style((FONT, TEXT).into_font().color(&INK))
            .x_labels(8)
            .y_labels(8)
            .x_label_formatter(&|x| plain(*x))
            .y_label_formatter(&|y| plain(*y))
            .draw()?;
        let corners = [low, roof.ridge(), high].map(|x| (x, roof.attainable_tflops(x)));
        chart.draw_series(LineSeries::new(corners, INK.stroke_width(2)))?;
        let mut places = Vec::new();
        for spot in spots {
            if let Some(default) = spot.default_tflops {
                let (from, to) = ((spot.intensity, default), (spot.intensity, spot.tflops));
                chart.draw_series(LineSeries::new([from, to], FAINT.stroke_width(1)))?;
                chart.draw_series([Circle::new(from, 4, FAINT.stroke_width(2))])?;
            }
            chart.draw_series([Circle::new((spot.intensity, spot.tflops), 5, FOUND.filled())])?;
            places.push(chart.as_coord_spec().translate(&(spot.intensity, spot.tflops)));
        }
        drop(chart);
        for Label { text, colour, at } in numbers(&places) {
            area.draw_text(&text, &text_style(&colour), at)?;
        }
        axis_titles(&area, "TFLOP/s", "FLOP per byte of device memory traffic")?;
        area.present()?;
    }
    Ok(svg)
}

/// The numbers of the spots; spots on top of each other share a label.
fn numbers(places: &[(i32, i32)]) -> Vec<Label> {
    let mut labels: Vec<Label> = Vec::new();
    for (index, &(x, y)) in places.iter().enumerate() {
        let near = |label: &&mut Label| (label.at.0 - x - 8).abs() < NEAR && (label.at.1 - y + 10).abs() < NEAR;
        match labels.iter_mut().find(near) {
            Some(label) => label.text += &format!(", {}", index + 1),
            None => labels.push(Label { text: (index + 1).to_string(), colour: INK, at: (x + 8, y - 10) }),
        }
    }
    labels
}

/// A number without exponent or needless digits.
fn plain(value: f64) -> String {
    if value >= 1.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}
