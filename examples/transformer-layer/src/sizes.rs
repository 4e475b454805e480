//! How large a layer is.

/// What norms add to a mean of squares.
pub const EPS: f32 = 1e-5;
/// Elements of a head.
pub const HEAD_DIM: usize = 128;

/// The sizes of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Width of the residual stream.
    pub features: usize,
    /// Heads of queries, a multiple of `groups`.
    pub heads: usize,
    /// Heads of keys and values.
    pub groups: usize,
    /// Width of the feed-forward half.
    pub hidden: usize,
}

impl Sizes {
    /// For the CPU.
    pub const SMALL: Self = Self { features: 256, heads: 4, groups: 2, hidden: 704 };
    /// 218 million weights, the sizes of a layer of Llama 3 8B.
    pub const LARGE: Self = Self { features: 4096, heads: 32, groups: 8, hidden: 14_336 };

    /// Width of a token's queries.
    pub const fn of_queries(self) -> usize {
        self.heads * HEAD_DIM
    }

    /// Width of its keys, and of its values.
    pub const fn of_keys(self) -> usize {
        self.groups * HEAD_DIM
    }

    /// Width of all three.
    pub const fn of_qkv(self) -> usize {
        self.of_queries() + 2 * self.of_keys()
    }

    /// Rows as wide as its keys that a token's queries fill.
    pub const fn rows_of_queries(self) -> usize {
        self.heads / self.groups
    }
}
