//! Where the sequences of attention lie, as the operands behind the values say. Whatever those say, nothing outside of the tensors is
//! meant; kernels cut numbers in the same way (`attention_sequences.cuh`).

use std::ops::Range;

use autokernel_ops::attention::sequences::{Keys, Locator, Sequences};

use super::elements::Elements;
use crate::operands::layout::Layout;
use crate::{Argument, Result};

/// A row of one of the matrices of a head, which are sequences or pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    pub matrix: usize,
    pub row: usize,
}

/// A sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sequence {
    pub number: usize,
    /// Where its first query lies; the others follow.
    pub first_query: Row,
    pub queries: usize,
    /// Where its keys lie; one of no page is zeros.
    pub keys: Vec<Option<Row>>,
}

/// Whole numbers of the host.
struct Numbers<'a> {
    numbers: &'a [i32],
    layout: Layout,
}

/// Of queries, keys and values, the shapes of their tensors, all sequences, said by `located` as `sequences` has it.
///
/// # Errors
/// [`Error::DeviceMismatch`](crate::Error::DeviceMismatch) for what is on a GPU.
pub fn all(
    sequences: Sequences,
    located: &[Argument<'_>],
    [queries, keys, values]: [[usize; 4]; 3],
) -> Result<Vec<Sequence>> {
    let mut numbers = Vec::new();
    for argument in located {
        if let Argument::Read(view) = argument
            && let (Elements::I32(all), layout) = Elements::of(view)?
        {
            numbers.push(Numbers { numbers: all, layout });
        }
    }
    let of = |wanted| sequences.locators().zip(&numbers).find(|(locator, _)| *locator == wanted).map(|(_, it)| it);
    let bounds = of(Locator::QueryBounds).or(of(Locator::KeyBounds));
    let count = bounds.map_or(queries[0], |bounds| bounds.layout.columns.saturating_sub(1));
    let sequence = |number: usize| {
        let of_queries = of(Locator::QueryBounds).map_or(0..queries[2], |bounds| bounds.range(number, queries[2]));
        let matrix = if sequences.packed_queries { 0 } else { number };
        let counted = |most| of(Locator::Lengths).map_or(0, |lengths| lengths.at(number, most));
        let rows = |rows: Range<usize>, matrix| rows.map(|row| Some(Row { matrix, row })).collect();
        let of_keys = match sequences.keys {
            Keys::Whole => rows(0..keys[2], number),
            Keys::Counted => rows(0..counted(keys[2]), number),
            Keys::Packed => rows(of(Locator::KeyBounds).map_or(0..0, |bounds| bounds.range(number, keys[2])), 0),
            Keys::Paged(page) => {
                // A cache without pages has no keys.
                let table = of(Locator::Table).filter(|_| keys[0] > 0 && values[0] > 0);
                let most = table.map_or(0, |table| table.layout.columns.saturating_mul(page as usize));
                let place = |key: usize| {
                    let matrix = table?.page(number, key / page as usize).filter(|matrix| *matrix < keys[0])?;
                    Some(Row { matrix, row: key % page as usize })
                };
                (0..counted(most)).map(place).collect()
            }
        };
        let first_query = Row { matrix, row: of_queries.start };
        Sequence { number, first_query, queries: of_queries.len(), keys: of_keys }
    };
    Ok((0..count).map(sequence).collect())
}

impl Numbers<'_> {
    /// Number `at`, at least 0 and at most so many.
    fn at(&self, at: usize, most: usize) -> usize {
        self.numbers.get(at).map_or(0, |number| usize::try_from(*number).unwrap_or(0).min(most))
    }

    fn range(&self, number: usize, most: usize) -> Range<usize> {
        let first = self.at(number, most);
        first..self.at(number + 1, most).max(first)
    }

    fn page(&self, sequence: usize, at: usize) -> Option<usize> {
        usize::try_from(*self.numbers.get(sequence * self.layout.ld + at)?).ok()
    }
}
