//! The kernels of a module: a static, or where a declaration is for several types, one for each combination and a sealed trait
//! that finds them by their types.

use autokernel_codegen::build::{Manifest, Plan};
use autokernel_codegen::spec::{Choice, Spec};
use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::Ident;
use syn::ext::IdentExt;

use crate::descriptor;
use crate::names::{Names, element_type, visible_from_inside, with_arguments};

/// What a kernel is to its callers.
#[derive(Clone, Copy)]
pub enum Face {
    /// An `AnyKernel`, with typed launches beside it.
    Any,
    /// A `Kernel` of the element types of its first and of its third parameter.
    Product,
}

impl Face {
    fn ty(self, element: impl Fn(usize) -> TokenStream) -> TokenStream {
        match self {
            Face::Any => quote!(::autokernel::AnyKernel),
            Face::Product => {
                let (input, output) = (element(0), element(2));
                quote!(::autokernel::Kernel<#input, #output>)
            }
        }
    }

    const fn about(self) -> &'static str {
        match self {
            Face::Any => "The kernel itself: ask for its plan, load it ahead of time.",
            Face::Product => {
                "The kernel itself: launch it on views and other streams, ask for its plan, load it ahead of time."
            }
        }
    }
}

/// The kernels that `specs` declare, with their plans, which `cpu` computes on the CPU.
pub fn items(specs: &[(Spec, Plan)], manifest: &Manifest, face: Face, cpu: &TokenStream) -> TokenStream {
    let first = &specs[0].0;
    let (marker, used) = marker(&first.function.sig.ident);
    let is_one = first.choices.is_empty();
    let statics = specs.iter().map(|(spec, plan)| {
        let ty = face.ty(|number| Names::of(spec).chosen(number));
        let embedded = descriptor::embedded(spec, manifest, plan, cpu);
        // Those of several types are used by what finds them.
        let used = is_one.then_some(&used);
        quote! {
            static KERNEL: #ty = {
                #used
                // SAFETY: the images were compiled by autokernel's own build from the signature and plans stated here.
                unsafe { <#ty>::new(#embedded) }
            };
        }
    });
    let statics: Vec<TokenStream> = statics.collect();
    let about = face.about();
    let visibility = visible_from_inside(&first.function.vis);
    if let ([kernel], []) = (&statics[..], &first.choices[..]) {
        return quote! {
            #marker

            #[doc = #about]
            #visibility #kernel
        };
    }

    let names = Names::of(first);
    let trait_items = types(specs, face, &visibility);
    let (generics, parameters) = (names.generics(&TokenStream::new()), names.parameters());
    let (ty, types) = (face.ty(|number| names.element(number)), with_arguments(&quote!(Types), &parameters[1..]));
    let kernel = &parameters[0];
    let implementations = specs.iter().zip(&statics).map(|((spec, _), kernel)| {
        let names = Names::of(spec);
        let (ty, choices) = (face.ty(|number| names.chosen(number)), names.choices());
        let (implementor, types) = (&choices[0], with_arguments(&quote!(Types), &choices[1..]));
        quote! {
            impl #types for #implementor {
                fn kernel() -> &'static #ty {
                    #kernel
                    &KERNEL
                }
            }
        }
    });
    quote! {
        #marker

        #trait_items

        #[doc = #about]
        #[must_use]
        #visibility fn kernel<#generics>() -> &'static #ty {
            #used
            <#kernel as #types>::kernel()
        }

        #(#implementations)*
    }
}

/// What rustc finds unused where the kernel is, under the name and at the place of its declaration, and what uses it. Lints leave
/// alone what has the places of generated code; and the function beside the module may be unused where the module is not.
fn marker(name: &Ident) -> (TokenStream, TokenStream) {
    let function = quote_spanned!(name.span()=> pub(super) const fn #name() {});
    (quote!(mod declared { #function }), quote!(declared::#name();))
}

/// The trait by which types find their kernel, which no other type can implement.
fn types(specs: &[(Spec, Plan)], face: Face, visibility: &TokenStream) -> TokenStream {
    let first = &specs[0].0;
    let names = Names::of(first);
    let (function, parameters) = (first.function.sig.ident.unraw().to_string(), names.parameters());
    let types = with_arguments(&quote!(Types), &parameters[1..]);
    let ty = face.ty(|number| names.element_in_trait(number));
    let given: String = parameters[1..].iter().map(|parameter| format!(", `{{{parameter}}}`")).collect();
    let message = format!("`{function}` is not compiled for `{{Self}}`{given}");
    let listed = listed(specs);
    let label = format!("there are kernels for {listed}");
    let note = "add the type to the list above the function, or convert the operand";
    let about = format!("The element types that `{function}` is compiled for: {listed}.");
    let implementors = lists(specs).swap_remove(0).into_iter().map(|choice| element_type(choice.dtype()));
    quote! {
        #[doc = #about]
        #[diagnostic::on_unimplemented(message = #message, label = #label, note = #note)]
        #visibility trait #types: ::autokernel::Element + sealed::Sealed {
            #[doc(hidden)]
            fn kernel() -> &'static #ty;
        }

        mod sealed {
            pub trait Sealed {}
            #(impl Sealed for #implementors {})*
        }
    }
}

/// `T = bf16, f16 and O = f32`.
pub fn listed(specs: &[(Spec, Plan)]) -> String {
    let of_parameter = |list: Vec<&Choice>| {
        let dtypes: Vec<&str> = list.iter().map(|choice| choice.dtype().name()).collect();
        format!("`{}` = {}", list[0].parameter, dtypes.join(", "))
    };
    lists(specs).into_iter().map(of_parameter).collect::<Vec<_>>().join(" and ")
}

/// What shows rustc the types that a declaration lists, where it stands: that they are in scope there, and are those that the
/// build compiled for.
pub fn as_written(specs: &[(Spec, Plan)]) -> TokenStream {
    let choices = lists(specs).concat();
    let (paths, types): (Vec<_>, Vec<_>) =
        choices.iter().map(|choice| (choice.path(), element_type(choice.dtype()))).unzip();
    if paths.is_empty() { TokenStream::new() } else { quote!(const _: fn(#(#paths),*) = |#(_: #types),*| {};) }
}

/// The types of each parameter, as they were listed.
fn lists(specs: &[(Spec, Plan)]) -> Vec<Vec<&Choice>> {
    let of_parameter = |number: usize| {
        let mut list: Vec<&Choice> = Vec::new();
        for choice in specs.iter().map(|(spec, _)| &spec.choices[number]) {
            if list.iter().all(|known| known.dtype() != choice.dtype()) {
                list.push(choice);
            }
        }
        list
    };
    (0..specs[0].0.choices.len()).map(of_parameter).collect()
}
