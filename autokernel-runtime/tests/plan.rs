//! Which variant serves which extents on which GPU.

mod common;

use std::sync::LazyLock;

use autokernel_core::{Grid, KernelStep, Provenance, Residency};
use autokernel_runtime::matmul::extents;
use autokernel_runtime::{
    Arch, ComputeCapability, Device, Dtype, Error, Features, Image, Images, Kernel, KernelDescriptor, KernelVariant,
    LaunchPlan, Plan, Reason, Target, Tuned, bf16, image_for, matmul, plan_for, symbol,
};

const PTX: &[u8] = b".version 8.0";
const CUBIN: &[u8] = b"\x7fELF";

fn tuned(m: u32, n: u32, k: u32) -> Tuned {
    let provenance = Provenance {
        gpu: "NVIDIA H200".to_owned(),
        driver: "580.159".to_owned(),
        nvcc: "13.0".to_owned(),
        sources: None,
        date: "2026-11-21".to_owned(),
        median_ms: 0.2,
        spread_pct: 0.5,
        tflops: 700.0,
        samples: 30,
        final_rounds: 0,
        proposed_by: "random".to_owned(),
    };
    Tuned { class: "a product".to_owned(), extents: extents(m, n, k), provenance }
}

fn variant(arch: Arch, tuned: Option<Tuned>, symbol: &str, shared_bytes: u32) -> KernelVariant {
    let kernel = KernelStep {
        symbol: symbol.to_owned(),
        threads: 256,
        shared_bytes,
        overlaps_previous: false,
        grid: Grid { axes: Vec::new(), cluster: 1, tiles: 1, residency: Residency::OneEach },
        args: Vec::new(),
    };
    let plan = LaunchPlan::of_kernel(kernel, Vec::new());
    let image = Some(Images { ptx: PTX, cubin: Some(CUBIN) });
    KernelVariant { arch, tuned, schedule: "{}".to_owned(), plan, image }
}

fn with_variants(variants: Vec<KernelVariant>) -> KernelDescriptor {
    let signature = common::product(Dtype::Bf16, Dtype::Bf16, true);
    KernelDescriptor { variants, not_compiled: None, ..common::cpu_only(signature) }
}

static LINEAR: LazyLock<KernelDescriptor> = LazyLock::new(|| {
    with_variants(vec![
        variant(Arch::SM_80, None, "sm80_default", 65_536),
        variant(Arch::SM_80, Some(tuned(4096, 4096, 4096)), "sm80_4096", 98_304),
        variant(Arch::SM_80, Some(tuned(512, 512, 512)), "sm80_512_wide", 166_912),
        variant(Arch::SM_90A, None, "sm90_default", 200_000),
        variant(Arch::SM_90A, Some(tuned(8192, 8192, 8192)), "sm90_8192", 220_000),
        variant(Arch::SM_90A, Some(tuned(1024, 1024, 1024)), "sm90_1024", 220_000),
    ])
});

const H200: Target = Target { capability: ComputeCapability::new(9, 0), shared_bytes: 232_448 };
const A100: Target = Target { capability: ComputeCapability::new(8, 0), shared_bytes: 166_912 };
const RTX_4090: Target = Target { capability: ComputeCapability::new(8, 9), shared_bytes: 101_376 };
const B200: Target = Target { capability: ComputeCapability::new(10, 0), shared_bytes: 232_448 };

fn chosen(target: Target, m: u32, n: u32, k: u32) -> (String, Reason, &'static str) {
    match plan_for(&LINEAR, target, &extents(m, n, k)).unwrap() {
        Plan::Gpu { variant, reason, image, .. } => (symbol(&variant.plan).to_owned(), reason, image.kind()),
        other => panic!("no GPU plan: {other:?}"),
    }
}

#[test]
fn a_tuned_shape_gets_its_own_schedule() {
    assert_eq!(chosen(H200, 8192, 8192, 8192), ("sm90_8192".into(), Reason::Exact, "cubin"));
}

#[test]
fn other_shapes_get_the_nearest_in_log_space() {
    // 2896 is the geometric mean of 1024 and 8192; by differences, 4000 would be nearer to 1024.
    for (size, symbol) in [(2890, "sm90_1024"), (2900, "sm90_8192"), (4000, "sm90_8192"), (1, "sm90_1024")] {
        let (chosen, reason, _) = chosen(H200, size, size, size);
        assert_eq!(chosen, symbol, "{size}");
        assert!(matches!(reason, Reason::Nearest { distance } if distance > 0.0));
    }
}

#[test]
fn hopper_prefers_its_own_instructions_and_other_gpus_never_see_them() {
    assert!(chosen(H200, 4096, 4096, 4096).0.starts_with("sm90"));
    assert_eq!(chosen(A100, 4096, 4096, 4096), ("sm80_4096".into(), Reason::Exact, "cubin"));
    assert_eq!(chosen(B200, 4096, 4096, 4096), ("sm80_4096".into(), Reason::Exact, "PTX"));
}

