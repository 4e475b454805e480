//! `backward` among an attribute's arguments: the kernels of a body's gradients, declared beside it as if they were written.

use autokernel_core::Role;
use autokernel_ops::backward::{self, Gradient};
use autokernel_ops::body::{Body, Place, Step};
use autokernel_ops::declaration::Attribute;
use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Error, Ident, Result, Token};

use super::parameter;
use super::type_lists::between_commas;
use super::types::Choice;
use crate::body_text;
use crate::fetched::fetched;
use crate::mistakes::Mistakes;

/// The setting's name, and that of the kernel of gradients.
const SETTING: &str = "backward";
/// The kernel of the gradients of rows.
const OF_ROWS: &str = "backward_rows";

/// What the setting asks for.
pub struct Asked {
    /// Where it stands.
    place: Ident,
    /// The operands that it names; none where it is all that have a gradient.
    operands: Option<Vec<Ident>>,
}

/// The setting among an attribute's arguments, and its other arguments.
///
/// # Errors
/// It is given other than names.
pub fn split(attribute: &Attribute, arguments: TokenStream) -> Result<(Option<Asked>, TokenStream)> {
    let (mut asked, mut others) = (None, TokenStream::new());
    for argument in between_commas(arguments) {
        if let (Some(_), Some(TokenTree::Ident(name))) = (&asked, argument.first())
            && is_it(attribute, name)
        {
            let message = "`backward` is given twice; name all operands in one: `backward(x, weight)`";
            return Err(Error::new_spanned(name, message));
        }
        match &argument[..] {
            [TokenTree::Ident(name)] if is_it(attribute, name) => {
                asked = Some(Asked { place: name.clone(), operands: None });
            }
            [TokenTree::Ident(name), TokenTree::Group(group)] if is_it(attribute, name) => {
                let names = Punctuated::<Ident, Token![,]>::parse_terminated.parse2(group.stream());
                let refused = || {
                    let message =
                        "`backward` alone, or with the operands whose gradients it gives: `backward(x, weight)`";
                    Error::new_spanned(group, message)
                };
                let names: Vec<Ident> = names.map_err(|_| refused())?.into_iter().collect();
                if names.is_empty() {
                    return Err(refused());
                }
                asked = Some(Asked { place: name.clone(), operands: Some(names) });
            }
            _ => {
                others.extend(argument);
                others.extend(<Token![,]>::default().into_token_stream());
            }
        }
    }
    Ok((asked, others))
}

fn is_it(attribute: &Attribute, name: &Ident) -> bool {
    attribute.name == "rows" && name == SETTING
}

/// A function whose gradients are asked for.
pub struct Forward<'s> {
    /// Its body, of each combination of types.
    pub bodies: Vec<&'s Body>,
    /// What stands for its type parameters in each.
    pub choices: Vec<&'s [Choice]>,
    /// Its name and parameters.
    pub signature: &'s syn::Signature,
    /// Its text.
    pub block: &'s syn::Block,
    /// Who sees it.
    pub visibility: &'s syn::Visibility,
}

/// A declaration, as the attribute would stand above it.
pub struct Derived {
    /// The attribute's arguments.
    pub arguments: TokenStream,
    /// The function.
    pub item: TokenStream,
}

impl Asked {
    /// The declarations of the gradients of `forward`.
    ///
    /// # Errors
    /// What has no gradient, at its place in the forward body.
    pub fn declarations(&self, forward: &Forward<'_>) -> Result<Vec<Derived>> {
        let gradients = forward.bodies.iter().map(|body| self.gradient(forward, body)).collect::<Result<Vec<_>>>()?;
        // Of several types the text is the same.
        let Some(Gradient { by_rows, by_columns }) = gradients.into_iter().next() else { return Ok(Vec::new()) };
        let named = [(SETTING, by_rows), (OF_ROWS, by_columns)];
        let texts = named.into_iter().filter_map(|(name, body)| Some((name, body?)));
        Ok(texts.map(|(name, body)| self.declared(forward, name, &body)).collect())
    }

    /// That the author asked for it is the place of what is wrong with a derived kernel.
    pub fn blame(&self, error: &Error) -> Error {
        Error::new(self.place.span(), format!("of the gradient: {error}"))
    }

    fn gradient(&self, forward: &Forward<'_>, body: &Body) -> Result<Gradient> {
        let wanted = self.operands.as_ref().map(|names| self.numbers(names, body)).transpose()?;
        backward::gradient(body, wanted.as_deref()).map_err(|complaints| {
            let mut mistakes = Mistakes::default();
            for complaint in complaints {
                let place = self.place_of(forward, body, complaint.place);
                mistakes.push(Error::new_spanned(place, complaint.message));
            }
            let unnamed = || Error::new(self.place.span(), "this body has no gradient");
            mistakes.into_result().err().unwrap_or_else(unnamed)
        })
    }

    fn numbers(&self, names: &[Ident], body: &Body) -> Result<Vec<usize>> {
        let (mut numbers, mut mistakes) = (Vec::new(), Mistakes::default());
        for name in names {
            let at = body.operands.iter().position(|operand| *name == operand.name);
            let inputs = body.operands.iter().filter(|operand| operand.role == Role::Input);
            match at {
                None => {
                    let known: Vec<String> = inputs.map(|operand| format!("`{}`", operand.name)).collect();
                    let message =
                        format!("there is no operand `{name}`; `backward(…)` names some of {}", known.join(", "));
                    mistakes.push(Error::new_spanned(name, message));
                }
                Some(at) if numbers.contains(&at) => {
                    mistakes.push(Error::new_spanned(name, format!("`{name}` is named twice; remove one")));
                }
                Some(at) => numbers.push(at),
            }
        }
        mistakes.into_result().map(|()| numbers)
    }

