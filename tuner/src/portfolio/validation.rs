//! How well the model chooses where it was not fitted.

use autokernel_codegen::matmul::model::Constants;
use statrs::statistics::{Data, OrderStatistics, Statistics};

use super::fit::{Held, fit};
use super::measured::{Measured, Row};

/// Shapes are held out in so many parts, one after the other.
const PARTS: usize = 5;
/// Times up to this factor of a shape's best are near it.
const NEAR: f64 = 1.3;

/// Predicted times of every row, each by constants that were fitted to other shapes. A shape is in the part of its first
/// appearance, so that the same extents of two recordings are held out together. Constants that are `held` are not fitted.
pub fn held_out(measured: &Measured, held: &[Held]) -> Vec<f64> {
    let part = |shape: usize| {
        let extents = measured.shapes[shape].extents;
        let first = measured.shapes.iter().position(|other| other.extents == extents);
        first.unwrap_or(shape) % PARTS
    };
    let constants: Vec<Constants> = (0..PARTS).map(|out| fit(measured, held, |shape| part(shape) != out)).collect();
    measured.rows.iter().map(|row| measured.predicted_ms(row, constants[part(row.shape)])).collect()
}

/// Root mean square of the relative error of `predicted` near the fastest of each shape.
pub fn error(measured: &Measured, predicted: &[f64]) -> f64 {
    let near = |row: &Row| !row.borrowed && row.ms <= NEAR * measured.shapes[row.shape].best_ms;
    let squares: Vec<f64> = measured
        .rows
        .iter()
        .zip(predicted)
        .filter(|(row, _)| near(row))
        .map(|(row, predicted)| (predicted / row.ms).ln().powi(2))
        .collect();
    (squares.iter().sum::<f64>() / squares.len().max(1) as f64).sqrt()
}

/// What the model chose at a shape.
pub struct Miss {
    /// Its time over the best of any row.
    pub regret: f64,
    /// The number of the row that was chosen.
    pub chosen: usize,
    /// That of the best row.
    pub best: usize,
}

/// Of each shape the row that is predicted to be fastest among those that `takes` takes, and the best of any; shapes of
/// which none is taken are left out.
pub fn misses(measured: &Measured, predicted: &[f64], takes: impl Fn(usize) -> bool) -> Vec<Miss> {
    let of_shape = |shape: usize| (0..measured.rows.len()).filter(move |row| measured.rows[*row].shape == shape);
    let miss = |shape: usize| {
        let taken = of_shape(shape).filter(|row| takes(measured.rows[*row].form));
        let chosen = taken.min_by(|a, b| predicted[*a].total_cmp(&predicted[*b]))?;
        let best = of_shape(shape).min_by(|a, b| measured.rows[*a].ms.total_cmp(&measured.rows[*b].ms))?;
        Some(Miss { regret: measured.rows[chosen].ms / measured.rows[best].ms, chosen, best })
    };
    (0..measured.shapes.len()).filter_map(miss).collect()
}

/// [`Miss::regret`] of each.
pub fn regrets(measured: &Measured, predicted: &[f64], takes: impl Fn(usize) -> bool) -> Vec<f64> {
    misses(measured, predicted, takes).into_iter().map(|miss| miss.regret).collect()
}

/// The geometric mean; NaN of none.
pub fn geomean(ratios: &[f64]) -> f64 {
    ratios.iter().geometric_mean()
}

/// The value below which that share lies, by the estimator of [`OrderStatistics`]; NaN of none.
pub fn quantile(ratios: &[f64], share: f64) -> f64 {
    Data::new(ratios.to_vec()).quantile(share)
}
