//! What a kernel embeds: its descriptor as a text, its images, and its computation on the CPU.

use std::collections::BTreeMap;

use autokernel_codegen::build::{ImageFiles, Manifest, Plan, Variant};
use autokernel_codegen::spec::Spec;
use autokernel_core::{Arch, Descriptor};
use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;

/// `Embedded { … }` of the kernel that `spec` declares, which `cpu` computes on the CPU.
pub fn embedded(spec: &Spec, manifest: &Manifest, plan: &Plan, cpu: &TokenStream) -> TokenStream {
    let parameters: Vec<String> = spec.parameters.iter().map(|parameter| parameter.unraw().to_string()).collect();
    let images = Images::collect(&plan.variants);
    let descriptor = Descriptor {
        name: spec.name(),
        about: plan.problem.to_string(),
        problem: json(&plan.problem),
        signature: signature(&parameters, plan),
        variants: plan.variants.iter().map(|variant| described(variant, &images)).collect(),
        portfolios: plan.portfolios.clone(),
        confined: plan.problem.class().confined(),
        not_compiled: manifest.not_compiled.clone(),
    };
    let (json, images) = (json(&descriptor), &images.tokens);
    quote! {
        ::autokernel::__private::Embedded {
            json: #json,
            images: &[#(#images),*],
            cpu: #cpu,
        }
    }
}

/// The problem's signature, with the parameters as the user calls them.
fn signature(parameters: &[String], plan: &Plan) -> autokernel_core::Signature {
    let mut signature = plan.problem.signature();
    for (operand, parameter) in signature.operands.iter_mut().zip(parameters) {
        operand.name.clone_from(parameter);
    }
    signature
}

fn described(variant: &Variant, images: &Images) -> autokernel_core::Variant<usize> {
    autokernel_core::Variant {
        arch: variant.arch,
        tuned: variant.tuned.clone(),
        portfolio: variant.portfolio,
        schedule: json(&variant.schedule),
        plan: variant.plan.clone(),
        image: images.number_of(variant),
    }
}

fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("what a build says has only string keys")
}

/// The images of a plan, each embedded once: variants that differ in launch-time knobs alone share theirs.
struct Images<'p> {
    tokens: Vec<TokenStream>,
    /// By (symbol, arch).
    numbers: BTreeMap<(&'p str, Arch), usize>,
}

impl<'p> Images<'p> {
    fn collect(variants: &'p [Variant]) -> Self {
        let mut images = Images { tokens: Vec::new(), numbers: BTreeMap::new() };
        for variant in variants {
            let Some(files) = &variant.image else { continue };
            let next = images.tokens.len();
            let number = *images.numbers.entry((variant.symbol(), variant.arch)).or_insert(next);
            if number == next {
                images.tokens.push(embed(files));
            }
        }
        images
    }

    fn number_of(&self, variant: &Variant) -> Option<usize> {
        self.numbers.get(&(variant.symbol(), variant.arch)).copied()
    }
}

fn embed(files: &ImageFiles) -> TokenStream {
    let bytes = |path: &std::path::Path| {
        let path = path.display().to_string();
        quote!(::core::include_bytes!(#path))
    };
    let ptx = bytes(&files.ptx);
    let cubin = match files.cubin.as_deref().map(bytes) {
        Some(cubin) => quote!(::core::option::Option::Some(#cubin)),
        None => quote!(::core::option::Option::None),
    };
    quote!(::autokernel::__private::Images { ptx: #ptx, cubin: #cubin })
}
