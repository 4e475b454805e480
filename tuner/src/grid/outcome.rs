//! What a grid says, shape by shape and in all.

use autokernel_runtime::timing::Statistics;
use statrs::statistics::Statistics as _;

use crate::drawn::{Activation, Drawn};

/// One shape's result.
#[derive(Clone, Debug)]
pub struct Met {
    /// What was drawn.
    pub drawn: Drawn,
    /// cuBLASLt's time over ours, the median over the rounds.
    pub ratio: f64,
}

/// The median of the ratios of two lists of rounds.
pub fn ratio(theirs: &[f64], ours: &[f64]) -> f64 {
    let ratios: Vec<f64> = theirs.iter().zip(ours).map(|(theirs, ours)| theirs / ours).collect();
    Statistics::of(&ratios).map_or(f64::NAN, |ratio| ratio.median)
}

/// Lines that sum up results: aligned shapes by what follows the product, then those of odd strides.
pub fn summary(met: &[Met]) -> Vec<String> {
    let mut lines: Vec<String> = Activation::ALL
        .iter()
        .map(|&activation| {
            let of = |met: &&Met| met.drawn.is_aligned() && met.drawn.activation == activation;
            line(&activation.to_string(), met.iter().filter(of))
        })
        .collect();
    lines.push(line("odd strides", met.iter().filter(|met| !met.drawn.is_aligned())));
    lines
}

fn line<'m>(what: &str, met: impl Iterator<Item = &'m Met>) -> String {
    const ENOUGH: f64 = 0.93;
    let ratios: Vec<f64> = met.map(|met| met.ratio).collect();
    if ratios.is_empty() {
        return format!("{what:12}: none");
    }
    let count = ratios.len() as f64;
    let geomean = ratios.iter().geometric_mean();
    let enough = ratios.iter().filter(|ratio| **ratio >= ENOUGH).count() as f64 / count;
    let lowest = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    format!(
        "{what:12}: {:3} shapes, geometric mean {geomean:.3} x cuBLASLt, {:.0} % at least {ENOUGH}, lowest {lowest:.3}",
        ratios.len(),
        100.0 * enough,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drawn::Shapes;

    #[test]
    fn a_summary_has_the_mean_the_share_that_is_fast_enough_and_the_lowest_of_each_kind() {
        let plain = |drawn: &Drawn| drawn.is_aligned() && drawn.activation == Activation::Plain;
        let drawn = Shapes::of_seed(1).filter(plain);
        let met: Vec<Met> = drawn.zip([0.5, 2.0, 1.0, 1.0]).map(|(drawn, ratio)| Met { drawn, ratio }).collect();
        let lines = summary(&met);
        assert_eq!(
            lines[0],
            "plain       :   4 shapes, geometric mean 1.000 x cuBLASLt, 75 % at least 0.93, lowest 0.500"
        );
        assert_eq!(lines[3], "odd strides : none");
    }

    #[test]
    fn a_ratio_is_paired_round_by_round() {
        assert_eq!(ratio(&[2.0, 4.0, 6.0], &[1.0, 2.0, 3.0]), 2.0);
    }
}
