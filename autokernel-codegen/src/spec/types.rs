//! One declaration for several element types: `#[autokernel::rows(T = [bf16, f32])] fn softmax<T>(…)` declares a kernel for each
//! type in the list, and lists of several parameters one for each combination.

use syn::punctuated::Punctuated;
use syn::visit_mut::{self, VisitMut};
use syn::{Error, Ident, Result, Token};

use super::type_lists::{Element, TypeList};
use crate::dtype::Dtype;
use crate::mistakes::Mistakes;

/// A type in the place of a parameter.
#[derive(Clone)]
pub struct Choice {
    /// The parameter.
    pub parameter: Ident,
    /// What stands for it.
    element: Element,
}

impl Choice {
    /// The type that stands for it.
    pub fn dtype(&self) -> Dtype {
        self.element.dtype
    }

    /// Its path, as the list has it.
    pub fn path(&self) -> &syn::Path {
        &self.element.path
    }
}

/// Every combination of the lists' types, the last list's running fastest; one without choices where there is no list.
pub fn combinations(lists: &[TypeList]) -> Vec<Vec<Choice>> {
    lists.iter().fold(vec![Vec::new()], |combinations, TypeList { parameter, types }| {
        let with = |element: &Element| Choice { parameter: parameter.clone(), element: element.clone() };
        let longer = |before: &Vec<Choice>| {
            types.iter().map(|element| [&before[..], &[with(element)]].concat()).collect::<Vec<_>>()
        };
        combinations.iter().flat_map(longer).collect()
    })
}

/// What `read` makes of every combination. Of mistakes that all of them share one says all; others are told where their types
/// are listed.
pub fn of_each<T>(combinations: Vec<Vec<Choice>>, read: impl Fn(Vec<Choice>) -> Result<T>) -> Result<Vec<T>> {
    let results: Vec<Result<T>> = combinations.iter().cloned().map(read).collect();
    if results.iter().all(Result::is_err) {
        return results.into_iter().take(1).collect();
    }
    let mut mistakes = Mistakes::default();
    let mut read = Vec::new();
    for (result, choices) in results.into_iter().zip(&combinations) {
        match result {
            Ok(value) => read.push(value),
            Err(error) => error.into_iter().for_each(|error| mistakes.push(of_these_alone(choices, &error))),
        }
    }
    mistakes.into_result().map(|()| read)
}

fn of_these_alone(choices: &[Choice], error: &Error) -> Error {
    let chosen = choices.iter().map(|Choice { parameter, element }| format!("`{parameter} = {}`", element.dtype));
    let message = format!("with {}: {error}", chosen.collect::<Vec<_>>().join(", "));
    choices.last().map_or_else(
        || Error::new(error.span(), &message),
        |Choice { element, .. }| Error::new_spanned(&element.path, &message),
    )
}

/// The parameters of a function with these types in the place of its type parameters: at the parameters' own places, so that a
/// mistake is shown where they stand.
pub fn substituted(inputs: &Inputs, choices: &[Choice]) -> Inputs {
    let mut inputs = inputs.clone();
    inputs.iter_mut().for_each(|input| Substitute(choices).visit_fn_arg_mut(input));
    inputs
}

type Inputs = Punctuated<syn::FnArg, Token![,]>;

struct Substitute<'c>(&'c [Choice]);

impl VisitMut for Substitute<'_> {
    fn visit_path_mut(&mut self, path: &mut syn::Path) {
        match self.0.iter().find(|choice| path.is_ident(&choice.parameter)) {
            Some(choice) => {
                let span = path.segments[0].ident.span();
                *path = Ident::new(choice.element.dtype.name(), span).into();
            }
            None => visit_mut::visit_path_mut(self, path),
        }
    }
}

/// `<bf16, f32>` of a kernel of these types; nothing of one without.
pub fn suffix(choices: &[Choice]) -> String {
    let names: Vec<&str> = choices.iter().map(|choice| choice.element.dtype.name()).collect();
    if names.is_empty() { String::new() } else { format!("<{}>", names.join(", ")) }
}
