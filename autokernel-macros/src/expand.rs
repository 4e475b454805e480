//! From an attribute and a function to the generated items.

use autokernel_codegen::build::{Manifest, Misplaced, Plan};
use autokernel_codegen::function::Functions;
use autokernel_codegen::problem::Problem;
use autokernel_codegen::spec::{self, Function, Kernels, Spec};
use proc_macro2::{Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Attribute, Error, Result, parse_quote};

use crate::names::Names;
use crate::parts::Parts;
use crate::unread::Unread;
use crate::{attention, docs, editor, fused, kernels, packing, product, routing, rows};

/// The generated items; on a mistake its error and a stub, so that the rest of the crate stays quiet.
pub fn expand(attribute: &str, arguments: TokenStream, item: TokenStream) -> TokenStream {
    if let Some(mut unread) = Unread::of(&item) {
        let output = output(&unread.signature);
        unread.signature.output = parse_quote!(#output);
        return unread.into_token_stream();
    }
    let mut stub = stub(&item);
    if editor::asks() {
        stub.extend(editor::sketch(&item));
    }
    let unknown = || Error::new(Span::call_site(), format!("no operation is declared by `{attribute}`"));
    let attribute = spec::attribute(attribute).ok_or_else(unknown);
    let manifest = Manifest::of_this_crate();
    let functions = manifest.as_ref().map(|manifest| Functions::new(&manifest.functions)).unwrap_or_default();
    let kernels = attribute.and_then(|attribute| Spec::parse_kernels(attribute, arguments, item, &functions));
    let generated = kernels.and_then(|Kernels { written, derived }| {
        let manifest = manifest.map_err(|error| Error::new(written[0].function.sig.ident.span(), error))?;
        let items = |specs: Vec<Spec>, inside: TokenStream| {
            let planned = |spec: Spec| find_plan(&spec, &manifest).map(|plan| (spec, plan));
            let specs = specs.into_iter().map(planned).collect::<Result<Vec<_>>>()?;
            let mut parts = parts(&specs[0].0)?.ok_or_else(unknown)?;
            parts.items.extend(inside);
            Ok(generate(&specs, &parts, &manifest))
        };
        let derived = derived.into_iter().map(|specs| items(specs, TokenStream::new()));
        let derived: TokenStream = derived.collect::<Result<_>>()?;
        items(written, derived)
    });
    generated.unwrap_or_else(|error| {
        let error = error.into_compile_error();
        quote!(#error #stub)
    })
}

/// What the operation of a kernel generates; nothing where it has no attribute.
fn parts(spec: &Spec) -> Result<Option<Parts>> {
    match (&spec.problem, &spec.parameters[..]) {
        (Problem::Matmul(product), parameters) => match (&product.body, parameters) {
            (Some(body), _) => fused::parts(spec, product, body).map(Some),
            (None, [a, b, out]) => Ok(Some(product::parts(spec, product, [a, b, out]))),
            (None, _) => Ok(None),
        },
        (Problem::Rows(problem), _) => rows::parts(spec, problem).map(Some),
        (Problem::Attention(problem), _) => attention::parts(spec, problem).map(Some),
        (Problem::Routing(problem), _) => Ok(routing::parts(spec, problem)),
        (Problem::Packing(problem), _) => Ok(Some(packing::parts(spec, problem))),
        #[allow(unreachable_patterns, reason = "reachable with the operations behind features")]
        _ => Ok(None),
    }
}

/// The plan that the build script made for this problem.
fn find_plan(spec: &Spec, manifest: &Manifest) -> Result<Plan> {
    let name = &spec.function.sig.ident;
    let key = spec.problem.key();
    let misplaced = manifest.misplaced.iter().find(|it| it.key == key && it.name == spec.name());
    if let Some(Misplaced { inside, .. }) = misplaced {
        let message = format!(
            "a kernel comes with a module of its own, which {inside} cannot hold. Declare it beside that, or inside a function, \
             and call it from there"
        );
        return Err(Error::new(name.span(), message));
    }
    manifest.plans.get(&key).cloned().ok_or_else(|| {
        Error::new(
            name.span(),
            format!(
                "the build script did not see this kernel ({}). It looks for `#[autokernel::…]`, under that name, in \
                 the files below src, tests, benches and examples: write the declaration there, not through a macro (of \
                 several types the attribute lists each: `T = [bf16, f16]`) or a renamed import. For a file elsewhere, \
                 name all folders: \
                 `Build::new().source(\"src\").source(\"elsewhere.rs\")`. If the folder is new, touch build.rs",
                spec.problem
            ),
        )
    })
}

fn generate(specs: &[(Spec, Plan)], parts: &Parts, manifest: &Manifest) -> TokenStream {
    let first = &specs[0].0;
    let function = &first.function;
    let (attributes, visibility, name) = (&function.attrs, &function.vis, &function.sig.ident);
    let inputs: Vec<&syn::FnArg> = first.declared.iter().collect();
    let output = output(&function.sig);
    let module_docs = docs::module(specs);
    let module_attributes: Vec<&Attribute> = attributes.iter().filter(|attribute| concerns_module(attribute)).collect();
    let Parts { docs, call, face, cpu, items } = parts;
    let call = as_declared(call, &function.sig.output);
    let docs = format!("{}{}{docs}", docs::formula(first), docs::types(specs));
    let generics = Names::of(first).generics(&quote!(#name::));
    let generics = if generics.is_empty() { generics } else { quote!(<#generics>) };
    let kernels = kernels::items(specs, manifest, *face, cpu);
    let types = kernels::as_written(specs);
    let types = if types.is_empty() { types } else { quote!(#(#module_attributes)* #types) };

    quote! {
        #(#attributes)*
        #[doc = #docs]
        #[allow(clippy::too_many_arguments, clippy::needless_question_mark)]
        #visibility fn #name #generics(#(#inputs),*) #output {
            #call
        }

        #(#module_attributes)*
        #[doc = #module_docs]
        #visibility mod #name {
            #kernels
            #items
        }

        #types
    }
}

/// The launch as the function's last expression. Where a `Result` is written, which may be the crate's own, its error is made of
/// ours.
fn as_declared(call: &TokenStream, output: &syn::ReturnType) -> TokenStream {
    match output {
        syn::ReturnType::Default => call.clone(),
        syn::ReturnType::Type(_, ty) => quote_spanned!(ty.span()=> ::core::result::Result::Ok(#call?)),
    }
}

/// What the function returns: as written, or what every launch does.
fn output(signature: &syn::Signature) -> TokenStream {
    match &signature.output {
        syn::ReturnType::Default => quote!(-> ::autokernel::Result<()>),
        written @ syn::ReturnType::Type(..) => quote!(#written),
    }
}

/// Whether an attribute of the function holds for the module of the same name too: one that removes or hides it, or
/// allows its name.
fn concerns_module(attribute: &Attribute) -> bool {
    let path = attribute.path();
    let hides = || attribute.parse_args::<syn::Ident>().is_ok_and(|argument| argument == "hidden");
    ["cfg", "allow"].iter().any(|name| path.is_ident(name)) || (path.is_ident("doc") && hides())
}

/// The function with a body that is never reached, where it can be read at all.
fn stub(item: &TokenStream) -> TokenStream {
    let Ok(function) = syn::parse2::<Function>(item.clone()) else { return TokenStream::new() };
    let Function { attrs, vis, sig, .. } = function;
    let (name, inputs, generics, output) = (&sig.ident, &sig.inputs, &sig.generics, output(&sig));
    quote! {
        #(#attrs)*
        #[allow(unused_variables)]
        #vis fn #name #generics(#inputs) #output {
            ::core::unreachable!("this kernel did not compile")
        }
    }
}
