//! What is generated for a kernel whose body says what it computes, whatever its operation.

use autokernel_codegen::rows::{Body, Kind, Operand, Reduction};
use autokernel_codegen::spec::{Overwritten, Spec};
use autokernel_core::Role;
use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::{Error, Ident, Result};

use crate::kernels::Face;
use crate::names::{Names, visible_from_inside};
use crate::parts::Parts;

/// The statements of a function that has some.
///
/// # Errors
/// There is no body.
pub fn block(spec: &Spec) -> Result<&syn::Block> {
    let missing = || Error::new(spec.function.sig.ident.span(), "the body says what is computed");
    spec.function.body.as_ref().ok_or_else(missing)
}

/// A kernel on `operands` with its typed launches, its computation on the CPU, and its body as a function on one row.
pub fn parts(spec: &Spec, operands: &[Operand], cpu: TokenStream, row: &TokenStream, docs: String) -> Parts {
    let (name, parameters) = (&spec.function.sig.ident, spec.given());
    let types = Names::of(spec);
    let views = operands.iter().enumerate().map(|(number, operand)| {
        let kind = if spec.is_transposed { operand.kind.transposed() } else { operand.kind };
        view(&Operand { kind, ..operand.clone() }, &types.element(number))
    });
    let first = operands.iter().position(|operand| operand.role == Role::Output);
    let launch = launches(spec, &views.collect::<Vec<_>>(), first);
    Parts {
        docs,
        call: quote_spanned!(Span::mixed_site().located_at(name.span())=> #name::launch(#(#parameters),*)),
        face: Face::Any,
        cpu,
        items: quote! {
            #launch

            #row
        },
    }
}

/// By what operands are indexed, as the CPU's loops are told.
pub fn kinds(operands: &[Operand]) -> TokenStream {
    let kinds = operands.iter().map(|operand| match operand.kind {
        Kind::Matrix => quote!(::autokernel::__private::Kind::Matrix),
        Kind::Row => quote!(::autokernel::__private::Kind::Row),
        Kind::Column => quote!(::autokernel::__private::Kind::Column),
        Kind::Index => quote!(::autokernel::__private::Kind::Index),
        Kind::Scalar => quote!(::autokernel::__private::Kind::Scalar),
        Kind::DeviceScalar => quote!(::autokernel::__private::Kind::DeviceScalar),
    });
    quote!(&[#(#kinds),*])
}

/// How what all rows give of each output is reduced, as the CPU's loops are told.
pub fn folds(of_outputs: impl Iterator<Item = Option<Reduction>>) -> TokenStream {
    let folds = of_outputs.map(|fold| match fold {
        None => quote!(::core::option::Option::None),
        Some(fold) => {
            let fold = match fold {
                Reduction::Sum => quote!(Sum),
                Reduction::Mean => quote!(Mean),
                Reduction::Max => quote!(Max),
                Reduction::Min => quote!(Min),
            };
            quote!(::core::option::Option::Some(::autokernel::__private::Reduction::#fold))
        }
    });
    quote!(&[#(#folds),*])
}

/// What hands a row of each operand, and of each fetch, to the function `row`.
pub fn of_a_row(body: &Body) -> TokenStream {
    let named = |at: usize, operand: &Operand| {
        let is_fetched = operand.role == Role::Input && body.has_own_axis(&operand.name);
        (!is_fetched).then(|| format_ident!("operand{at}"))
    };
    let operands = || body.operands.iter().enumerate().map(|(at, operand)| (operand, named(at, operand)));
    let fetches = body.fetches.iter().enumerate().filter_map(|(at, fetch)| {
        let name = format_ident!("fetch{at}");
        Some((body.operand(&fetch.of)?, Some(name)))
    });
    let fetches: Vec<_> = fetches.collect();
    let of = |role| operands().filter(move |(it, _)| it.role == role).map(|(_, name)| bound(name));
    let inputs = of(Role::Input).chain(fetches.iter().map(|(_, name)| bound(name.clone())));
    let outputs = of(Role::Output);
    let passed = operands().chain(fetches.iter().cloned()).filter_map(|(operand, name)| {
        let name = name?;
        Some(match (operand.role, operand.kind.varies_along_row()) {
            (_, true) => quote!(#name),
            (Role::Input, false) => quote!(#name[0]),
            (Role::Output, false) => quote!(&mut #name[0]),
        })
    });
    quote! {
        |number, inputs, outputs| {
            if let ([#(#inputs),*], [#(#outputs),*]) = (inputs, outputs) {
                row(number, #(#passed),*);
            }
        }
    }
}

/// A pattern of that name, or of what nobody reads.
fn bound(name: Option<Ident>) -> TokenStream {
    name.map_or_else(|| quote!(_), |name| quote!(#name))
}

/// What a launch takes of an operand.
pub struct View(Option<TokenStream>);

impl View {
    /// The view called `name`, of such elements.
    pub fn new(name: &str, element: &TokenStream) -> Self {
        let name = format_ident!("{name}");
        View(Some(quote!(::autokernel::#name<'a, #element>)))
    }

    /// The view of that type, which lives for `'a`.
    pub fn of(view: TokenStream) -> Self {
        View(Some(view))
    }

    /// Its value.
    pub const BY_VALUE: View = View(None);
}

/// `launch`, `launch_on` and `autotune`, on anything that becomes these views, of which the one at `first` is the first output.
pub fn launches(spec: &Spec, views: &[View], first: Option<usize>) -> TokenStream {
    let (names, types) = (spec.given(), Names::of(spec));
    let visibility = visible_from_inside(&spec.function.vis);
    let parameters: Vec<TokenStream> = names.iter().zip(views).map(parameter).collect();
    let passed = names.iter().zip(views).map(|(name, View(view))| match view {
        Some(view) => quote!(::core::convert::Into::<#view>::into(#name).into()),
        None => quote!(#name.into()),
    });
    let overwritten = spec.overwritten.iter().map(|Overwritten { output, before }| {
        let view = names.iter().zip(views).find(|(name, _)| *name == output).map(|(_, View(view))| view);
        quote! {
            let #output: #view = #output.into();
            let #before = ::autokernel::__private::Before::of(&#output)?;
        }
    });
    let before = spec.overwritten.iter().map(|Overwritten { before, .. }| quote!(#before.view().into()));
    let (overwritten, arguments) = (quote!(#(#overwritten)*), quote!(&mut [#(#passed,)* #(#before),*]));
    let device = Ident::new("device", Span::mixed_site());
    let (output, output_view) = first.map(|at| (&names[at], &views[at].0)).unzip();
    let (generics, kernel) = (types.generics(&TokenStream::new()), types.kernel());
    quote! {
        /// As the function beside this module, on views too.
        ///
        /// # Errors
        /// As that function.
        #[allow(clippy::too_many_arguments)]
        #visibility fn launch<'a, #generics>(#(#parameters),*) -> ::autokernel::Result<()> {
            let #output: #output_view = #output.into();
            let #device = #output.device();
            self::launch_on(&#device, #(#names),*)
        }

        /// As [`launch`], on the stream of `device` instead of the one that the first output was allocated on.
        ///
        /// # Errors
        /// As [`launch`], and [`DeviceMismatch`](::autokernel::Error::DeviceMismatch) if `device` is not where the
        /// operands are.
        #[allow(clippy::too_many_arguments)]
        #visibility fn launch_on<'a, #generics>(
            #device: &::autokernel::Device,
            #(#parameters),*
        ) -> ::autokernel::Result<()> {
            #overwritten
            self::#kernel.launch(#device, #arguments)
        }

        /// As [`launch`], and makes sure that launches of the same shapes on this GPU take the fastest schedule that the kernel
        /// carries: the first call for some shapes times them on these operands; see
        /// [`AnyKernel::autotune`](::autokernel::AnyKernel::autotune).
        ///
        /// # Errors
        /// As [`launch`], and [`Captured`](::autokernel::Error::Captured) while the stream is being captured.
        #[allow(clippy::too_many_arguments)]
        #visibility fn autotune<'a, #generics>(#(#parameters),*) -> ::autokernel::Result<::autokernel::Plan<'static>> {
            let #output: #output_view = #output.into();
            let #device = #output.device();
            #overwritten
            self::#kernel.autotune(&#device, #arguments)
        }
    }
}

fn parameter((name, View(view)): (&Ident, &View)) -> TokenStream {
    match view {
        Some(view) => quote!(#name: impl ::core::convert::Into<#view>),
        None => quote!(#name: f32),
    }
}

/// The view that a launch takes of an operand.
fn view(operand: &Operand, element: &TokenStream) -> View {
    let name = match (operand.kind, operand.role) {
        (Kind::Matrix, Role::Input) if operand.batched => "BatchView",
        (Kind::Matrix, Role::Output) if operand.batched => "BatchViewMut",
        (Kind::Row, _) if operand.batched => "RowBatchView",
        (Kind::Column, _) if operand.batched => "ColumnBatchView",
        (Kind::DeviceScalar, Role::Input) if operand.batched => "ScalarBatchView",
        (Kind::Matrix, Role::Input) => "MatrixView",
        (Kind::Matrix, Role::Output) => "MatrixViewMut",
        (Kind::Row, Role::Input) => "RowView",
        (Kind::Row, Role::Output) => "RowViewMut",
        (Kind::Column, Role::Input) => "ColumnView",
        (Kind::Column, Role::Output) => "ColumnViewMut",
        (Kind::Index, _) => return View(Some(quote!(::autokernel::IndexView<'a>))),
        (Kind::DeviceScalar, Role::Input) => "ScalarView",
        (Kind::DeviceScalar, Role::Output) => "ScalarViewMut",
        (Kind::Scalar, _) => return View::BY_VALUE,
    };
    View::new(name, element)
}
