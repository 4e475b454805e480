//! What a user writes: an attribute and a body-less function. Macro and build script read both through here; what they mean
//! is the operation's to say.

mod arguments;
mod parameter;

use autokernel_ops::declaration::{Attribute, Complaint, Declaration, Node};
use autokernel_ops::registry;
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote_spanned};
use syn::spanned::Spanned;
use syn::{Error, Ident, Result};

use crate::mistakes::Mistakes;
use crate::problem::Problem;

/// A declared kernel: the problem, and the function that will launch it.
pub struct Spec {
    /// What must be computed.
    pub problem: Problem,
    /// The function as written.
    pub function: syn::ForeignItemFn,
    /// The names of its parameters.
    pub parameters: Vec<Ident>,
}

/// The attribute called `name`.
pub fn attribute(name: &str) -> Option<&'static Attribute> {
    registry::attributes().find(|attribute| attribute.name == name)
}

impl Spec {
    /// Reads the attribute's arguments and the function below it.
    ///
    /// # Errors
    /// All mistakes at once, each at its own span with its remedy.
    pub fn parse(attribute: &Attribute, arguments: TokenStream, item: TokenStream) -> Result<Spec> {
        let mut nodes = Nodes::default();
        let place = nodes.add(TokenStream::new());
        let settings = arguments::parse(arguments, &mut nodes);
        let function = parse_function(attribute, item).and_then(|function| {
            refuse_modifiers(&function.sig)?;
            Ok(function)
        });
        let (settings, function) = both(settings, function)?;
        // A token with the span of both.
        let parentheses = quote_spanned!(function.sig.paren_token.span.join()=> ());
        let declaration = Declaration {
            attribute: attribute.name.to_owned(),
            arguments: place,
            settings,
            parameter_list: nodes.add(parentheses),
            parameters: function.sig.inputs.iter().map(|input| parameter::read(input, &mut nodes)).collect(),
        };
        let declared = Problem::declare(&declaration).unwrap_or_else(|| {
            Err(vec![place.complain(format!("no operation has an attribute `{}`", attribute.name))])
        });
        let problem = declared.map_err(|complaints| nodes.error(complaints))?;
        let parameters = function.sig.inputs.iter().filter_map(parameter::name).cloned().collect();
        Ok(Spec { problem, function, parameters })
    }
}

/// The tokens of a declaration's nodes, none for the attribute's arguments as a whole: an error marks them from the first to
/// the last, which on stable Rust no span of theirs does.
#[derive(Default)]
struct Nodes(Vec<TokenStream>);

impl Nodes {
    fn add(&mut self, tokens: impl ToTokens) -> Node {
        self.0.push(tokens.into_token_stream());
        Node(self.0.len() - 1)
    }

    /// The complaints, each at its span.
    fn error(&self, complaints: Vec<Complaint>) -> Error {
        let mut mistakes = Mistakes::default();
        for Complaint { node, message } in complaints {
            mistakes.push(Error::new_spanned(self.0.get(node.0), message));
        }
        let unnamed = || Error::new(Span::call_site(), "the declaration cannot be read");
        mistakes.into_result().err().unwrap_or_else(unnamed)
    }
}

/// Both values, or all the errors.
fn both<A, B>(left: Result<A>, right: Result<B>) -> Result<(A, B)> {
    match (left, right) {
        (Ok(left), Ok(right)) => Ok((left, right)),
        (Err(mut left), Err(right)) => {
            left.combine(right);
            Err(left)
        }
        (Err(error), _) | (_, Err(error)) => Err(error),
    }
}

fn parse_function(attribute: &Attribute, item: TokenStream) -> Result<syn::ForeignItemFn> {
    if let Ok(function) = syn::parse2::<syn::ForeignItemFn>(item.clone()) {
        return Ok(function);
    }
    let declare = format!(
        "declare the kernel without a body: `{} fn linear(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);`",
        attribute.example
    );
    match syn::parse2::<syn::ItemFn>(item.clone()) {
        Ok(function) => Err(Error::new(function.block.span(), format!("the body is generated; {declare}"))),
        Err(_) => Err(Error::new_spanned(item, format!("this attribute belongs on a function; {declare}"))),
    }
}

fn refuse_modifiers(signature: &syn::Signature) -> Result<()> {
    if !signature.generics.params.is_empty() || signature.generics.where_clause.is_some() {
        let span = signature.generics.span();
        return Err(Error::new(span, "a kernel is compiled for one element type; declare one function for each type"));
    }
    let plain = signature.asyncness.is_none() && signature.abi.is_none() && signature.variadic.is_none();
    let plain = plain && signature.constness.is_none() && !matches!(signature.safety, syn::Safety::Unsafe(_));
    let returns_result = match &signature.output {
        syn::ReturnType::Default => true,
        syn::ReturnType::Type(_, ty) => matches!(&**ty, syn::Type::Path(path)
            if path.path.segments.last().is_some_and(|segment| segment.ident == "Result")),
    };
    if !returns_result {
        let message = "a launch returns `autokernel::Result<()>`; write that, or leave the return type out";
        return Err(Error::new(signature.output.span(), message));
    }
    if !plain {
        let message = "a kernel launch is a plain function: remove `async`, `const`, `unsafe` and `extern` \
                       (a launch is already asynchronous on its stream)";
        return Err(Error::new(signature.span(), message));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
