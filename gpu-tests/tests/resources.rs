//! What nvcc said of every kernel that these tests declare.

use std::collections::HashSet;
use std::path::Path;

use autokernel::KernelDescriptor;
use autokernel_codegen::arch::Arch;
use autokernel_codegen::build::{Manifest, Variant};
use autokernel_codegen::problem::Problem;
use gpu_tests::bodies::{declared as bodies, derived};
use gpu_tests::kernels::catalogue;
use gpu_tests::rows::declared::declared_here;
use gpu_tests::{block_scales, in_place, made_scales, packing, skip, weights};

/// Whether the build was asked for few images of each kernel, as the check's is and a soak's is not.
const FEW_IMAGES: bool = matches!(option_env!("AUTOKERNEL_IMAGES"), Some(most) if !most.is_empty());

/// Registers of one multiprocessor on every GPU since sm_80.
const REGISTER_FILE: u32 = 65_536;

fn manifest(test: &str) -> Option<Manifest> {
    let manifest = Manifest::load(Path::new(env!("AUTOKERNEL_MANIFEST"))).unwrap();
    if let Some(reason) = &manifest.not_compiled {
        skip::log(test, reason);
        return None;
    }
    Some(manifest)
}

#[test]
fn every_kernel_compiles_for_sm_80_and_sm_90a_without_a_spill() {
    let Some(manifest) = manifest("resources::every_kernel_compiles_for_sm_80_and_sm_90a_without_a_spill") else {
        return;
    };
    let mut offenders = Vec::new();
    for plan in manifest.plans.values() {
        let class = plan.problem.class();
        for arch in [Arch::SM_80, Arch::SM_90A].into_iter().filter(|arch| !class.families(*arch).is_empty()) {
            assert!(plan.variants.iter().any(|variant| variant.arch == arch), "{}: none for {arch}", plan.problem);
        }
        for variant in &plan.variants {
            let Variant { arch, schedule, image, plan: launch, .. } = variant;
            let symbol = variant.symbol();
            let report = image.as_ref().unwrap_or_else(|| panic!("{symbol} has no image")).report;
            let fits = launch.kernels.iter().all(|kernel| report.registers * kernel.threads <= REGISTER_FILE);
            // Sine and cosine keep the digits of large arguments on a stack.
            let has_stack = report.stack_bytes > 0 && plan.problem.as_product().is_some();
            let spills = report.spills() || has_stack;
            // Of few images one that spills may be the only one, of which the build warns.
            let is_only = plan.variants.iter().filter(|it| it.arch == *arch).count() == 1;
            if (spills && !(FEW_IMAGES && is_only)) || !fits {
                offenders.push(format!("{}, {arch}, {schedule}: {report:?}", plan.problem));
            }
        }
    }
    assert!(offenders.is_empty(), "{} kernels spill:\n{}", offenders.len(), offenders.join("\n"));
}

#[test]
fn every_declared_kernel_holds_the_variants_of_its_plan() {
    let test = "resources::every_declared_kernel_holds_the_variants_of_its_plan";
    let Some(manifest) = manifest(test) else { return };
    let products: Vec<&KernelDescriptor> = catalogue().iter().map(|kernel| kernel.descriptor()).collect();
    let rows: Vec<&KernelDescriptor> =
        declared_here().iter().map(|declared| declared.kernel.descriptor().unwrap()).collect();
    let bodies: Vec<&KernelDescriptor> =
        bodies::catalogue().iter().map(|declared| declared.kernel.descriptor().unwrap()).collect();
    let of_gradients = derived::derived_rows().map(|(_, kernel)| kernel);
    let others = weights::KERNELS
        .into_iter()
        .chain(block_scales::KERNELS)
        .chain(made_scales::KERNELS)
        .chain(of_gradients)
        .chain(in_place::kernels())
        .chain(packing::kernels());
    let others: Vec<&KernelDescriptor> = others.map(|kernel| kernel.descriptor().unwrap()).collect();
    // Those of attention say themselves what they hold (`declared_attention`).
    let counted = manifest.plans.values().filter(|plan| !matches!(plan.problem, Problem::Attention(_))).count();
    assert_eq!(products.len() + rows.len() + bodies.len() + others.len(), counted);
    let symbols_of_plans: Vec<Vec<&str>> =
        manifest.plans.values().map(|plan| plan.variants.iter().map(|variant| variant.symbol()).collect()).collect();
    let is_measured = |variant: &Variant| variant.tuned.is_some() || variant.portfolio.is_some();
    let measured: HashSet<&str> = manifest
        .plans
        .values()
        .flat_map(|plan| &plan.variants)
        .filter(|it| is_measured(it))
        .map(Variant::symbol)
        .collect();
    for descriptor in products.into_iter().chain(rows).chain(bodies).chain(others) {
        let variants = &descriptor.variants;
        let symbols: Vec<&str> = variants.iter().map(|variant| autokernel::symbol(&variant.plan)).collect();
        assert!(symbols_of_plans.contains(&symbols), "{}: {symbols:?}", descriptor.name);
        for variant in variants {
            let images = variant.image.expect("there was an nvcc");
            // A default may be the image that something measured has, too.
            let has_code = measured.contains(autokernel::symbol(&variant.plan));
            assert!(!images.ptx.is_empty() && images.cubin.is_some() == has_code, "{variant:?}");
        }
    }
}
