//! Routing: its extents, and what its kernels leave.

use std::fmt;

use crate::operands::layout::Layout;
use crate::operands::view::Storage;
use crate::{
    AnyViewMut, Argument, ColumnView, Device, Error, Index, IndexView, Matrix, MatrixView, MatrixViewMut, Result,
};

pub use autokernel_ops::routing::{DIMS, extents};

/// Which experts compute each token, in device memory: what `#[autokernel::routing]` writes and the kernels of a mixture of experts
/// read, without a look by the host.
///
/// The choices of all tokens, sorted by expert, are the rows of the matrix that experts multiply: `x[routes.tokens()]` gathers it,
/// [`offsets`](Self::offsets) says where each expert's rows begin, and [`rows`](Self::rows) where a token finds its results.
pub struct Routes {
    weights: Matrix<f32>,
    offsets: Index,
    order: Index,
    rows: Matrix<i32>,
}

impl Routes {
    /// Routes of so many tokens, which no kernel has written yet: all are zeros.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], or the driver's own error.
    pub fn zeros(device: &Device, tokens: usize, experts: usize, top_k: usize) -> Result<Self> {
        let out_of_memory = |rows: u128| Error::out_of_memory::<i32>(device, rows);
        let rows = tokens.checked_mul(top_k).ok_or_else(|| out_of_memory(tokens as u128 * top_k as u128))?;
        if rows > i32::MAX as usize {
            let what = "tokens times top_k".to_owned();
            return Err(Error::TooLarge { what, given: rows as u128, max: i32::MAX as u128 });
        }
        let bounds = experts.checked_add(1).ok_or_else(|| out_of_memory(experts as u128 + 1))?;
        Ok(Self {
            weights: Matrix::zeros(device, top_k, tokens)?,
            offsets: Index::zeros(device, bounds)?,
            order: Index::zeros(device, rows)?,
            rows: Matrix::zeros(device, top_k, tokens)?,
        })
    }

    /// Where each expert's rows begin, and where the last one's end: offsets of groups of rows.
    pub const fn offsets(&self) -> &Index {
        &self.offsets
    }

    /// The token of each row, sorted by expert and then by token: what gathers the rows that experts multiply.
    pub const fn tokens(&self) -> &Index {
        &self.order
    }

    /// The row of each token's choice with that number; its first choice, number 0, is the expert with the greatest score.
    ///
    /// # Errors
    /// [`Error::OutOfRange`].
    pub fn rows(&self, choice: usize) -> Result<IndexView<'_>> {
        let row = of_choice(&self.rows, choice)?;
        Ok(match row.storage {
            Storage::Host(rows) | Storage::Before(rows, _) => IndexView::from_slice(rows),
            Storage::Cuda(rows) => IndexView::from_cudarc(&rows),
        })
    }

    /// The weight of each token's choice with that number.
    ///
    /// # Errors
    /// [`Error::OutOfRange`].
    pub fn weights(&self, choice: usize) -> Result<ColumnView<'_, f32>> {
        let row = of_choice(&self.weights, choice)?;
        Ok(match row.storage {
            Storage::Host(weights) | Storage::Before(weights, _) => ColumnView::from_slice(weights),
            Storage::Cuda(weights) => ColumnView::from_cudarc(weights),
        })
    }

    /// Tokens.
    pub const fn len(&self) -> usize {
        self.rows.ncols()
    }

    /// Whether there are no tokens.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Experts.
    pub const fn experts(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Experts of a token.
    pub const fn top_k(&self) -> usize {
        self.rows.nrows()
    }

    /// The device that they are on.
    pub fn device(&self) -> Device {
        self.rows.device()
    }

    /// What a kernel writes, in the order of its signature.
    #[doc(hidden)]
    pub fn arguments(&mut self) -> [Argument<'_>; 4] {
        let (choices, tokens, bounds) = (self.top_k(), self.len(), self.offsets.len());
        let index = |view, layout| Argument::Write(AnyViewMut::I32(MatrixViewMut { layout, ..view }));
        let of_choices = Layout::matrix(choices, tokens, tokens);
        [
            self.weights.view_mut().into(),
            index(self.offsets.view_mut(), Layout::one_row(bounds)),
            index(self.order.view_mut(), of_choices),
            index(self.rows.view_mut(), of_choices),
        ]
    }
}

fn of_choice<T: crate::Number>(matrix: &Matrix<T>, choice: usize) -> Result<MatrixView<'_, T>> {
    let (end, extent) = (choice.saturating_add(1), matrix.nrows());
    if end > extent {
        return Err(Error::OutOfRange { axis: "choices", start: choice, end, extent });
    }
    matrix.view().rows(choice..end)
}

impl fmt::Debug for Routes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (tokens, experts, top_k) = (self.len(), self.experts(), self.top_k());
        write!(f, "Routes({tokens} tokens, {top_k} of {experts} experts, on {})", self.device())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dimensions_are_those_of_the_operation() {
        assert_eq!(DIMS, autokernel_ops::routing::DIMS);
    }

    #[test]
    fn routes_have_a_row_for_each_choice_and_no_other_choices() {
        let routes = Routes::zeros(&Device::cpu(), 5, 4, 2).unwrap();
        assert_eq!((routes.offsets().len(), routes.tokens().len(), routes.rows(1).unwrap().len()), (5, 10, 5));
        for refused in [routes.rows(2).unwrap_err(), routes.weights(2).unwrap_err()] {
            assert_eq!(refused.to_string(), "choices 2..3 are asked for, and there are 2. Use a range within 0..2");
        }
        assert!(routes.weights(usize::MAX).is_err());
        assert!(Routes::zeros(&Device::cpu(), usize::MAX, 4, 2).is_err());
    }

    #[test]
    fn tokens_are_sorted_by_expert_and_equal_scores_go_to_the_first() {
        let scores = [[0.0, 2.0, 1.0], [3.0, 3.0, 3.0], [f32::NAN, -1.0, 5.0], [-0.0, 0.0, -1.0]].concat();
        let scores = Matrix::from_slice(&Device::cpu(), &scores, 4, 3).unwrap();
        let mut routes = Routes::zeros(&Device::cpu(), 4, 3, 2).unwrap();
        let [weights, offsets, order, rows] = routes.arguments();
        crate::cpu::routing(&mut [(&scores).into(), weights, offsets, order, rows], false).unwrap();
        // Chosen: 1 and 2, 0 and 1, 2 and 1, 0 and 1.
        assert_eq!(routes.offsets().to_vec().unwrap(), [0, 2, 6, 8]);
        assert_eq!(routes.tokens().to_vec().unwrap(), [1, 3, 0, 1, 2, 3, 0, 2]);
        assert_eq!(routes.rows(0).unwrap().to_vec().unwrap(), [2, 0, 7, 1]);
        assert_eq!(routes.rows(1).unwrap().to_vec().unwrap(), [6, 3, 4, 5]);
        let weights = [0, 1].map(|choice| routes.weights(choice).unwrap().to_vec().unwrap());
        assert_eq!((weights[0][1], weights[1][1]), (0.5, 0.5));
        assert!((weights[0][0] - 1.0 / (1.0 + (-1f32).exp())).abs() < 1e-6, "{weights:?}");
    }
}
