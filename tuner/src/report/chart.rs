//! What the charts share: colours, sizes and errors.

use plotters::chart::{ChartContext, MeshStyle};
use plotters::coord::cartesian::Cartesian2d;
use plotters::coord::ranged1d::{Ranged, ValueFormatter};
use plotters::prelude::DrawingBackend;
use plotters::style::{IntoFont, RGBColor, TRANSPARENT};

/// Lines and text.
pub const INK: RGBColor = RGBColor(33, 37, 41);
/// Less important text, grid and axes.
pub const FAINT: RGBColor = RGBColor(134, 142, 150);
/// Grid lines.
pub const GRID: RGBColor = RGBColor(233, 236, 239);
/// What this run found.
pub const FOUND: RGBColor = RGBColor(25, 113, 194);
/// Single trials.
pub const TRIAL: RGBColor = RGBColor(116, 192, 252);
/// The optimum of the space.
pub const OPTIMUM: RGBColor = RGBColor(47, 158, 68);
/// What is in use.
pub const INCUMBENT: RGBColor = RGBColor(232, 89, 12);
/// cuBLAS.
pub const CUBLAS: RGBColor = RGBColor(156, 54, 181);
/// Failures.
pub const FAILURE: RGBColor = RGBColor(201, 42, 42);

/// The font of all text.
pub const FONT: &str = "sans-serif";

/// The grid and axes of `chart` in the style that all charts share, labelled in letters of that size. Titles, formats
/// and numbers of labels are each chart's own.
pub fn axes<'c, 'm, DB, X, Y, XT, YT>(
    chart: &'m mut ChartContext<'c, DB, Cartesian2d<X, Y>>,
    text: i32,
) -> MeshStyle<'c, 'm, X, Y, DB>
where
    DB: DrawingBackend,
    X: Ranged<ValueType = XT> + ValueFormatter<XT>,
    Y: Ranged<ValueType = YT> + ValueFormatter<YT>,
{
    let mut axes = chart.configure_mesh();
    axes.light_line_style(TRANSPARENT)
        .bold_line_style(GRID)
        .axis_style(FAINT)
        .label_style((FONT, text).into_font().color(&INK));
    axes
}

/// A chart that could not be drawn.
#[derive(Debug, thiserror::Error)]
#[error("the chart could not be drawn: {0}; please report it with the journal that it was drawn from")]
pub struct ChartError(pub String);

impl<E: std::error::Error + Send + Sync> From<plotters::drawing::DrawingAreaErrorKind<E>> for ChartError {
    fn from(error: plotters::drawing::DrawingAreaErrorKind<E>) -> Self {
        ChartError(error.to_string())
    }
}
