//! What keeps a store from going on.

use std::error::Error;

/// A store that cannot go on, for reasons of its own.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct StoreError(Box<dyn Error + Send + Sync>);

impl StoreError {
    /// Of a store's own error.
    pub fn new(error: impl Error + Send + Sync + 'static) -> Self {
        StoreError(Box::new(error))
    }
}
