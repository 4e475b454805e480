//! What is generated for routing.

use autokernel_codegen::problem::Routing;
use autokernel_codegen::spec::Spec;
use proc_macro2::Span;
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;

use crate::docs::LAUNCH;
use crate::kernels::Face;
use crate::names::{Names, visible_from_inside};
use crate::parts::Parts;

/// A kernel with its typed launches, and what makes memory for what it writes.
pub fn parts(spec: &Spec, problem: &Routing) -> Option<Parts> {
    let [scores, routes] = &spec.parameters[..] else { return None };
    let name = &spec.function.sig.ident;
    let &Routing { experts, top_k, over_all, .. } = problem;
    let types = Names::of(spec);
    let (element, generics, kernel) = (types.element(0), types.generics(&quote!()), types.kernel());
    let visibility = visible_from_inside(&spec.function.vis);
    let view = quote!(::autokernel::MatrixView<'a, #element>);
    let (experts_len, choices) = (experts as usize, top_k as usize);
    let items = quote! {
        /// Memory for the routes of so many tokens.
        ///
        /// # Errors
        /// [`OutOfMemory`](::autokernel::Error::OutOfMemory), or the driver's own error.
        #visibility fn routes(device: &::autokernel::Device, tokens: usize) -> ::autokernel::Result<::autokernel::Routes> {
            ::autokernel::Routes::zeros(device, tokens, #experts_len, #choices)
        }

        /// As the function beside this module, on views too.
        ///
        /// # Errors
        /// As that function.
        #visibility fn launch<'a, #generics>(
            scores: impl ::core::convert::Into<#view>,
            routes: &mut ::autokernel::Routes,
        ) -> ::autokernel::Result<()> {
            let device = routes.device();
            self::launch_on(&device, scores, routes)
        }

        /// As [`launch`], on the stream of `device` instead of the one that the routes were allocated on.
        ///
        /// # Errors
        /// As [`launch`], and [`DeviceMismatch`](::autokernel::Error::DeviceMismatch) if `device` is not where the
        /// operands are.
        #visibility fn launch_on<'a, #generics>(
            device: &::autokernel::Device,
            scores: impl ::core::convert::Into<#view>,
            routes: &mut ::autokernel::Routes,
        ) -> ::autokernel::Result<()> {
            let [weights, offsets, order, rows] = routes.arguments();
            let scores = ::core::convert::Into::<#view>::into(scores).into();
            self::#kernel.launch(device, &mut [scores, weights, offsets, order, rows])
        }
    };
    Some(Parts {
        docs: docs(problem, &scores.unraw().to_string(), &routes.unraw().to_string()),
        call: quote_spanned!(Span::mixed_site().located_at(name.span())=> #name::launch(#scores, #routes)),
        face: Face::Any,
        cpu: quote!(|arguments| ::autokernel::__private::routing_on_cpu(arguments, #over_all)),
        items,
    })
}

/// The shapes and errors; follows what the user wrote.
fn docs(problem: &Routing, scores: &str, routes: &str) -> String {
    let Routing { experts, top_k, over_all, .. } = problem;
    let among = if *over_all { "all experts" } else { "those" };
    format!(
        "\nFinds, for each row of `{scores}: [tokens, {experts}]`, the {top_k} experts with the greatest scores, of equal ones the \
         first, and writes to `{routes}` the softmax of their scores among {among}, where each expert's rows begin, the token of \
         each row, and the row of each choice. Scores that are no numbers come last.\n\n{LAUNCH}"
    )
}
