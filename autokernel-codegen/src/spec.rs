//! What a user writes: an attribute and a body-less function. Macro and build script read both through here.

use quote::ToTokens;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Error, Ident, Result, Token};

use crate::dtype::Dtype;
use crate::epilogue::{self, Epilogue};
use crate::matmul;
use crate::problem::{INPUTS, Layout, Problem};

/// The attributes, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttributeKind {
    /// `#[autokernel::matmul]`
    Matmul,
    /// `#[autokernel::fused_matmul(EPILOGUE)]`
    FusedMatmul,
}

impl AttributeKind {
    /// Every attribute.
    pub const ALL: [AttributeKind; 2] = [AttributeKind::Matmul, AttributeKind::FusedMatmul];

    /// How it is called.
    pub const fn name(self) -> &'static str {
        match self {
            AttributeKind::Matmul => "matmul",
            AttributeKind::FusedMatmul => "fused_matmul",
        }
    }

    /// The attribute called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        AttributeKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// How it is written, for messages.
    fn example(self) -> &'static str {
        match self {
            AttributeKind::Matmul => "#[autokernel::matmul]",
            AttributeKind::FusedMatmul => "#[autokernel::fused_matmul(leaky_relu)]",
        }
    }
}

/// A declared kernel: the problem, and the function that will launch it.
pub struct Spec {
    /// What must be computed.
    pub problem: Problem,
    /// The function as written.
    pub function: syn::ForeignItemFn,
    /// The names of its three parameters.
    pub parameters: [Ident; 3],
}

impl Spec {
    /// Reads the attribute's arguments and the function below it.
    ///
    /// # Errors
    /// All mistakes at once, each at its own span with its remedy.
    pub fn parse(
        kind: AttributeKind,
        arguments: proc_macro2::TokenStream,
        item: proc_macro2::TokenStream,
    ) -> Result<Spec> {
        let arguments = (|input: ParseStream| Arguments::parse(kind, input)).parse2(arguments);
        let function = parse_function(kind, item).and_then(|function| {
            let signature = Signature::read(&function)?;
            Ok((function, signature))
        });
        let (arguments, (function, signature)) = both(arguments, function)?;
        let Arguments { epilogue, layout, known_n, known_k } = arguments;
        let Signature { parameters, input, output } = signature;
        let problem = matmul::Problem { input, output, layout, epilogue, known_n, known_k };
        Ok(Spec { problem: problem.into(), function, parameters })
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

/// What stands in the attribute's parentheses.
struct Arguments {
    epilogue: Epilogue,
    layout: Layout,
    known_n: Option<u32>,
    known_k: Option<u32>,
}

impl Arguments {
    fn parse(kind: AttributeKind, input: ParseStream) -> Result<Self> {
        let epilogue = match kind {
            AttributeKind::Matmul => Epilogue::identity(),
            AttributeKind::FusedMatmul => parse_epilogue(input)?,
        };
        let mut arguments = Arguments { epilogue, layout: Layout::Nn, known_n: None, known_k: None };
        for option in Punctuated::<Setting, Token![,]>::parse_terminated(input)? {
            arguments.apply(kind, &option)?;
        }
        Ok(arguments)
    }

    fn apply(&mut self, kind: AttributeKind, setting: &Setting) -> Result<()> {
        let Setting { name, value } = setting;
        match (name.to_string().as_str(), value) {
            ("transpose_b", None) if self.layout == Layout::Nn => self.layout = Layout::Nt,
            ("n", Some(value)) if self.known_n.is_none() => self.known_n = Some(dimension(value)?),
            ("k", Some(value)) if self.known_k.is_none() => self.known_k = Some(dimension(value)?),
            ("transpose_b", None) | ("n" | "k", Some(_)) => {
                return Err(Error::new(name.span(), format!("`{name}` is given twice; remove one")));
            }
            ("transpose_b", Some(value)) => {
                return Err(Error::new(value.span(), "`transpose_b` takes no value; write `transpose_b` alone"));
            }
            ("n" | "k", None) => {
                return Err(Error::new(name.span(), format!("give the dimension: `{name} = 4096`")));
            }
            ("m", _) => {
                return Err(Error::new(
                    name.span(),
                    "m cannot be fixed: it is the batch, given at each launch; only n and k can be known",
                ));
            }
            (other, _) if kind == AttributeKind::Matmul && Epilogue::builtin(other, None).is_ok() => {
                return Err(Error::new(
                    name.span(),
                    format!("`matmul` has no epilogue; write `#[autokernel::fused_matmul({other})]`"),
                ));
            }
            (other, _) => {
                return Err(Error::new(
                    name.span(),
                    format!("unknown setting `{other}`; known are `transpose_b`, `n = …` and `k = …`"),
                ));
            }
        }
        Ok(())
    }
}

fn parse_epilogue(input: ParseStream) -> Result<Epilogue> {
    if input.is_empty() {
        let known: Vec<String> = Epilogue::all().iter().map(|epilogue| epilogue.name().to_owned()).collect();
        let known = known.join(", ");
        let message = format!("which epilogue? write `#[autokernel::fused_matmul(leaky_relu)]`; built in are {known}");
        return Err(Error::new(input.span(), message));
    }
    let epilogue = epilogue::parse(input)?;
    if !input.is_empty() {
        input.parse::<Token![,]>()?;
    }
    Ok(epilogue)
}

/// `name` or `name = value`.
struct Setting {
    name: Ident,
    value: Option<syn::Expr>,
}

impl Parse for Setting {
    fn parse(input: ParseStream) -> Result<Self> {
        let name = input.parse()?;
        let value = if input.parse::<Option<Token![=]>>()?.is_some() { Some(input.parse()?) } else { None };
        Ok(Setting { name, value })
    }
}

fn dimension(value: &syn::Expr) -> Result<u32> {
    let refused =
        || Error::new(value.span(), "a known dimension is a literal from 1 to 2147483647, for example `n = 4096`");
    let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(literal), .. }) = value else {
        return Err(refused());
    };
    let number: u32 = literal.base10_parse().map_err(|_| refused())?;
    if number == 0 || i32::try_from(number).is_err() { Err(refused()) } else { Ok(number) }
}

