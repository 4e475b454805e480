//! What a user writes: an attribute and a function, with a body or without. Macro and build script read both through here;
//! what they mean is the operation's to say.

mod arguments;
mod backward;
mod body;
mod held;
mod nodes;
mod overwritten;
mod parameter;
mod refused;
mod transposed;
mod type_lists;
mod types;

use autokernel_ops::declaration::{Attribute, Body, Declaration, Form, Node, Setting, Statement, What};
use autokernel_ops::registry;
use proc_macro2::{Span, TokenStream};
use quote::quote_spanned;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Error, Ident, Result, Token};

use crate::conditions::refuse_conditions;
use crate::function::{Called, Functions, calls_in};
use crate::groups;
use crate::problem::Problem;
use backward::{Asked, Derived, Forward, Source};
use nodes::Nodes;
use type_lists::TypeList;

pub use overwritten::Overwritten;
pub use refused::Refused;
pub use types::Choice;

/// A declared kernel: the problem, and the function that will launch it, perhaps beside others of other types.
pub struct Spec {
    /// What must be computed.
    pub problem: Problem,
    /// The function as written, but for what it reads of outputs before it writes them: parameters of their own, behind the others. Where
    /// what it writes lies transposed, the one that writes what is stored.
    pub function: Function,
    /// Its parameters as they are written.
    pub declared: Punctuated<syn::FnArg, Token![,]>,
    /// Whether what it writes lies transposed, so that rows of the problem are columns of the function.
    pub is_transposed: bool,
    /// The names of its parameters.
    pub parameters: Vec<Ident>,
    /// The outputs that are written over what is read.
    pub overwritten: Vec<Overwritten>,
    /// The crate's own functions that its body calls.
    pub called: Vec<Called>,
    /// What stands for the function's type parameters.
    pub choices: Vec<Choice>,
    /// The kernel in whose module this one is, where it is derived from that.
    pub within: Option<Ident>,
}

/// The kernels of a declaration.
#[derive(Default)]
pub struct Kernels {
    /// Those that are written: one, or one for each combination of types.
    pub written: Vec<Spec>,
    /// Those of its gradients, each as those.
    pub derived: Vec<Vec<Spec>>,
}

/// A function, with a body or without.
#[derive(Clone)]
pub struct Function {
    /// Its other attributes.
    pub attrs: Vec<syn::Attribute>,
    /// Who sees it.
    pub vis: syn::Visibility,
    /// Its name, parameters and result.
    pub sig: syn::Signature,
    /// Its body; none where a `;` stands for it.
    pub body: Option<syn::Block>,
}

impl Parse for Function {
    fn parse(input: ParseStream) -> Result<Self> {
        let attrs = input.call(syn::Attribute::parse_outer)?;
        let (vis, sig) = (input.parse()?, input.parse()?);
        let body = if input.parse::<Option<Token![;]>>()?.is_some() { None } else { Some(input.parse()?) };
        Ok(Function { attrs, vis, sig, body })
    }
}

/// The attribute called `name`.
pub fn attribute(name: &str) -> Option<&'static Attribute> {
    registry::attributes().find(|attribute| attribute.name == name)
}

impl Spec {
    /// Reads the attribute's arguments and the function below it, whose body may call `functions`: the kernels that are written, and
    /// those of their gradients where it asks for these.
    ///
    /// # Errors
    /// All mistakes at once, each at its own span with its remedy.
    pub fn parse_kernels(
        attribute: &Attribute,
        arguments: TokenStream,
        item: TokenStream,
        functions: &Functions,
    ) -> Result<Kernels> {
        let (asked, arguments) = backward::split(attribute, arguments)?;
        let written = Spec::parse_all(attribute, arguments, item, functions)?;
        let derived = asked.map(|asked| Spec::derive(&asked, &written)).transpose()?;
        Ok(Kernels { written, derived: derived.unwrap_or_default() })
    }

    /// The kernels of the gradients of `written`.
    fn derive(asked: &Asked, written: &[Spec]) -> Result<Vec<Vec<Spec>>> {
        let Some(Spec { function, .. }) = written.first() else { return Ok(Vec::new()) };
        let Some(block) = &function.body else { return Err(asked.without_body()) };
        if let Some(Overwritten { output, .. }) = written.first().and_then(|spec| spec.overwritten.first()) {
            let message = format!(
                "gradients are of what `{output}` held before, which is written over; write to an output of its own"
            );
            return Err(Error::new(output.span(), message));
        }
        if let Some(spec) = written.first().filter(|spec| spec.is_transposed) {
            let message =
                "gradients are of what lies as it is written; write `out = …;`, with the factors in the other order";
            return Err(Error::new(spec.function.sig.ident.span(), message));
        }
        let forward = Forward {
            sources: written.iter().filter_map(|spec| Source::of(&spec.problem)).collect(),
            choices: written.iter().map(|spec| spec.choices.as_slice()).collect(),
            signature: &function.sig,
            block,
            visibility: &function.vis,
        };
        let declared = |Derived { attribute: name, arguments, item }| {
            let attribute = attribute(name).ok_or_else(|| asked.without_body())?;
            let specs = Spec::parse_all(attribute, arguments, item, &Functions::default());
            let mut specs = specs.map_err(|error| asked.blame(&error))?;
            specs.iter_mut().for_each(|spec| spec.within = Some(function.sig.ident.clone()));
            Ok(specs)
        };
        asked.declarations(&forward)?.into_iter().map(declared).collect()
    }