    /// Where the part of the body stands that a complaint is about.
    fn place_of(&self, forward: &Forward<'_>, body: &Body, place: Place) -> TokenStream {
        let mut search = Search { found: None, body, place };
        search.visit_block(forward.block);
        let parameter = || match place {
            Place::Operand(at) => forward.signature.inputs.get(at).map(ToTokens::to_token_stream),
            _ => None,
        };
        search.found.or_else(parameter).unwrap_or_else(|| self.place.to_token_stream())
    }

    /// The function that computes `body`, for each combination of types.
    fn declared(&self, forward: &Forward<'_>, name: &str, body: &Body) -> Derived {
        let Forward { bodies, signature, visibility, .. } = forward;
        let of = bodies[0];
        let generics: Vec<Option<&Ident>> = body.operands.iter().map(|it| forward.generic(of, &it.name)).collect();
        let parameters = body.operands.iter().zip(&generics).map(|(it, generic)| body_text::parameter(it, *generic));
        let (used, lists) = forward.lists(&generics);
        let used = if used.is_empty() { TokenStream::new() } else { quote!(<#(#used),*>) };
        let docs = docs(&signature.ident.unraw().to_string(), body, of);
        let visibility = match visibility {
            syn::Visibility::Inherited => quote!(pub(super)),
            _ => quote!(pub),
        };
        let (kernel, statements) = (Ident::new(name, self.place.span()), body_text::statements(body));
        let item = quote! {
            #[doc = #docs]
            #visibility fn #kernel #used (#(#parameters),*) { #statements }
        };
        Derived { arguments: quote!(#(#lists),*), item }
    }
}

impl Forward<'_> {
    /// The type parameter that the elements of an operand are of, which is the body's or has the gradient of one.
    fn generic(&self, of: &Body, name: &str) -> Option<&Ident> {
        let source = backward::source(of, name)?;
        let at = of.operands.iter().position(|operand| operand.name == source.name)?;
        let element = parameter::element(self.signature.inputs.get(at)?)?;
        let parameters = self.choices.first()?.iter().map(|choice| &choice.parameter);
        parameters.into_iter().find(|parameter| element.path.is_ident(*parameter))
    }

    /// The type parameters among `used`, in order, and the list of each.
    fn lists(&self, used: &[Option<&Ident>]) -> (Vec<&Ident>, Vec<TokenStream>) {
        let choices = self.choices.first().copied().unwrap_or_default().iter().enumerate();
        let choices = choices.filter(|(_, choice)| used.contains(&Some(&choice.parameter)));
        let list = |(number, Choice { parameter, .. }): (usize, &Choice)| {
            let mut dtypes = Vec::new();
            for dtype in self.choices.iter().map(|choices| choices[number].dtype()) {
                if !dtypes.contains(&dtype) {
                    dtypes.push(dtype);
                }
            }
            let types = dtypes.into_iter().map(body_text::element);
            quote!(#parameter = [#(#types),*])
        };
        choices.map(|it| (&it.1.parameter, list(it))).unzip()
    }
}

fn docs(function: &str, body: &Body, of: &Body) -> String {
    let (mut gradients, mut others) = (Vec::new(), Vec::new());
    for output in body.outputs() {
        let list = if backward::source(of, &output.name).is_some() { &mut gradients } else { &mut others };
        list.push(format!("`{}`", output.name.trim_start_matches("r#")));
    }
    let given: Vec<String> = body
        .operands
        .iter()
        .filter(|operand| operand.role == Role::Input)
        .map(|operand| format!("`{}`", operand.name.trim_start_matches("r#")))
        .collect();
    let mut text = format!("The gradients of [`{function}`](fn@super::{function}), computed of {}: ", given.join(", "));
    text += &if gradients.is_empty() { "none here".to_owned() } else { gradients.join(", ") };
    if !others.is_empty() {
        text += &format!("; and {}, which `{OF_ROWS}` takes", others.join(", "));
    }
    text + "."
}

/// Finds a part of a body in its text.
struct Search<'b> {
    found: Option<TokenStream>,
    body: &'b Body,
    place: Place,
}

impl<'ast> Visit<'ast> for Search<'_> {
    fn visit_expr(&mut self, expr: &'ast syn::Expr) {
        if let (Place::Fetch(at), Some(Ok(written))) = (self.place, fetched(expr))
            && let Some(fetch) = self.body.fetches.get(at)
            && *written.of == fetch.of
            && written.columns == fetch.columns
        {
            self.found.get_or_insert_with(|| expr.to_token_stream());
        }
        visit::visit_expr(self, expr);
    }

    fn visit_expr_assign(&mut self, assign: &'ast syn::ExprAssign) {
        let written = match &*assign.left {
            syn::Expr::Index(picked) => &picked.expr,
            _ => &assign.left,
        };
        if let (Place::Step(at), syn::Expr::Path(path)) = (self.place, &**written)
            && let Some(Step::Store { output, .. }) = self.body.steps.get(at)
            && path.path.get_ident().is_some_and(|name| name == output)
        {
            self.found.get_or_insert_with(|| assign.to_token_stream());
        }
        // What is written is no place that is read.
        self.visit_expr(&assign.right);
    }
}
