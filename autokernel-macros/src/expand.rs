//! From an attribute and a body-less function to the generated items.

use autokernel_codegen::build::{Manifest, Plan};
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::matmul;
use autokernel_codegen::spec::{self, Spec};
use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::{Attribute, Error, Ident, Result};

use crate::{descriptor, docs};

/// The generated items; on a mistake its error and a stub, so that the rest of the crate stays quiet.
pub fn expand(attribute: &str, arguments: TokenStream, item: TokenStream) -> TokenStream {
    let stub = stub(&item);
    let unknown = || Error::new(Span::call_site(), format!("no operation is declared by `{attribute}`"));
    let spec = spec::attribute(attribute).ok_or_else(unknown);
    let generated = spec.and_then(|attribute| Spec::parse(attribute, arguments, item)).and_then(|spec| {
        let (manifest, plan) = find_plan(&spec)?;
        let (Some(product), [a, b, out]) = (spec.problem.as_product(), &spec.parameters[..]) else {
            return Err(unknown());
        };
        Ok(generate(&spec, product, [a, b, out], &manifest, &plan))
    });
    generated.unwrap_or_else(|error| {
        let error = error.into_compile_error();
        quote!(#error #stub)
    })
}

/// The plan that the build script made for this problem.
fn find_plan(spec: &Spec) -> Result<(Manifest, Plan)> {
    let name = &spec.function.sig.ident;
    let manifest = Manifest::of_this_crate().map_err(|error| Error::new(name.span(), error))?;
    let plan = manifest.plans.get(&spec.problem.key()).cloned().ok_or_else(|| {
        Error::new(
            name.span(),
            format!(
                "the build script did not see this kernel ({}). It looks for `#[autokernel::…]`, under that name, in \
                 the files below src, tests, benches and examples: write the declaration there, not through a macro or \
                 a renamed import. For a file elsewhere, name all folders: \
                 `Build::new().source(\"src\").source(\"elsewhere.rs\")`. If the folder is new, touch build.rs",
                spec.problem
            ),
        )
    })?;
    Ok((manifest, plan))
}

fn generate(
    spec: &Spec,
    product: &matmul::Problem,
    parameters: [&Ident; 3],
    manifest: &Manifest,
    plan: &Plan,
) -> TokenStream {
    let function = &spec.function;
    let (attributes, visibility, name) = (&function.attrs, &function.vis, &function.sig.ident);
    let (inputs, [a, b, out]) = (&function.sig.inputs, parameters);
    let output = match &function.sig.output {
        syn::ReturnType::Default => quote!(-> ::autokernel::Result<()>),
        written @ syn::ReturnType::Type(..) => quote!(#written),
    };
    let (input_type, output_type) = (element_type(product.input), element_type(product.output));
    let names = parameters.map(|parameter| parameter.unraw().to_string());
    let embedded = descriptor::embedded(&name.unraw().to_string(), &names, product, manifest, plan);
    let epilogue = autokernel_codegen::epilogue::rust_function(&product.epilogue);
    let (function_docs, module_docs) = (docs::function(parameters, product), docs::module(spec, plan));
    let module_visibility = visible_from_inside(visibility);
    let module_attributes = attributes.iter().filter(|attribute| concerns_module(attribute));
    let call = quote_spanned!(Span::mixed_site().located_at(name.span())=> #name::KERNEL.launch(#a, #b, #out));

    quote! {
        #(#attributes)*
        #[doc = #function_docs]
        #visibility fn #name(#inputs) #output {
            #call
        }

        #(#module_attributes)*
        #[doc = #module_docs]
        #visibility mod #name {
            /// The kernel itself: launch it on views and other streams, ask for its plan, load it ahead of time.
            #module_visibility static KERNEL: ::autokernel::Kernel<#input_type, #output_type> =
                // SAFETY: the images were compiled by autokernel's own build from the signature and plans stated here.
                unsafe { ::autokernel::Kernel::new(#embedded) };

            /// What is applied to each `f32` sum: the source of the CUDA function, of the CPU backend and of tests.
            #epilogue
        }
    }
}

/// Whether an attribute of the function holds for the module of the same name too: one that removes or hides it, or
/// allows its name.
fn concerns_module(attribute: &Attribute) -> bool {
    let path = attribute.path();
    let hides = || attribute.parse_args::<syn::Ident>().is_ok_and(|argument| argument == "hidden");
    ["cfg", "allow"].iter().any(|name| path.is_ident(name)) || (path.is_ident("doc") && hides())
}

/// An item in the generated module that is as visible as the function beside it.
fn visible_from_inside(visibility: &syn::Visibility) -> TokenStream {
    match visibility {
        syn::Visibility::Inherited => quote!(pub(super)),
        _ => quote!(pub),
    }
}

fn element_type(dtype: Dtype) -> TokenStream {
    match dtype {
        Dtype::Bf16 => quote!(::autokernel::bf16),
        Dtype::F16 => quote!(::autokernel::f16),
        Dtype::F32 => quote!(f32),
    }
}

/// The function with a body that is never reached, where it can be read at all.
fn stub(item: &TokenStream) -> TokenStream {
    let Ok(function) = syn::parse2::<syn::ForeignItemFn>(item.clone()) else { return TokenStream::new() };
    let syn::ForeignItemFn { attrs, vis, sig, .. } = function;
    let (name, inputs, generics) = (&sig.ident, &sig.inputs, &sig.generics);
    let output = match &sig.output {
        syn::ReturnType::Default => quote!(-> ::autokernel::Result<()>),
        written @ syn::ReturnType::Type(..) => quote!(#written),
    };
    quote! {
        #(#attrs)*
        #[allow(unused_variables)]
        #vis fn #name #generics(#inputs) #output {
            ::core::unreachable!("this kernel did not compile")
        }
    }
}
