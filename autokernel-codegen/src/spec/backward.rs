//! `backward` among an attribute's arguments: the kernels of a body's gradients, declared beside it as if they were written.

mod kernel;
mod names;

use autokernel_core::Role;
use autokernel_ops::backward::products;
use autokernel_ops::backward::{self, Gradient};
use autokernel_ops::body::{Body, Complaint, Place, Step};
use autokernel_ops::declaration::Attribute;
use autokernel_ops::matmul;
use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::ext::IdentExt;
use syn::parse::Parser;
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Error, Ident, Result, Token};

use self::kernel::Kernel;
use self::names::{OF_ROWS, PRODUCTS, ROWS, SETTING};
use super::parameter;
use super::type_lists::between_commas;
use super::types::Choice;
use crate::body_text;
use crate::fetched::fetched;
use crate::mistakes::Mistakes;
use crate::problem::Problem;
use crate::translate::{Scaled, scaled_factor};
use crate::words::DOT;

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
    [ROWS, PRODUCTS].contains(&attribute.name) && name == SETTING
}

/// A function whose gradients are asked for.
pub struct Forward<'s> {
    /// What it computes, of each combination of types.
    pub sources: Vec<Source<'s>>,
    /// What stands for its type parameters in each.
    pub choices: Vec<&'s [Choice]>,
    /// Its name and parameters.
    pub signature: &'s syn::Signature,
    /// Its text.
    pub block: &'s syn::Block,
    /// Who sees it.
    pub visibility: &'s syn::Visibility,
}

/// What a function computes whose gradients are asked for.
#[derive(Clone, Copy)]
pub enum Source<'s> {
    /// What a body of rows says.
    Rows(&'s Body),
    /// A product, and what follows it.
    Product(&'s matmul::Problem, &'s matmul::body::Body),
}

impl<'s> Source<'s> {
    /// That of a problem that has a body.
    pub fn of(problem: &'s Problem) -> Option<Self> {
        match problem {
            Problem::Rows(problem) => Some(Source::Rows(problem.body())),
            Problem::Matmul(problem) => Some(Source::Product(problem, problem.body.as_deref()?)),
            _ => None,
        }
    }

    /// Its operands and statements.
    fn body(self) -> &'s Body {
        match self {
            Source::Rows(body) => body,
            Source::Product(_, body) => &body.written().body,
        }
    }

    /// The kernels of its gradients.
    fn gradient(self, wanted: Option<&[usize]>) -> std::result::Result<Vec<Kernel>, Vec<Complaint>> {
        match self {
            Source::Rows(body) => {
                let Gradient { by_rows, by_columns } = backward::gradient(body, wanted)?;
                let named = [(SETTING, by_rows), (OF_ROWS, by_columns)];
                Ok(named.into_iter().filter_map(|(name, body)| Some(Kernel::of_rows(name, body?))).collect())
            }
            Source::Product(problem, body) => {
                Ok(products::gradient(problem, body, wanted)?.into_iter().map(Kernel::of_product).collect())
            }
        }
    }
}

