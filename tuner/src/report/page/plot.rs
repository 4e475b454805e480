//! What the page's charts share. Colours are names: the style sheet replaces each in light and dark.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::report::chart::{ChartError, FONT, INK};

/// Width and height of a chart, before the page scales it.
pub const SIZE: (u32, u32) = (520, 340);
/// Size of the text, which a phone shrinks by a third.
pub const TEXT: i32 = 15;

/// Where a chart is drawn.
pub type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A label beside a plot.
pub struct Label {
    /// The text.
    pub text: String,
    /// Its colour.
    pub colour: RGBColor,
    /// Where its middle should be, in pixels of the whole chart.
    pub at: (i32, i32),
}

/// The style of all text.
pub fn text_style(colour: &RGBColor) -> TextStyle<'_> {
    (FONT, TEXT).into_font().color(colour).pos(Pos::new(HPos::Left, VPos::Center))
}

/// Draws labels, moved apart where they would overlap.
pub fn labels(area: &Area<'_>, mut labels: Vec<Label>) -> Result<(), ChartError> {
    const HEIGHT: i32 = TEXT + 2;
    labels.sort_by_key(|label| label.at.1);
    let mut free = i32::MIN;
    for Label { text, colour, at: (x, y) } in labels {
        let y = y.max(free);
        free = y + HEIGHT;
        area.draw_text(&text, &text_style(&colour), (x, y))?;
    }
    Ok(())
}

/// The names of both axes, upright and out of the way: the vertical one on top, the horizontal one below.
pub fn axis_titles(area: &Area<'_>, vertical: &str, horizontal: &str) -> Result<(), ChartError> {
    let (width, height) = area.dim_in_pixel();
    area.draw_text(vertical, &text_style(&INK), (4, 12))?;
    let style = (FONT, TEXT).into_font().color(&INK).pos(Pos::new(HPos::Center, VPos::Center));
    area.draw_text(horizontal, &style, (width as i32 / 2, height as i32 - 10))?;
    Ok(())
}