    /// The same of what asks for no gradients: a kernel, or one for each combination of the types that the attribute lists.
    ///
    /// # Errors
    /// As [`parse_kernels`](Self::parse_kernels).
    pub fn parse_all(
        attribute: &Attribute,
        arguments: TokenStream,
        item: TokenStream,
        functions: &Functions,
    ) -> Result<Vec<Spec>> {
        let (written, lists) = Written::parse(attribute, arguments, item)?;
        types::of_each(types::combinations(&lists), |choices| Ok(written.read(choices, functions)?))
    }

    /// The same of what declares one kernel of one type, where it matters why it is none.
    ///
    /// # Errors
    /// As [`parse_all`](Self::parse_all), what is too large apart.
    pub fn judge(
        attribute: &Attribute,
        arguments: TokenStream,
        item: TokenStream,
        functions: &Functions,
    ) -> std::result::Result<Spec, Refused> {
        let (written, lists) = Written::parse(attribute, arguments, item)?;
        match &types::combinations(&lists)[..] {
            [choices] => written.read(choices.clone(), functions),
            _ => Err(several().into()),
        }
    }

    /// The same of what declares one kernel.
    ///
    /// # Errors
    /// As [`parse_all`](Self::parse_all), and for several kernels.
    pub fn parse(
        attribute: &Attribute,
        arguments: TokenStream,
        item: TokenStream,
        functions: &Functions,
    ) -> Result<Spec> {
        let specs = Spec::parse_all(attribute, arguments, item, functions)?;
        <[Spec; 1]>::try_from(specs).map(|[spec]| spec).map_err(|_| several())
    }

    /// The parameters that a caller gives.
    pub fn given(&self) -> &[Ident] {
        &self.parameters[..self.parameters.len() - self.overwritten.len()]
    }

    /// What the kernel is called: as its function, in what it is derived from, and by its types where there are several:
    /// `softmax<bf16>`, `softmax::backward<bf16>`.
    pub fn name(&self) -> String {
        let within = self.within.as_ref().map(|within| format!("{}::", within.unraw())).unwrap_or_default();
        format!("{within}{}{}", self.function.sig.ident.unraw(), types::suffix(&self.choices))
    }

    /// The type parameter that the elements of parameter `number` are of, if they are of one.
    pub fn type_parameter(&self, number: usize) -> Option<&Ident> {
        let element = parameter::element(self.function.sig.inputs.get(number)?)?;
        self.choices.iter().map(|choice| &choice.parameter).find(|parameter| element.path.is_ident(*parameter))
    }
}

fn several() -> Error {
    Error::new(Span::call_site(), "several kernels are declared, and one is expected")
}

/// What stands in the source, for each kernel that it declares.
struct Written<'a> {
    attribute: &'a Attribute,
    place: Node,
    settings: Vec<Setting>,
    nodes: Nodes,
    function: Function,
    declared: Punctuated<syn::FnArg, Token![,]>,
    is_transposed: bool,
    overwritten: Vec<Overwritten>,
}

impl<'a> Written<'a> {
    /// What the attribute and the function say, and the lists of types.
    fn parse(attribute: &'a Attribute, arguments: TokenStream, item: TokenStream) -> Result<(Self, Vec<TypeList>)> {
        let mut nodes = Nodes::default();
        let place = nodes.add(TokenStream::new());
        let lists = type_lists::split(arguments);
        let settings = lists.and_then(|(lists, arguments)| Ok((lists, arguments::parse(arguments, &mut nodes)?)));
        let function = parse_function(attribute, item).and_then(|function| {
            refuse_modifiers(&function.sig)?;
            refuse_conditions(&function.sig, function.body.as_ref())?;
            held::refuse_names(&function.sig, function.body.as_ref())?;
            Ok(function)
        });
        let ((lists, settings), mut function) = both(settings, function)?;
        let declared = function.sig.inputs.clone();
        let Function { sig, body, .. } = &mut function;
        let is_transposed = body.as_mut().map_or(Ok(false), |body| transposed::split(sig, body))?;
        if let Some(known) = settings.iter().find(|setting| is_transposed && setting.name == "n") {
            let message = "`n` would be the rows of what is stored, which are given at each launch; leave it out, or write `out = …;`";
            return Err(nodes.error(vec![known.node.complain(message)]));
        }
        let overwritten = body.as_mut().map(|body| overwritten::split(sig, body)).unwrap_or_default();
        type_lists::check(&lists, &function.sig)?;
        Ok((Written { attribute, place, settings, nodes, function, declared, is_transposed, overwritten }, lists))
    }

