//! The tokens of a `KernelDescriptor`: the manifest's plan as a constant.

use std::collections::BTreeMap;

use autokernel_codegen::arch::{Arch, Features};
use autokernel_codegen::build::{ImageFiles, Manifest, Plan, Tuned, Variant};
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::problem::Problem;
use autokernel_codegen::schedule::{Family, Geometry, RasterOrder};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

/// `KernelDescriptor { … }` of the kernel `name`.
pub fn descriptor(name: &str, manifest: &Manifest, plan: &Plan) -> TokenStream {
    let problem = problem(&plan.problem);
    let images = Images::collect(&plan.variants);
    let statics = &images.statics;
    let variants: Vec<TokenStream> = plan.variants.iter().map(|variant| images.variant(variant)).collect();
    let not_compiled = optional(manifest.not_compiled.as_ref().map(|reason| borrowed(reason)));
    quote! {{
        use ::autokernel::__private::{
            Arch, Cow, Family, Features, Geometry, KernelDescriptor, ProblemDescriptor, Raster, RasterOrder, Shape,
            Tuned, Variant,
        };
        use ::core::option::Option::{None, Some};
        #(#statics)*
        KernelDescriptor {
            name: Cow::Borrowed(#name),
            problem: #problem,
            variants: Cow::Borrowed(&[#(#variants),*]),
            not_compiled: #not_compiled,
            epilogue,
        }
    }}
}

fn problem(problem: &Problem) -> TokenStream {
    let (input, output) = (dtype(problem.input), dtype(problem.output));
    let transpose_b = problem.layout.transpose_b();
    let known_n = optional(problem.known_n.map(|n| quote!(#n)));
    let known_k = optional(problem.known_k.map(|k| quote!(#k)));
    let epilogue = borrowed(&problem.epilogue.to_string());
    quote! {
        ProblemDescriptor {
            input: #input,
            output: #output,
            transpose_b: #transpose_b,
            known_n: #known_n,
            known_k: #known_k,
            epilogue: #epilogue,
        }
    }
}

/// The images of a plan, each embedded once: variants that differ in the raster alone share theirs.
struct Images {
    statics: Vec<TokenStream>,
    /// (symbol, arch) → the statics that hold PTX and cubin.
    names: BTreeMap<(String, Arch), (Ident, Option<Ident>)>,
}

impl Images {
    fn collect(variants: &[Variant]) -> Self {
        let mut images = Images { statics: Vec::new(), names: BTreeMap::new() };
        for variant in variants {
            let key = (variant.symbol.clone(), variant.arch);
            if let (Some(files), false) = (&variant.image, images.names.contains_key(&key)) {
                let names = images.embed(files);
                images.names.insert(key, names);
            }
        }
        images
    }

    fn embed(&mut self, files: &ImageFiles) -> (Ident, Option<Ident>) {
        let number = self.names.len();
        let mut embed = |kind: &str, path: &std::path::Path| {
            let name = format_ident!("{kind}_{number}");
            let path = path.display().to_string();
            self.statics.push(quote!(static #name: &[u8] = ::core::include_bytes!(#path);));
            name
        };
        let ptx = embed("PTX", &files.ptx);
        let cubin = files.cubin.as_deref().map(|path| embed("CUBIN", path));
        (ptx, cubin)
    }

    fn variant(&self, variant: &Variant) -> TokenStream {
        let (arch, geometry) = (arch(variant.arch), geometry(&variant.geometry));
        let tuned = optional(variant.tuned.as_ref().map(tuned));
        let schedule = serde_json::to_string(&variant.schedule).expect("a schedule has only string keys");
        let (schedule, symbol) = (borrowed(&schedule), borrowed(&variant.symbol));
        let names = self.names.get(&(variant.symbol.clone(), variant.arch));
        let ptx = names.map_or(quote!(&[]), |(ptx, _)| quote!(#ptx));
        let cubin = optional(names.and_then(|(_, cubin)| cubin.as_ref()).map(|cubin| quote!(Cow::Borrowed(#cubin))));
        quote! {
            Variant {
                arch: #arch,
                tuned: #tuned,
                geometry: #geometry,
                schedule: #schedule,
                symbol: #symbol,
                ptx: Cow::Borrowed(#ptx),
                cubin: #cubin,
            }
        }
    }
}

fn arch(arch: Arch) -> TokenStream {
    let (major, minor) = (arch.capability.major, arch.capability.minor);
    let features = match arch.features {
        Features::Baseline => quote!(Features::Baseline),
        Features::Family => quote!(Features::Family),
        Features::Specific => quote!(Features::Specific),
    };
    quote!(Arch::new(#major, #minor, #features))
}

fn geometry(geometry: &Geometry) -> TokenStream {
    let &Geometry { tile_m, tile_n, tile_k, cluster_m, cluster_n, swap_ab, split_k, threads, shared_bytes, .. } =
        geometry;
    let Geometry { family, raster, .. } = geometry;
    let family = match family {
        Family::Sm80 => quote!(Family::Sm80),
        Family::Sm90 => quote!(Family::Sm90),
    };
    let order = match raster.order {
        RasterOrder::AlongM => quote!(RasterOrder::AlongM),
        RasterOrder::AlongN => quote!(RasterOrder::AlongN),
    };
    let group = raster.group;
    quote! {
        Geometry {
            family: #family,
            tile_m: #tile_m,
            tile_n: #tile_n,
            tile_k: #tile_k,
            cluster_m: #cluster_m,
            cluster_n: #cluster_n,
            swap_ab: #swap_ab,
            split_k: #split_k,
            threads: #threads,
            shared_bytes: #shared_bytes,
            raster: Raster::new(#order, #group),
        }
    }
}

fn tuned(tuned: &Tuned) -> TokenStream {
    let [m, n, k] = autokernel_codegen::matmul::sizes(&tuned.extents);
    let from = &tuned.provenance;
    let [gpu, driver, nvcc, date, proposed_by] =
        [&from.gpu, &from.driver, &from.nvcc, &from.date, &from.proposed_by].map(|text| borrowed(text));
    let (median_ms, spread_pct, tflops) = (from.median_ms, from.spread_pct, from.tflops);
    quote! {
        Tuned {
            shape: Shape { m: #m, n: #n, k: #k },
            gpu: #gpu,
            driver: #driver,
            nvcc: #nvcc,
            date: #date,
            median_ms: #median_ms,
            spread_pct: #spread_pct,
            tflops: #tflops,
            proposed_by: #proposed_by,
        }
    }
}

fn dtype(dtype: Dtype) -> TokenStream {
    match dtype {
        Dtype::Bf16 => quote!(::autokernel::__private::Dtype::Bf16),
        Dtype::F16 => quote!(::autokernel::__private::Dtype::F16),
        Dtype::F32 => quote!(::autokernel::__private::Dtype::F32),
    }
}

fn borrowed(text: &str) -> TokenStream {
    quote!(Cow::Borrowed(#text))
}

fn optional(value: Option<TokenStream>) -> TokenStream {
    value.map_or(quote!(None), |value| quote!(Some(#value)))
}
