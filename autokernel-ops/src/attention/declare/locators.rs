//! The parameters that say where sequences are: which one is what, their names tell.

use crate::attention::sequences::{Keys, Locator, Sequences};
use crate::declaration::{Complaint, Declaration, Parameter};

const FORMS: &str = "behind `v` there is nothing where the tensors say how long sequences are; `lengths: &Index` for keys that the \
                     device counts; `pages: &PageTable, lengths: &Index` with the setting `page = 64`; before either \
                     `query_bounds: &Index` for packed queries; or `query_bounds: &Index, key_bounds: &Index` where keys are packed, too";
const NAMES_OF_INDICES: &str = "`lengths`, the keys of each sequence; `query_bounds`, where the queries of each begin; or `key_bounds`, \
                                where its keys do";

/// Those at the front, and the others.
///
/// # Errors
/// Each that is called otherwise.
pub fn split(parameters: &[Parameter]) -> Result<(Vec<Locator>, &[Parameter]), Vec<Complaint>> {
    let found: Vec<_> = parameters.iter().map_while(locator).collect();
    let others = &parameters[found.len()..];
    let (mut locators, mut complaints) = (Vec::new(), Vec::new());
    for locator in found {
        match locator {
            Ok(locator) => locators.push(locator),
            Err(complaint) => complaints.push(complaint),
        }
    }
    if complaints.is_empty() { Ok((locators, others)) } else { Err(complaints) }
}

/// What a parameter says of sequences, by its name; none of one that says nothing of them.
fn locator(parameter: &Parameter) -> Option<Result<Locator, Complaint>> {
    match parameter {
        Parameter::Index { name, node, mutable: false } => Some(match name.as_str() {
            "lengths" => Ok(Locator::Lengths),
            "query_bounds" => Ok(Locator::QueryBounds),
            "key_bounds" => Ok(Locator::KeyBounds),
            _ => Err(node.complain(format!(
                "attention tells an `&Index` by its name; in place of `{name}` write {NAMES_OF_INDICES}"
            ))),
        }),
        Parameter::PageTable { name, node } => Some(match name.as_str() {
            "pages" => Ok(Locator::Table),
            _ => Err(node.complain(format!(
                "attention tells the table of a cache's pages by its name; in place of `{name}` write `pages`"
            ))),
        }),
        _ => None,
    }
}

/// How sequences lie by these parameters, and pages of so many keys.
///
/// # Errors
/// There is no such way, with those there are.
pub fn sequences(
    declaration: &Declaration,
    page: Option<u32>,
    locators: &[Locator],
) -> Result<Sequences, Vec<Complaint>> {
    use Locator::{KeyBounds, Lengths, QueryBounds, Table};
    let (packed_queries, of_keys) = match locators {
        [QueryBounds, of_keys @ ..] => (true, of_keys),
        of_keys => (false, of_keys),
    };
    let keys = match (of_keys, page) {
        ([], None) if !packed_queries => Keys::Whole,
        ([Lengths], None) => Keys::Counted,
        ([KeyBounds], None) if packed_queries => Keys::Packed,
        ([Table, Lengths], Some(page)) => Keys::Paged(page),
        _ => return Err(vec![declaration.parameter_list.complain(FORMS)]),
    };
    Ok(Sequences { packed_queries, keys })
}