    /// The kernel of these types.
    fn read(&self, choices: Vec<Choice>, functions: &Functions) -> std::result::Result<Spec, Refused> {
        let Written { attribute, place, settings, function, overwritten, .. } = self;
        let mut nodes = self.nodes.clone();
        let inputs = types::substituted(&function.sig.inputs, &choices);
        if let Some(block) = function.body.as_ref().filter(|_| self.is_transposed) {
            transposed::check_weights(block, inputs.iter())?;
        }
        // A token with the span of both.
        let parentheses = quote_spanned!(function.sig.paren_token.span.join()=> ());
        let parameter_list = nodes.add(parentheses);
        let in_source = inputs.len() - overwritten.len();
        let mut parameters: Vec<_> =
            inputs.iter().take(in_source).map(|input| parameter::read(input, &mut nodes)).collect();
        let before: Vec<_> = overwritten.iter().filter_map(|it| it.parameter(&parameters)).collect();
        parameters.extend(before);
        let names: Vec<Ident> = inputs.iter().filter_map(parameter::name).cloned().collect();
        let own = attribute.names.iter().map(|name| Ident::new(name, Span::call_site()));
        let in_scope: Vec<Ident> = names.iter().cloned().chain(own).collect();
        let body = match &function.body {
            None => Ok(Body::None),
            Some(block) => body::read(block, &in_scope, &parameters, functions, &mut nodes).map(Body::Statements),
        };
        let in_place =
            overwritten.iter().map(|it| Statement { what: What::InPlace(it.in_place()), node: parameter_list });
        let body = body.map(|body| match body {
            Body::Statements(statements) => Body::Statements(statements.into_iter().chain(in_place).collect()),
            other => other,
        });
        let declaration = Declaration {
            attribute: attribute.name.to_owned(),
            arguments: *place,
            settings: settings.clone(),
            parameter_list,
            parameters,
            body: body.as_ref().map_or(Body::Unreadable, Clone::clone),
        };
        let declared = Problem::declare(&declaration).unwrap_or_else(|| {
            Err(vec![place.complain(format!("no operation has an attribute `{}`", attribute.name))])
        });
        let declared = declared.map_err(|complaints| overwritten::as_written(complaints, overwritten));
        let problem = match (declared, body) {
            (declared, Ok(_)) => declared.map_err(|complaints| nodes.refusal(complaints))?,
            (Err(complaints), Err(mistakes)) if !complaints.is_empty() => {
                let mut all = nodes.error(complaints);
                all.combine(mistakes);
                return Err(all.into());
            }
            (_, Err(mistakes)) => return Err(mistakes.into()),
        };
        let called = function.body.as_ref().map(calls_in).unwrap_or_default();
        let called = called.iter().map(|name| functions.called(name)).collect::<Result<_>>()?;
        let (function, overwritten) = (function.clone(), overwritten.clone());
        let (declared, is_transposed) = (self.declared.clone(), self.is_transposed);
        Ok(Spec {
            problem,
            function,
            declared,
            is_transposed,
            parameters: names,
            overwritten,
            called,
            choices,
            within: None,
        })
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

fn parse_function(attribute: &Attribute, item: TokenStream) -> Result<Function> {
    let example = attribute.example;
    let Ok(mut function) = syn::parse2::<Function>(item.clone()) else {
        return Err(Error::new_spanned(item, format!("this attribute belongs on a function: `{example}`")));
    };
    groups::open(&mut function.sig, function.body.as_mut());
    match (attribute.form, &function.body) {
        (Form::Bodyless, Some(body)) => {
            let message = format!("the body is generated; declare the kernel without a body: `{example}`");
            Err(Error::new(body.span(), message))
        }
        (Form::Body, None) => {
            let message = format!("the body says what is computed; write it: `{example}`");
            Err(Error::new_spanned(&function.sig, message))
        }
        _ => Ok(function),
    }
}

fn refuse_modifiers(signature: &syn::Signature) -> Result<()> {
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
mod backward_tests;
#[cfg(test)]
mod product_backward_tests;
#[cfg(test)]
mod tests;