/// A declaration, as the attribute would stand above it.
pub struct Derived {
    /// The attribute's name.
    pub attribute: &'static str,
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
        let sources = forward.sources.iter();
        let kernels = sources.map(|source| self.kernels(forward, *source)).collect::<Result<Vec<_>>>()?;
        // A gradient that is another one as it is, of some combinations of types, is a copy in another type of the others: what any
        // writes, all do.
        let written =
            |kernels: &Vec<Kernel>| kernels.iter().map(|kernel| kernel.body().outputs().count()).sum::<usize>();
        let Some(kernels) = kernels.into_iter().max_by_key(written) else { return Ok(Vec::new()) };
        Ok(kernels.iter().map(|kernel| self.declared(forward, kernel)).collect())
    }

    /// Where there is no body to derive gradients from.
    pub fn without_body(&self) -> Error {
        let message = "gradients are derived from a body; write what is fused there: `{ out = gelu(dot(a, b.t())); }`";
        Error::new(self.place.span(), message)
    }

    /// That the author asked for it is the place of what is wrong with a derived kernel.
    pub fn blame(&self, error: &Error) -> Error {
        Error::new(self.place.span(), format!("of the gradient: {error}"))
    }

    fn kernels(&self, forward: &Forward<'_>, source: Source<'_>) -> Result<Vec<Kernel>> {
        let wanted = self.operands.as_ref().map(|names| self.numbers(names, source.body())).transpose()?;
        source.gradient(wanted.as_deref()).map_err(|complaints| {
            let mut mistakes = Mistakes::default();
            for complaint in complaints {
                let place = self.place_of(forward, source, complaint.place);
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
    fn place_of(&self, forward: &Forward<'_>, source: Source<'_>, place: Place) -> TokenStream {
        let factor = match (source, place) {
            (Source::Product(_, body), Place::Operand(at)) => {
                let is_it = |factor: &u8| usize::from(*factor) == at;
                body.factors().iter().any(is_it).then(|| body.operands()[at].name.as_str())
            }
            _ => None,
        };
        let mut search = Search { found: None, body: source.body(), place, factor };
        search.visit_block(forward.block);
        let parameter = || match place {
            Place::Operand(at) => forward.signature.inputs.get(at).map(ToTokens::to_token_stream),
            _ => None,
        };
        search.found.or_else(parameter).unwrap_or_else(|| self.place.to_token_stream())
    }

    /// The function of a kernel, for each combination of types.
    fn declared(&self, forward: &Forward<'_>, kernel: &Kernel) -> Derived {
        let Forward { sources, signature, visibility, .. } = forward;
        let (of, body) = (sources[0].body(), kernel.body());
        let generics: Vec<Option<&Ident>> =
            body.operands.iter().map(|it| forward.generic(sources[0], &it.name)).collect();
        let parameters = body.operands.iter().zip(&generics).map(|(it, generic)| body_text::parameter(it, *generic));
        let (used, lists) = forward.lists(&generics);
        let used = if used.is_empty() { TokenStream::new() } else { quote!(<#(#used),*>) };
        let docs = kernel.docs(&signature.ident.unraw().to_string(), of);
        let visibility = match visibility {
            syn::Visibility::Inherited => quote!(pub(super)),
            _ => quote!(pub),
        };
        let (name, statements) = (Ident::new(&kernel.name, self.place.span()), kernel.statements());
        let item = quote! {
            #[doc = #docs]
            #visibility fn #name #used (#(#parameters),*) { #statements }
        };
        let settings = kernel.settings();
        Derived { attribute: kernel.attribute(), arguments: quote!(#(#lists,)* #settings), item }
    }
}

impl Forward<'_> {
    /// The type parameter that the elements of an operand are of, which is the body's or has the gradient of one. What else kernels of
    /// a product hand each other is of the type of its factors.
    fn generic(&self, of: Source<'_>, name: &str) -> Option<&Ident> {
        let source = match of {
            Source::Rows(body) => &backward::source(body, name)?.name,
            Source::Product(_, body) => {
                backward::source(of.body(), name).map_or(&body.written().product.a, |source| &source.name)
            }
        };
        let at = of.body().operands.iter().position(|operand| operand.name == *source)?;
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

/// The matrices that an argument of `dot` names: the factor, its scales and zero points.
fn factors_in<'a>(argument: &'a syn::Expr) -> Vec<&'a Ident> {
    let named = |it: Scaled<'a>| [it.matrix].into_iter().chain(it.scales).chain(it.zeros).collect();
    scaled_factor(argument).map(named).unwrap_or_default()
}

/// Finds a part of a body in its text.
struct Search<'b> {
    found: Option<TokenStream>,
    body: &'b Body,
    place: Place,
    /// The factor of a product, in the place of the operand.
    factor: Option<&'b str>,
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
        if let (Some(factor), syn::Expr::Call(call)) = (self.factor, expr)
            && call.func.to_token_stream().to_string() == DOT
            && call.args.iter().any(|argument| factors_in(argument).iter().any(|name| *name == factor))
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
