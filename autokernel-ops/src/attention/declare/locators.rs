//! The parameters that say where sequences are.

use crate::attention::sequences::{Keys, Sequences};
use crate::declaration::{Complaint, Declaration, Parameter};

/// Such a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locating {
    Index,
    PageTable,
}

const FORMS: &str = "behind `v` there is nothing where the tensors say how long sequences are; `lengths: &Index` for keys that the \
                     device counts; `pages: &PageTable, lengths: &Index` with the setting `page = 64`; or `query_bounds: &Index, \
                     key_bounds: &Index` for packed sequences; `query_bounds: &Index` may stand before pages";

/// Those at the front, and the others.
pub fn split(parameters: &[Parameter]) -> (Vec<Locating>, &[Parameter]) {
    let locating = |parameter: &Parameter| match parameter {
        Parameter::Index { mutable: false, .. } => Some(Locating::Index),
        Parameter::PageTable { .. } => Some(Locating::PageTable),
        _ => None,
    };
    let found: Vec<Locating> = parameters.iter().map_while(locating).collect();
    let others = &parameters[found.len()..];
    (found, others)
}

/// How sequences lie by these parameters, and pages of so many keys.
///
/// # Errors
/// There is no such way, with those there are.
pub fn sequences(
    declaration: &Declaration,
    page: Option<u32>,
    locating: &[Locating],
) -> Result<Sequences, Vec<Complaint>> {
    use Locating::{Index, PageTable};
    let (packed_queries, keys) = match (locating, page) {
        ([], None) => (false, Keys::Whole),
        ([Index], None) => (false, Keys::Counted),
        ([Index, Index], None) => (true, Keys::Packed),
        ([PageTable, Index], Some(page)) => (false, Keys::Paged(page)),
        ([Index, PageTable, Index], Some(page)) => (true, Keys::Paged(page)),
        _ => return Err(vec![declaration.parameter_list.complain(FORMS)]),
    };
    Ok(Sequences { packed_queries, keys })
}
