//! What kernels take: matrices, vectors, numbers and their views, wherever they lie, and the types of their elements.

pub(crate) mod alloc;
pub(crate) mod any_view;
mod argument;
mod batch;
mod before;
mod blocks;
mod element;
mod heads;
mod host;
mod index;
pub(crate) mod layout;
mod matrix;
mod number;
pub(crate) mod packed;
mod page_table;
mod scalar;
pub(crate) mod types;
mod vector;
mod vector_batch;
pub(crate) mod view;

pub use any_view::{AnyView, AnyViewMut};
pub use argument::Argument;
pub use batch::{Batch, BatchView, BatchViewMut};
pub use before::Before;
pub use blocks::{quantise_blocks, scale_blocks};
pub use element::Element;
pub use heads::{Heads, HeadsView, HeadsViewMut};
pub use index::{Index, IndexView, RowNumber};
pub use matrix::Matrix;
pub use number::Number;
pub use packed::{i4x2, pack, quantise, quantise_i8, quantise_with_zeros, unpack};
pub use page_table::{PageTable, PageTableView};
pub use scalar::{Scalar, ScalarView, ScalarViewMut};
pub use vector::{
    Column, ColumnView, ColumnViewMut, Row, RowView, RowViewMut, ScalarBatch, ScalarBatchView, ScalarBatchViewMut,
};
pub use vector_batch::{ColumnBatch, ColumnBatchView, RowBatch, RowBatchView};
pub use view::{MatrixView, MatrixViewMut};
