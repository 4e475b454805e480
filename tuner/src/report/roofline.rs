//! The roofline: what the GPU allows at each arithmetic intensity, and where the tuned kernels are.

use autokernel_runtime::roofline::Roofline;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::chart::{CUBLAS, ChartError, FAINT, FONT, FOUND, INK, axes};
use super::rate::Rate;
use super::result::TargetResult;
use super::under_roof::{self, Spot, plain, ticks};

/// Width of the plot, and of the key beside it.
const WIDTHS: (u32, u32) = (820, 500);
const LOWEST_HEIGHT: u32 = 580;
/// Height of a line of the key.
const LINE: u32 = 17;
/// A kernel on the chart, with its line of the key.
struct Kernel {
    label: String,
    spot: Spot,
}

/// The roofline of the GPU of `results`, with the best and the default schedule of each target, as SVG. Results of
/// another GPU or type than the first one's are left out: they have another roof.
///
/// # Errors
/// The drawing library fails.
pub fn roofline(results: &[TargetResult]) -> Result<String, ChartError> {
    let mut svg = String::new();
    let known = results.iter().find_map(|result| Some((&result.gpu.name, result.roofline()?)));
    let Some((gpu, roof)) = known else { return unknown() };
    let under = results.iter().filter(|result| result.gpu.name == *gpu && result.roofline() == Some(roof));
    let kernels: Vec<Kernel> = under.filter_map(|result| kernel(result, &roof)).collect();
    draw(&mut svg, gpu, &roof, &kernels)?;
    Ok(svg)
}

/// In the place of a chart.
fn unknown() -> Result<String, ChartError> {
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (WIDTHS.0, 80)).into_drawing_area();
        root.fill(&WHITE)?;
        root.draw_text("The ceilings of this GPU are not known.", &(FONT, 18).into_font().color(&INK), (30, 30))?;
        root.present()?;
    }
    Ok(svg)
}

fn kernel(result: &TargetResult, roof: &Roofline) -> Option<Kernel> {
    let target = &result.search.target;
    let tflops = target.tflops(result.best_ms()?);
    let share = roof.percent(&target.work(), result.best_ms()?);
    let (brief, rate) = (target.problem.brief(), Rate(tflops));
    let label = format!("{} {brief}: {rate} TFLOP/s, {share:.0} % of the roof", target.shape);
    let default_tflops = result.default_ms().map(|ms| target.tflops(ms));
    let cublas_tflops = result.cublas_ms().map(|ms| target.tflops(ms));
    Some(Kernel { label, spot: Spot { intensity: target.work().intensity(), tflops, default_tflops, cublas_tflops } })
}

fn draw(svg: &mut String, gpu: &str, roof: &Roofline, kernels: &[Kernel]) -> Result<(), ChartError> {
    let spots: Vec<Spot> = kernels.iter().map(|kernel| kernel.spot).collect();
    let (intensities, lowest) = under_roof::extent(roof, &spots);

    let highest = roof.peak_tflops * 1.5;

    let height = LOWEST_HEIGHT.max(LINE * (kernels.len() as u32 + 6));
    let root = SVGBackend::with_string(svg, (WIDTHS.0 + WIDTHS.1, height)).into_drawing_area();
    root.fill(&WHITE)?;
    let title = format!(
        "{gpu}: {:.0} TFLOP/s dense, {:.0} GB/s, ridge at {:.0} FLOP/B",
        roof.peak_tflops,
        roof.bandwidth_gb_s,
        roof.ridge()
    );
    let area = root.titled(&title, (FONT, 18).into_font().color(&INK))?;
    let (plot, beside) = area.split_horizontally(WIDTHS.0);
    let mut chart = ChartBuilder::on(&plot).margin(12).x_label_area_size(42).y_label_area_size(62).build_cartesian_2d(
        intensities.clone().log_scale().base(2.0),
        (lowest..highest).log_scale().with_key_points(ticks(lowest, highest)),
    )?;
    axes(&mut chart, 13)
        .x_desc("arithmetic intensity, FLOP per byte of device memory traffic")
        .y_desc("TFLOP/s")
        .x_label_formatter(&|x| plain(*x))
        .y_label_formatter(&|y| plain(*y))
        .draw()?;
    let pixels = under_roof::draw(&mut chart, roof, &intensities, &spots)?;
    drop(chart);
    number(&plot, &pixels)?;
    key(&beside, kernels)?;
    root.present()?;
    Ok(())
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

/// The numbers of the kernels, beside their spots.
fn number(area: &Area<'_>, pixels: &[(i32, i32)]) -> Result<(), ChartError> {
    let (left, top) = area.get_base_pixel();
    let style = (FONT, 13).into_font().color(&INK).pos(Pos::new(HPos::Left, VPos::Center));
    for (text, (x, y)) in under_roof::numbers(pixels) {
        area.draw_text(&text, &style, (x - left + 10, y - top - 9))?;
    }
    Ok(())
}

/// What the numbers mean.
fn key(area: &Area<'_>, kernels: &[Kernel]) -> Result<(), ChartError> {
    let style = (FONT, 13).into_font().color(&INK).pos(Pos::new(HPos::Left, VPos::Center));
    let line = |row: usize| 30 + (LINE * row as u32) as i32;
    for (row, kernel) in kernels.iter().enumerate() {
        area.draw_text(&format!("{}", row + 1), &style, (8, line(row)))?;
        area.draw_text(&kernel.label, &style, (34, line(row)))?;
    }
    let last = kernels.len() + 1;
    area.draw(&Circle::new((12, line(last)), 5, FOUND.filled()))?;
    area.draw_text("tuned", &style, (34, line(last)))?;
    area.draw(&Circle::new((12, line(last + 1)), 4, FAINT.stroke_width(2)))?;
    area.draw_text("default schedule", &style, (34, line(last + 1)))?;
    area.draw(&Cross::new((12, line(last + 2)), 4, CUBLAS.stroke_width(2)))?;
    area.draw_text("cuBLAS and a kernel for the epilogue", &style, (34, line(last + 2)))?;
    Ok(())
}