fn parse_function(kind: AttributeKind, item: proc_macro2::TokenStream) -> Result<syn::ForeignItemFn> {
    if let Ok(function) = syn::parse2::<syn::ForeignItemFn>(item.clone()) {
        return Ok(function);
    }
    let declare = format!(
        "declare the kernel without a body: `{} fn linear(a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>);`",
        kind.example()
    );
    match syn::parse2::<syn::ItemFn>(item.clone()) {
        Ok(function) => Err(Error::new(function.block.span(), format!("the body is generated; {declare}"))),
        Err(_) => Err(Error::new_spanned(item, format!("this attribute belongs on a function; {declare}"))),
    }
}

/// What the parameter types say.
struct Signature {
    parameters: [Ident; 3],
    input: Dtype,
    output: Dtype,
}

impl Signature {
    fn read(function: &syn::ForeignItemFn) -> Result<Self> {
        let signature = &function.sig;
        refuse_modifiers(signature)?;
        let inputs: Vec<&syn::FnArg> = signature.inputs.iter().collect();
        let [a, b, out] = inputs[..] else {
            return Err(Error::new(
                signature.paren_token.span.join(),
                "a matrix product takes three parameters: `a: &Matrix<bf16>, b: &Matrix<bf16>, out: &mut Matrix<bf16>`",
            ));
        };
        let (a, b, out) = (Parameter::read(a, false), Parameter::read(b, false), Parameter::read(out, true));
        let ((a, b), out) = both(both(a, b), out)?;
        for input in [&a, &b] {
            if !INPUTS.contains(&input.dtype) {
                return Err(Error::new(input.span, "the matrix units multiply `bf16` or `f16`; convert this operand"));
            }
        }
        if a.dtype != b.dtype {
            let message =
                format!("`{}` holds {} and `{}` holds {}; give both the same type", a.name, a.dtype, b.name, b.dtype);
            return Err(Error::new(b.span, message));
        }
        if out.dtype != a.dtype && out.dtype != Dtype::F32 {
            let input = a.dtype;
            return Err(Error::new(out.span, format!("a product of {input} is stored as `{input}` or `f32`")));
        }
        Ok(Signature { parameters: [a.name, b.name, out.name], input: a.dtype, output: out.dtype })
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

struct Parameter {
    name: Ident,
    dtype: Dtype,
    span: proc_macro2::Span,
}

impl Parameter {
    /// Reads `name: &Matrix<bf16>`, or with `mutable` `name: &mut Matrix<bf16>`.
    fn read(argument: &syn::FnArg, mutable: bool) -> Result<Self> {
        let expected = if mutable { "`out: &mut Matrix<bf16>`" } else { "`a: &Matrix<bf16>`" };
        let refused = |span: &dyn ToTokens| Error::new_spanned(span, format!("write this parameter as {expected}"));
        let syn::FnArg::Typed(typed) = argument else {
            return Err(refused(argument));
        };
        let syn::Pat::Ident(pattern) = &*typed.pat else {
            return Err(refused(&typed.pat));
        };
        if pattern.by_ref.is_some() || pattern.mutability.is_some() || pattern.subpat.is_some() {
            return Err(refused(&typed.pat));
        }
        let syn::Type::Reference(reference) = &*typed.ty else {
            return Err(refused(&typed.ty));
        };
        if reference.mutability.is_some() != mutable {
            return Err(refused(&typed.ty));
        }
        let element = matrix_element(&reference.elem).ok_or_else(|| refused(&typed.ty))?;
        let name = element.path.segments.last().map(|segment| segment.ident.to_string()).unwrap_or_default();
        let dtype = Dtype::from_name(&name).ok_or_else(|| {
            Error::new_spanned(element, format!("`{name}` is not an element type; use bf16, f16 or f32"))
        })?;
        Ok(Parameter { name: pattern.ident.clone(), dtype, span: element.span() })
    }
}

/// `T` of `Matrix<T>`, whatever path leads to `Matrix`.
fn matrix_element(ty: &syn::Type) -> Option<&syn::TypePath> {
    let syn::Type::Path(path) = ty else { return None };
    let segment = path.path.segments.last().filter(|segment| segment.ident == "Matrix")?;
    let syn::PathArguments::AngleBracketed(arguments) = &segment.arguments else { return None };
    match (arguments.args.len(), arguments.args.first()?) {
        (1, syn::GenericArgument::Type(syn::Type::Path(element))) => Some(element),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
