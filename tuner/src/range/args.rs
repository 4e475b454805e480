//! The options.

use autokernel_core::{Extents, Span};

/// One entry for a range of sizes.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "What to tune")]
pub struct RangeArgs {
    /// One entry for all sizes of a dimension from the first to the last, as m=1..=64: searched at some of them, and chosen by all
    /// of those. Sizes that have an entry of their own keep it.
    #[arg(long, value_name = "DIM=FIRST..=LAST", conflicts_with_all = ["study", "shapes_from", "m"])]
    pub range: Option<Span>,
    /// At how many sizes of --range to search, each a like factor above the one before.
    #[arg(long, value_name = "SIZES", default_value_t = 5, requires = "range", value_parser = clap::value_parser!(u32).range(2..=64))]
    pub range_sizes: u32,
    /// What the entry for --range is chosen by: how far it is from the fastest in the mean over the sizes, or at the worst of them.
    #[arg(long, value_enum, default_value_t = By::Mean, requires = "range")]
    pub range_by: By,
}

/// What a schedule for several sizes is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// The geometric mean over the sizes.
    Mean,
    /// The worst of them.
    Worst,
}

/// A range of a dimension that a shape does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "--shape {shape} has no `{}`, of which --range is; its dimensions are {}: name one of them, or tune this shape by itself",
    .range.dim, names(.shape)
)]
pub struct NotOfShape {
    range: Span,
    shape: Extents,
}

fn names(shape: &Extents) -> String {
    shape.iter().map(|(dim, _)| dim.to_string()).collect::<Vec<_>>().join(", ")
}

impl By {
    /// One number for the ratios of a schedule's times to the fastest, a size each.
    pub fn judge(self, ratios: &[f64]) -> f64 {
        match self {
            By::Mean => (ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len().max(1) as f64).exp(),
            By::Worst => ratios.iter().copied().fold(1.0, f64::max),
        }
    }
}

impl std::fmt::Display for By {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            By::Mean => "in the mean",
            By::Worst => "at the worst size",
        })
    }
}

impl RangeArgs {
    /// The shapes to search at in the place of those that were named: each of them, with each size of the range that is searched.
    ///
    /// # Errors
    /// A shape has nothing that the range is of.
    pub fn spread(&self, shapes: &[Extents]) -> Result<Vec<Extents>, NotOfShape> {
        let Some(range) = self.range else { return Ok(shapes.to_vec()) };
        let mut spread = Vec::new();
        for shape in shapes {
            for size in range.spread(self.range_sizes) {
                let shape = range.at(shape, size).ok_or(NotOfShape { range, shape: *shape })?;
                if !spread.contains(&shape) {
                    spread.push(shape);
                }
            }
        }
        Ok(spread)
    }
}

#[cfg(test)]
mod tests {
    use autokernel_codegen::matmul::extents;

    use super::*;

    #[test]
    fn shapes_are_searched_at_the_sizes_of_the_range_and_each_once() {
        let args = |range: Option<&str>| RangeArgs {
            range: range.map(|text| text.parse().unwrap()),
            range_sizes: 3,
            range_by: By::Mean,
        };
        let shapes = [extents(4096, 8, 8), extents(16, 8, 8)];
        assert_eq!(args(Some("m=4..=64")).spread(&shapes).unwrap(), [4, 16, 64].map(|m| extents(m, 8, 8)));
        assert_eq!(args(None).spread(&shapes).unwrap(), shapes);
        let refused = args(Some("rows=4..=64")).spread(&shapes).unwrap_err().to_string();
        assert!(refused.contains("4096x8x8 has no `rows`") && refused.contains("m, n, k"), "{refused}");
    }

    #[test]
    fn a_mean_is_of_ratios_and_the_worst_is_the_largest() {
        assert!((By::Mean.judge(&[1.0, 4.0]) - 2.0).abs() < 1e-12);
        assert_eq!(By::Worst.judge(&[1.0, 1.1, 1.05]), 1.1);
    }
}
