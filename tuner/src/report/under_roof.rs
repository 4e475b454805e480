//! What both roofline charts draw: the roof, and the kernels under it.

use std::ops::Range;

use autokernel_runtime::roofline::Roofline;
use plotters::coord::combinators::{LogCoord, WithKeyPoints};
use plotters::prelude::*;

use super::chart::{CUBLAS, ChartError, FAINT, FOUND, INK};

/// Spots nearer than this many pixels to each other share a label.
const NEAR: i32 = 14;

/// The lowest rate that an axis can show.
const LEAST: f64 = 1e-9;

/// A kernel under the roof.
#[derive(Clone, Copy, Debug)]
pub struct Spot {
    /// FLOP per byte of device memory traffic.
    pub intensity: f64,
    /// The best rate, in 10¹² FLOP/s.
    pub tflops: f64,
    /// The rate of the default schedule.
    pub default_tflops: Option<f64>,
    /// The rate of cuBLAS with the epilogue as a kernel of its own.
    pub cublas_tflops: Option<f64>,
}

/// A chart with two logarithmic axes.
type Chart<'c, 's> = ChartContext<'c, SVGBackend<'s>, Cartesian2d<LogCoord<f64>, WithKeyPoints<LogCoord<f64>>>>;

/// The intensities and the lowest rate that a chart of `spots` shows.
pub fn extent(roof: &Roofline, spots: &[Spot]) -> (Range<f64>, f64) {
    let low = spots.iter().map(|spot| spot.intensity / 2.0).fold(roof.ridge() / 8.0, f64::min).max(0.1);
    let high = spots.iter().map(|spot| spot.intensity * 2.0).fold(roof.ridge() * 8.0, f64::max);
    let rates = spots.iter().flat_map(|spot| [Some(spot.tflops), spot.default_tflops, spot.cublas_tflops]).flatten();
    // A logarithmic axis has no zero, which a target without a single operation reaches.
    let rates = rates.filter(|rate| *rate > LEAST);
    (low..high, rates.fold(roof.attainable_tflops(low), f64::min).max(LEAST) / 1.5)
}

/// Where an axis from `low` to `high` has its numbers: 1, 2 and 5 of each power of ten.
pub fn ticks(low: f64, high: f64) -> Vec<f64> {
    let low = low.max(LEAST / 10.0);
    let powers = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let all = powers.flat_map(|power| [1.0, 2.0, 5.0].map(|digit| digit * 10f64.powi(power)));
    all.filter(|tick| (low..=high).contains(tick)).collect()
}

/// Draws the roof over `intensities`, and under it each spot with a line from its default; returns their pixels.
///
/// # Errors
/// The drawing library fails.
pub fn draw(
    chart: &mut Chart<'_, '_>,
    roof: &Roofline,
    intensities: &Range<f64>,
    spots: &[Spot],
) -> Result<Vec<(i32, i32)>, ChartError> {
    let corners = [intensities.start, roof.ridge(), intensities.end].map(|x| (x, roof.attainable_tflops(x)));
    chart.draw_series(LineSeries::new(corners, INK.stroke_width(2)))?;
    let mut pixels = Vec::new();
    for spot in spots {
        let best = (spot.intensity, spot.tflops);
        if let Some(default) = spot.default_tflops {
            let from = (spot.intensity, default);
            chart.draw_series(LineSeries::new([from, best], FAINT.stroke_width(1)))?;
            chart.draw_series([Circle::new(from, 4, FAINT.stroke_width(2))])?;
        }
        if let Some(cublas) = spot.cublas_tflops {
            chart.draw_series([Cross::new((spot.intensity, cublas), 4, CUBLAS.stroke_width(2))])?;
        }
        chart.draw_series([Circle::new(best, 5, FOUND.filled())])?;
        pixels.push(chart.as_coord_spec().translate(&best));
    }
    Ok(pixels)
}

/// The numbers of the spots at `pixels`, from 1; spots on top of each other share a label, at the first of them.
pub fn numbers(pixels: &[(i32, i32)]) -> Vec<(String, (i32, i32))> {
    let mut labels: Vec<(String, (i32, i32))> = Vec::new();
    for (index, &(x, y)) in pixels.iter().enumerate() {
        match labels.iter_mut().find(|(_, at)| (at.0 - x).abs() < NEAR && (at.1 - y).abs() < NEAR) {
            Some((label, _)) => *label += &format!(", {}", index + 1),
            None => labels.push(((index + 1).to_string(), (x, y))),
        }
    }
    labels
}

/// A number of an axis, without exponent or needless digits.
pub fn plain(value: f64) -> String {
    if value >= 1.0 {
        return format!("{value:.0}");
    }
    let leading = -value.log10().floor();
    let decimals = if leading.is_finite() { leading.clamp(0.0, 12.0) as usize + 1 } else { 0 };
    format!("{value:.decimals$}").trim_end_matches('0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_has_a_number_twice_for_no_rate_and_some_below_a_hundred() {
        assert_eq!(ticks(30.0, 1400.0), [50.0, 100.0, 200.0, 500.0, 1000.0]);
        assert_eq!(ticks(0.4, 3.0), [0.5, 1.0, 2.0]);
        assert!(ticks(0.0, 1000.0).len() < 100, "of a target without an operation");
        let written: Vec<String> = ticks(0.0004, 3.0).into_iter().map(plain).collect();
        assert_eq!(
            written,
            ["0.0005", "0.001", "0.002", "0.005", "0.01", "0.02", "0.05", "0.1", "0.2", "0.5", "1", "2"]
        );
        assert_eq!([0.25, 0.125, 64.0].map(plain), ["0.25", "0.12", "64"]);
    }

    #[test]
    fn spots_on_top_of_each_other_share_a_label_and_others_have_their_own() {
        let labels = numbers(&[(10, 10), (100, 10), (15, 20), (100, 40)]);
        let texts: Vec<&str> = labels.iter().map(|(text, _)| text.as_str()).collect();
        assert_eq!(texts, ["1, 3", "2", "4"]);
    }
}
