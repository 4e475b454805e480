//! A forest whose trees disagree where little is known.
//!
//! A crate of its own, because smartcore is generic: its code is compiled where it is used, and a search that fits forests
//! without optimisation takes minutes.

use smartcore::ensemble::extra_trees_regressor::{ExtraTreesRegressor, ExtraTreesRegressorParameters};
use smartcore::linalg::basic::matrix::DenseMatrix;

/// Extremely randomised trees (Geurts, Ernst, Wehenkel 2006), each kept apart, so that their spread is at hand.
pub struct Forest {
    trees: Vec<Tree>,
}

type Tree = ExtraTreesRegressor<f64, f64, DenseMatrix<f64>, Vec<f64>>;

/// What a forest expects of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Expectation {
    /// The mean over the trees.
    pub mean: f64,
    /// Their standard deviation.
    pub spread: f64,
}

impl Forest {
    /// A forest of `count` trees for `values` at `rows`; `None` if there is nothing to learn from.
    pub fn fit(rows: &Vec<Vec<f64>>, values: &Vec<f64>, count: usize, seed: u64) -> Option<Self> {
        let columns = rows.first()?.len();
        let matrix = DenseMatrix::from_2d_vec(rows).ok()?;
        let tree = |index: usize| {
            let parameters = ExtraTreesRegressorParameters::default()
                .with_n_trees(1)
                .with_m(columns.div_ceil(2))
                .with_min_samples_leaf(1)
                .with_seed(seed.wrapping_mul(1_000_003).wrapping_add(index as u64));
            ExtraTreesRegressor::fit(&matrix, values, parameters).ok()
        };
        Some(Forest { trees: (0..count).map(tree).collect::<Option<_>>()? })
    }

    /// What it expects of each of `rows`; nothing if there are none.
    pub fn expect(&self, rows: &Vec<Vec<f64>>) -> Vec<Expectation> {
        let Ok(matrix) = DenseMatrix::from_2d_vec(rows) else { return Vec::new() };
        let predictions: Vec<Vec<f64>> = self.trees.iter().filter_map(|tree| tree.predict(&matrix).ok()).collect();
        let count = predictions.len().max(1) as f64;
        let expectation = |row: usize| {
            let mean = predictions.iter().map(|tree| tree[row]).sum::<f64>() / count;
            let variance = predictions.iter().map(|tree| (tree[row] - mean).powi(2)).sum::<f64>() / count;
            Expectation { mean, spread: variance.sqrt() }
        };
        (0..rows.len()).map(expectation).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(values: impl IntoIterator<Item = f64>) -> Vec<Vec<f64>> {
        values.into_iter().map(|value| vec![value]).collect()
    }

    #[test]
    fn a_forest_reads_back_what_it_learnt_and_is_unsure_in_between() {
        let rows = column([0.0, 1.0, 10.0, 11.0]);
        let forest = Forest::fit(&rows, &vec![0.0, 0.0, 1.0, 1.0], 50, 7).unwrap();
        let known = forest.expect(&rows);
        assert!(known.iter().zip([0.0, 0.0, 1.0, 1.0]).all(|(known, value)| (known.mean - value).abs() < 1e-9));
        let between = forest.expect(&column([5.0]))[0];
        assert!(between.spread > known[0].spread + 0.1, "{between:?}");
    }

    #[test]
    fn equal_seeds_grow_equal_forests() {
        let rows = column((0..20).map(f64::from));
        let values: Vec<f64> = (0..20).map(|value| f64::from(value % 7)).collect();
        let probe = column((0..40).map(|value| f64::from(value) / 2.0));
        let grow = |seed| Forest::fit(&rows, &values, 20, seed).unwrap().expect(&probe);
        assert_eq!(grow(1), grow(1));
        assert_ne!(grow(1), grow(2));
    }

    #[test]
    fn nothing_to_learn_from_is_no_forest() {
        assert!(Forest::fit(&Vec::new(), &Vec::new(), 10, 0).is_none());
    }
}
