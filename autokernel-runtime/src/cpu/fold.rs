//! What the values of all rows are reduced to, column by column.

use autokernel_ops::body::Reduction;

/// A number for each column, in `f64`: no order of additions in `f32` is closer.
pub(super) struct Fold {
    reduction: Reduction,
    values: Vec<f64>,
    rows: usize,
}

impl Fold {
    /// Of no row yet.
    pub fn new(reduction: Reduction, columns: usize) -> Self {
        let identity = match reduction {
            Reduction::Sum | Reduction::Mean => 0.0,
            Reduction::Max => f64::NEG_INFINITY,
            Reduction::Min => f64::INFINITY,
        };
        Self { reduction, values: vec![identity; columns], rows: 0 }
    }

    /// One more row.
    pub fn add(&mut self, row: &[f32]) {
        self.rows += 1;
        for (value, &more) in self.values.iter_mut().zip(row) {
            let more = f64::from(more);
            *value = match self.reduction {
                Reduction::Sum | Reduction::Mean => *value + more,
                Reduction::Max => value.max(more),
                Reduction::Min => value.min(more),
            };
        }
    }

    /// What the rows give.
    pub fn finish(self) -> Vec<f32> {
        let over = if self.reduction == Reduction::Mean { self.rows as f64 } else { 1.0 };
        self.values.into_iter().map(|value| (value / over) as f32).collect()
    }
}
