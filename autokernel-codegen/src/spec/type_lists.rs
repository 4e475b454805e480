//! The element types that an attribute lists for the type parameters of its function: `T = [bf16, f32]`.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Ident, Result, Token};

use crate::dtype::Dtype;
use crate::mistakes::Mistakes;

/// A type parameter, and the element types that it may be.
pub struct TypeList {
    /// The parameter.
    pub parameter: Ident,
    /// The types, as they are written.
    pub types: Vec<Element>,
}

/// An element type where a list names it.
#[derive(Clone)]
pub struct Element {
    /// The type.
    pub dtype: Dtype,
    /// Its path.
    pub path: syn::Path,
}

/// The lists among an attribute's arguments, and its other arguments.
///
/// # Errors
/// A list that cannot be read, or names what is no element type, at its place.
pub fn split(arguments: TokenStream) -> Result<(Vec<TypeList>, TokenStream)> {
    let (mut lists, mut others) = (Vec::new(), TokenStream::new());
    for argument in between_commas(arguments) {
        match &argument[..] {
            [TokenTree::Ident(_), TokenTree::Punct(equals), TokenTree::Group(group)]
                if equals.as_char() == '=' && group.delimiter() == Delimiter::Bracket =>
            {
                lists.push(syn::parse2(argument.into_iter().collect())?);
            }
            _ => {
                others.extend(argument);
                others.extend(<Token![,]>::default().into_token_stream());
            }
        }
    }
    Ok((lists, others))
}

/// What stands between the commas.
pub fn between_commas(tokens: TokenStream) -> Vec<Vec<TokenTree>> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',');
    tokens.split(is_comma).filter(|argument| !argument.is_empty()).map(<[_]>::to_vec).collect()
}

impl Parse for TypeList {
    fn parse(input: ParseStream) -> Result<Self> {
        let parameter: Ident = input.parse()?;
        input.parse::<Token![=]>()?;
        let content;
        let bracket = syn::bracketed!(content in input);
        let paths = Punctuated::<syn::Path, Token![,]>::parse_terminated(&content)?;
        if paths.is_empty() {
            let message = format!("list the element types that `{parameter}` may be: `{parameter} = [bf16, f32]`");
            return Err(Error::new(bracket.span.join(), message));
        }
        let mut types: Vec<Element> = Vec::new();
        for path in paths {
            let element = Element::read(path)?;
            if types.iter().any(|known| known.dtype == element.dtype) {
                let message = format!("`{}` is listed twice; remove one", element.dtype);
                return Err(Error::new_spanned(element.path, message));
            }
            types.push(element);
        }
        Ok(TypeList { parameter, types })
    }
}

impl Element {
    fn read(path: syn::Path) -> Result<Self> {
        let name = path.segments.last().map(|segment| segment.ident.unraw().to_string()).unwrap_or_default();
        match Dtype::from_name(&name) {
            Some(dtype) => Ok(Element { dtype, path }),
            None => {
                let message = format!("`{name}` is not an element type; use bf16, f16 or f32");
                Err(Error::new_spanned(path, message))
            }
        }
    }
}

/// Holds the lists against the type parameters of a function.
///
/// # Errors
/// A list without its parameter, a parameter without its list, and what else generics can be.
pub fn check(lists: &[TypeList], signature: &syn::Signature) -> Result<()> {
    let mut mistakes = Mistakes::default();
    let parameters: Vec<&syn::TypeParam> = signature.generics.type_params().collect();
    for (at, TypeList { parameter, .. }) in lists.iter().enumerate() {
        if !parameters.iter().any(|known| known.ident == *parameter) {
            let name = &signature.ident;
            let message = format!("`{name}` has no type parameter `{parameter}`; write `fn {name}<{parameter}>(…)`");
            mistakes.push(Error::new_spanned(parameter, message));
        }
        if lists[..at].iter().any(|other| other.parameter == *parameter) {
            mistakes.push(Error::new_spanned(parameter, format!("`{parameter}` is given twice; remove one")));
        }
    }
    for parameter in &signature.generics.params {
        mistakes.note(check_parameter(lists, signature, parameter));
    }
    if let Some(clause) = &signature.generics.where_clause {
        mistakes.push(Error::new_spanned(
            clause,
            "a kernel needs no bounds: it is compiled for the types that are written or listed; remove this clause",
        ));
    }
    mistakes.into_result()
}

fn check_parameter(lists: &[TypeList], signature: &syn::Signature, parameter: &syn::GenericParam) -> Result<()> {
    let syn::GenericParam::Type(declared) = parameter else {
        let message = match parameter {
            syn::GenericParam::Lifetime(_) => "operands are borrowed for a launch alone; remove this lifetime",
            _ => "a kernel is generic over element types alone; remove this parameter",
        };
        return Err(Error::new_spanned(parameter, message));
    };
    let name = &declared.ident;
    if !lists.iter().any(|list| list.parameter == *name) {
        let message = format!(
            "a kernel is compiled for each of its element types; list them: `#[autokernel::…({name} = [bf16, f32])]`"
        );
        return Err(Error::new_spanned(parameter, message));
    }
    if !declared.bounds.is_empty() || declared.default.is_some() {
        return Err(Error::new_spanned(parameter, format!("the list says what `{name}` may be; write `{name}` alone")));
    }
    let mut uses = Uses { name, found: false };
    signature.inputs.iter().for_each(|input| syn::visit::Visit::visit_fn_arg(&mut uses, input));
    if uses.found {
        return Ok(());
    }
    Err(Error::new_spanned(
        parameter,
        format!("no parameter holds `{name}`, by which a launch would choose its kernel"),
    ))
}

struct Uses<'n> {
    name: &'n Ident,
    found: bool,
}

impl<'ast> syn::visit::Visit<'ast> for Uses<'_> {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.found |= path.is_ident(self.name);
        syn::visit::visit_path(self, path);
    }
}
