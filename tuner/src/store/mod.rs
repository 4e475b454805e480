//! The seam between a search and what remembers its trials.

mod error;
mod records;

use std::sync::Arc;

pub use error::StoreError;
pub use records::{Records, Reference};

use crate::held_final::HeldFinal;
use crate::intents::Intents;
use crate::trial::Trial;

/// Remembers what was tried: the journal of an output folder, or a study that several machines share.
pub trait Store {
    /// What it holds, as far as it was read.
    fn records(&self) -> &Records;

    /// Reads what others recorded meanwhile.
    ///
    /// # Errors
    /// It cannot be read.
    fn refresh(&mut self) -> Result<(), StoreError>;

    /// Says what is about to be tried, each with the outcome that it has until another is known.
    ///
    /// # Errors
    /// It cannot be written: nothing of it must be tried.
    fn plan(&mut self, drafts: Vec<Trial>) -> Result<(), StoreError>;

    /// Who is to be told when a planned schedule begins to run, if that is this process's to tell.
    fn intents(&self) -> Option<Arc<Intents>>;

    /// Writes `trials`, and comes back once they cannot be lost. What others wrote of the same schedules stays.
    ///
    /// # Errors
    /// They cannot be written; what was written before stays valid.
    fn append_all(&mut self, trials: Vec<Trial>) -> Result<(), StoreError>;

    /// Writes `trial` alone.
    ///
    /// # Errors
    /// As [`Store::append_all`].
    fn append(&mut self, trial: Trial) -> Result<(), StoreError> {
        self.append_all(vec![trial])
    }

    /// Writes a final.
    ///
    /// # Errors
    /// As [`Store::append`].
    fn append_final(&mut self, held: HeldFinal) -> Result<(), StoreError>;

    /// Writes the time of cuBLAS that a language model is told of.
    ///
    /// # Errors
    /// As [`Store::append`].
    fn append_reference(&mut self, reference: Reference) -> Result<(), StoreError>;
}
