//! The roofline of one GPU with the targets that were tuned on it.

use autokernel_runtime::roofline::Roofline;
use plotters::prelude::*;

use super::data::Tuning;
use super::plot::{SIZE, TEXT, axis_titles, text_style};
use crate::report::chart::{ChartError, INK, axes};
use crate::report::under_roof::{self, Spot, plain, ticks};

/// A roofline chart.
pub struct RoofChart {
    /// The GPU.
    pub gpu: String,
    /// Its ceilings.
    pub roof: Roofline,
    /// The targets on it, in the order of their numbers on the chart.
    pub kernels: Vec<Kernel>,
    /// The SVG.
    pub svg: String,
}

/// A target on the chart.
pub struct Kernel {
    /// What was tuned.
    pub title: String,
    /// Where it is.
    pub spot: Spot,
    /// The best rate over what the roof allows, in percent.
    pub roof_pct: f64,
}

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
            intensity: target.work().intensity(),
            tflops: target.tflops(ms),
            default_tflops: tuning.default_ms().map(|ms| target.tflops(ms)),
            cublas_tflops: tuning.cublas_ms().map(|ms| target.tflops(ms)),
        };
        let kernel = Kernel { title: tuning.title(), spot, roof_pct: roof.percent(&target.work(), ms) };
        let gpu = &tuning.environment.gpu;
        match charts.iter_mut().find(|chart| chart.gpu == *gpu && chart.roof == roof) {
            Some(chart) => chart.kernels.push(kernel),
            None => charts.push(RoofChart { gpu: gpu.clone(), roof, kernels: vec![kernel], svg: String::new() }),
        }
    }
    for chart in &mut charts {
        chart.svg = draw(&chart.roof, &chart.kernels)?;
    }
    Ok(charts)
}

fn draw(roof: &Roofline, kernels: &[Kernel]) -> Result<String, ChartError> {
    let spots: Vec<Spot> = kernels.iter().map(|kernel| kernel.spot).collect();
    let (intensities, lowest) = under_roof::extent(roof, &spots);
    let highest = roof.peak_tflops * 1.4;

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
                intensities.clone().log_scale().base(2.0),
                (lowest..highest).log_scale().with_key_points(ticks(lowest, highest)),
            )?;
        axes(&mut chart, TEXT)
            .x_labels(8)
            .y_labels(8)
            .x_label_formatter(&|x| plain(*x))
            .y_label_formatter(&|y| plain(*y))
            .draw()?;
        let pixels = under_roof::draw(&mut chart, roof, &intensities, &spots)?;
        drop(chart);
        for (text, (x, y)) in under_roof::numbers(&pixels) {
            area.draw_text(&text, &text_style(&INK), (x + 8, y - 10))?;
        }
        axis_titles(&area, "TFLOP/s", "FLOP per byte of device memory traffic")?;
        area.present()?;
    }
    Ok(svg)
}
