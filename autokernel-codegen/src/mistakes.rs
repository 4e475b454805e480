//! Mistakes of a text, collected: all are told at once.

use syn::{Error, Result};

/// Mistakes so far.
#[derive(Default)]
pub struct Mistakes(Option<Error>);

impl Mistakes {
    /// One more.
    pub fn push(&mut self, error: Error) {
        match &mut self.0 {
            Some(known) => known.combine(error),
            none => *none = Some(error),
        }
    }

    /// What was read; a mistake is kept instead.
    pub fn note<T>(&mut self, result: Result<T>) -> Option<T> {
        result.map_err(|error| self.push(error)).ok()
    }

    /// All of them as one error, if there is any.
    pub fn into_result(self) -> Result<()> {
        self.0.map_or(Ok(()), Err)
    }
}