#[test]
fn a_schedule_that_needs_more_shared_memory_than_the_gpu_has_is_passed_over() {
    assert_eq!(chosen(A100, 512, 512, 512).0, "sm80_512_wide");
    assert_eq!(chosen(RTX_4090, 512, 512, 512).0, "sm80_4096");
}

#[test]
fn without_a_tuned_schedule_the_default_is_used_and_says_so() {
    let defaults = [variant(Arch::SM_90A, None, "sm90_default", 0), variant(Arch::SM_80, None, "sm80_default", 0)];
    let descriptor = with_variants(defaults.to_vec());
    let plan = plan_for(&descriptor, H200, &extents(5, 6, 7)).unwrap();
    assert!(matches!(&plan, Plan::Gpu { reason: Reason::Default, .. }));
    assert_eq!(plan.to_string(), "sm90_default (cubin for sm_90a): the safe default, as nothing was tuned for sm_90a");
}

#[test]
fn the_first_of_equally_near_schedules_is_used() {
    let twins = ["first", "second"].map(|symbol| variant(Arch::SM_80, Some(tuned(128, 64, 32)), symbol, 0));
    let descriptor = with_variants(twins.to_vec());
    let plan = plan_for(&descriptor, A100, &extents(100, 100, 0)).unwrap();
    assert!(matches!(plan, Plan::Gpu { variant, .. } if symbol(&variant.plan) == "first"));
}

#[test]
fn a_gpu_that_nothing_was_compiled_for_is_told_what_there_is() {
    let turing = Target { capability: ComputeCapability::new(7, 5), shared_bytes: 65_536 };
    let error = plan_for(&LINEAR, turing, &extents(1, 1, 1)).unwrap_err();
    assert!(matches!(error, Error::WrongArch { .. }));
    let text = error.to_string();
    assert!(text.contains("sm_80, sm_90a") && text.contains("7.5") && text.contains("best_config.json"), "{text}");
}

#[test]
fn a_build_without_images_hands_its_reason_on() {
    let descriptor = common::cpu_only(common::product(Dtype::Bf16, Dtype::Bf16, false));
    let error = plan_for(&descriptor, H200, &extents(1, 1, 1)).unwrap_err();
    assert!(error.to_string().contains("no nvcc was found; set AUTOKERNEL_NVCC"), "{error}");
}

#[test]
fn machine_code_is_preferred_and_ptx_is_the_way_out() {
    let full = variant(Arch::SM_80, None, "full", 0);
    assert_eq!(image_for(&full, A100.capability), Some(Image::Cubin(CUBIN)));
    assert_eq!(image_for(&full, H200.capability), Some(Image::Ptx(PTX)));
    let with = |ptx, cubin| KernelVariant { image: Some(Images { ptx, cubin }), ..full.clone() };
    assert_eq!(image_for(&with(b"", Some(CUBIN)), H200.capability), None);
    let without_cubin = with(PTX, None);
    assert_eq!(image_for(&without_cubin, A100.capability), Some(Image::Ptx(PTX)));
    let sm_89 = KernelVariant { arch: Arch::new(8, 9, Features::Baseline), ..without_cubin };
    assert_eq!(image_for(&sm_89, A100.capability), None);
    assert_eq!(image_for(&KernelVariant { image: None, ..full }, A100.capability), None);
}

#[test]
fn a_plan_reads_as_one_sentence_with_its_provenance() {
    let exact = plan_for(&LINEAR, H200, &extents(8192, 8192, 8192)).unwrap().to_string();
    let wanted =
        "sm90_8192 (cubin for sm_90a): tuned for this shape on NVIDIA H200, 2026-11-21: 0.2000 ms, 700.0 TFLOP/s";
    assert_eq!(exact, wanted);
    let nearest = plan_for(&LINEAR, H200, &extents(8192, 8192, 4096)).unwrap().to_string();
    assert!(nearest.contains("nearest shape, 8192x8192x8192 (2.00x away)"), "{nearest}");
}

#[test]
fn on_the_cpu_the_plan_is_the_cpu_and_needs_no_image() {
    let cpu: autokernel_runtime::CpuFunction = |arguments| matmul::on_cpu(arguments, true, common::leaky_relu);
    // SAFETY: nothing here is ever loaded; the CPU does not look at images.
    let linear = unsafe { Kernel::<bf16, bf16>::from_descriptor(LINEAR.clone(), cpu) };
    assert!(matches!(linear.plan(&Device::cpu(), extents(1, 2, 3)).unwrap(), Plan::Cpu));
    linear.prepare(&Device::cpu(), extents(1, 2, 3)).unwrap();
}
