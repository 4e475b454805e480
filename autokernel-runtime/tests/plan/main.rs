//! Which variant serves which extents on which GPU.

mod allocates;
#[path = "../common/mod.rs"]
mod common;

use std::sync::LazyLock;

use autokernel_core::{Confined, Grid, KernelStep, Portfolio, Provenance, Residency};
use autokernel_runtime::__private::{along_row, matmul_on_cpu};
use autokernel_runtime::matmul::extents;
use autokernel_runtime::{
    Arch, Basis, ComputeCapability, Datasheet, Device, Dtype, Error, Extents, Features, Image, Images, Kernel,
    KernelDescriptor, KernelVariant, LaunchPlan, Matrix, Plan, Planner, Reason, Target, Tuned, bf16, dim, image_for,
    matmul, plan_for, symbol,
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
    Tuned { class: "a product".to_owned(), extents: extents(m, n, k), range: None, provenance }
}

fn variant(arch: Arch, tuned: Option<Tuned>, symbol: &str, shared_bytes: u32) -> KernelVariant {
    let kernel = KernelStep {
        symbol: symbol.to_owned(),
        threads: 256,
        shared_bytes,
        overlaps_previous: false,
        grid: Grid { axes: Vec::new(), cluster: 1, tiles: 1, residency: Residency::OneEach, split: None },
        args: Vec::new(),
    };
    let plan = LaunchPlan::of_kernel(kernel, Vec::new());
    let image = Some(Images { ptx: PTX, cubin: Some(CUBIN) });
    KernelVariant { arch, tuned, portfolio: None, schedule: "{}".to_owned(), plan, image }
}

fn with_variants(variants: Vec<KernelVariant>) -> KernelDescriptor {
    let signature = common::product(Dtype::Bf16, Dtype::Bf16, matmul::Layout::Nt);
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

static H200: LazyLock<Target> = LazyLock::new(|| gpu("h200"));
static A100: LazyLock<Target> = LazyLock::new(|| gpu("a100"));
static RTX_4090: LazyLock<Target> = LazyLock::new(|| gpu("rtx4090"));
static B200: LazyLock<Target> = LazyLock::new(|| gpu("b200"));

fn gpu(key: &str) -> Target {
    Target::of_sheet(Datasheet::find(key).unwrap())
}

fn chosen(target: &Target, m: u32, n: u32, k: u32) -> (String, Reason, &'static str) {
    match plan_for(&LINEAR, target.clone(), &extents(m, n, k)).unwrap() {
        Plan::Gpu { variant, reason, image, .. } => (symbol(&variant.plan).to_owned(), reason, image.kind()),
        other => panic!("no GPU plan: {other:?}"),
    }
}

#[test]
fn a_tuned_shape_gets_its_own_schedule() {
    assert_eq!(chosen(&H200, 8192, 8192, 8192), ("sm90_8192".into(), Reason::Exact, "cubin"));
}

#[test]
fn other_shapes_get_the_nearest_in_log_space() {
    // 2896 is the geometric mean of 1024 and 8192; by differences, 4000 would be nearer to 1024.
    for (size, symbol) in [(2890, "sm90_1024"), (2900, "sm90_8192"), (4000, "sm90_8192"), (1, "sm90_1024")] {
        let (chosen, reason, _) = chosen(&H200, size, size, size);
        assert_eq!(chosen, symbol, "{size}");
        assert!(matches!(reason, Reason::Nearest { distance } if distance > 0.0));
    }
}

#[test]
fn an_entry_for_a_range_serves_its_sizes_but_those_that_have_an_entry_of_their_own_and_the_narrowest_comes_first() {
    let ranged = |m, range: &str| Some(Tuned { range: Some(range.parse().unwrap()), ..tuned(m, 4096, 4096) });
    let kernel = with_variants(vec![
        variant(Arch::SM_90A, ranged(64, "m=1..=256"), "wide", 200_000),
        variant(Arch::SM_90A, ranged(64, "m=1..=64"), "narrow", 200_000),
        variant(Arch::SM_90A, ranged(70, "m=60..=70"), "narrowest", 200_000),
        variant(Arch::SM_90A, Some(tuned(16, 4096, 4096)), "own", 200_000),
    ]);
    let chosen = |m, n| match plan_for(&kernel, H200.clone(), &extents(m, n, 4096)).unwrap() {
        Plan::Gpu { variant, reason, .. } => (symbol(&variant.plan).to_owned(), reason),
        other => panic!("no GPU plan: {other:?}"),
    };
    assert_eq!(chosen(16, 4096), ("own".into(), Reason::Exact));
    assert_eq!(chosen(17, 4096), ("narrow".into(), Reason::Range));
    assert_eq!(chosen(71, 4096), ("wide".into(), Reason::Range));
    assert_eq!(chosen(64, 4096), ("narrowest".into(), Reason::Range), "the last size of two wider ones as any other");
    assert!(matches!(chosen(257, 4096).1, Reason::Nearest { .. }));
    assert!(matches!(chosen(17, 4095).1, Reason::Nearest { .. }), "only the range's own dimension varies");
    let plan = plan_for(&kernel, H200.clone(), &extents(17, 4096, 4096)).unwrap().to_string();
    assert!(plan.contains("tuned for m = 1 to 64 on NVIDIA H200"), "{plan}");
}

#[test]
fn hopper_prefers_its_own_instructions_and_other_gpus_never_see_them() {
    assert!(chosen(&H200, 4096, 4096, 4096).0.starts_with("sm90"));
    assert_eq!(chosen(&A100, 4096, 4096, 4096), ("sm80_4096".into(), Reason::Exact, "cubin"));
    assert_eq!(chosen(&B200, 4096, 4096, 4096), ("sm80_4096".into(), Reason::Exact, "PTX"));
}

#[test]
fn a_schedule_that_needs_more_shared_memory_than_the_gpu_has_is_passed_over() {
    assert_eq!(chosen(&A100, 512, 512, 512).0, "sm80_512_wide");
    assert_eq!(chosen(&RTX_4090, 512, 512, 512).0, "sm80_4096");
}

#[test]
fn without_a_tuned_schedule_the_default_is_used_and_says_so() {
    let defaults = [variant(Arch::SM_90A, None, "sm90_default", 0), variant(Arch::SM_80, None, "sm80_default", 0)];
    let descriptor = with_variants(defaults.to_vec());
    let plan = plan_for(&descriptor, H200.clone(), &extents(5, 6, 7)).unwrap();
    assert!(matches!(&plan, Plan::Gpu { reason: Reason::Default, .. }));
    assert_eq!(plan.to_string(), "sm90_default (cubin for sm_90a): the safe default, as nothing was tuned for sm_90a");
}

#[test]
fn the_first_of_equally_near_schedules_is_used() {
    let twins = ["first", "second"].map(|symbol| variant(Arch::SM_80, Some(tuned(128, 64, 32)), symbol, 0));
    let descriptor = with_variants(twins.to_vec());
    let plan = plan_for(&descriptor, A100.clone(), &extents(100, 100, 0)).unwrap();
    assert!(matches!(plan, Plan::Gpu { variant, .. } if symbol(&variant.plan) == "first"));
}

#[test]
fn a_gpu_that_nothing_was_compiled_for_is_told_what_there_is() {
    let turing = Target { capability: ComputeCapability::new(7, 5), shared_bytes: 65_536, ..H200.clone() };
    let error = plan_for(&LINEAR, turing, &extents(1, 1, 1)).unwrap_err();
    assert!(matches!(error, Error::WrongArch { .. }));
    let text = error.to_string();
    assert!(text.contains("sm_80, sm_90a") && text.contains("7.5") && text.contains("AUTOKERNEL_ARCHS"), "{text}");
}

#[test]
fn a_kernel_of_one_arch_alone_says_so_wherever_it_has_no_image() {
    let why = "i4x2 weights are multiplied by Hopper's instructions";
    let confined = || Some(Confined { arch: Arch::SM_90A, why: why.to_owned() });
    let refused = |kernel: &KernelDescriptor, target: &Target| {
        plan_for(kernel, target.clone(), &extents(1, 1, 1)).unwrap_err().to_string()
    };
    let for_hopper = with_variants(vec![variant(Arch::SM_90A, None, "sm90_default", 0)]);
    let on_ada = refused(&KernelDescriptor { confined: confined(), ..for_hopper }, &RTX_4090);
    assert!(on_ada.contains("Only `sm_90a` has kernels") && on_ada.contains(why), "{on_ada}");
    assert!(!on_ada.contains("sm_80") && on_ada.contains("Device::cpu()"), "{on_ada}");

    let for_nothing = KernelDescriptor { confined: confined(), ..with_variants(Vec::new()) };
    for target in [&*RTX_4090, &*H200] {
        let without = refused(&for_nothing, target);
        assert!(without.contains(why) && without.contains("Name `sm_90a` in AUTOKERNEL_ARCHS"), "{without}");
        assert!(!without.contains("nvcc"), "{without}");
    }
}

#[test]
fn a_build_without_images_hands_its_reason_on() {
    let descriptor = common::cpu_only(common::product(Dtype::Bf16, Dtype::Bf16, matmul::Layout::Nn));
    let error = plan_for(&descriptor, H200.clone(), &extents(1, 1, 1)).unwrap_err();
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
    let exact = plan_for(&LINEAR, H200.clone(), &extents(8192, 8192, 8192)).unwrap().to_string();
    let wanted =
        "sm90_8192 (cubin for sm_90a): tuned for this shape on NVIDIA H200, 2026-11-21: 0.2000 ms, 700.0 TFLOP/s";
    assert_eq!(exact, wanted);
    let nearest = plan_for(&LINEAR, H200.clone(), &extents(8192, 8192, 4096)).unwrap().to_string();
    assert!(nearest.contains("nearest shape, 8192x8192x8192 (2.00x away)"), "{nearest}");
}

#[test]
fn on_the_cpu_the_plan_is_the_cpu_and_needs_no_image() {
    let cpu: autokernel_runtime::CpuFunction =
        |arguments| matmul_on_cpu(arguments, matmul::Layout::Nt, |sums| along_row::leaky_relu(sums, 0.01));
    // SAFETY: nothing here is ever loaded; the CPU does not look at images.
    let linear = unsafe { Kernel::<bf16, bf16>::from_descriptor(LINEAR.clone(), cpu) };
    assert!(matches!(linear.plan(&Device::cpu(), &extents(1, 2, 3)).unwrap(), Plan::Cpu));
    linear.prepare(&Device::cpu(), &extents(1, 2, 3)).unwrap();
}

#[test]
fn autotuning_on_the_cpu_is_a_launch() {
    let cpu: autokernel_runtime::CpuFunction = |arguments| matmul_on_cpu(arguments, matmul::Layout::Nt, |_| ());
    // SAFETY: nothing here is ever loaded; the CPU does not look at images.
    let linear = unsafe { Kernel::<bf16, bf16>::from_descriptor(LINEAR.clone(), cpu) };
    let device = Device::cpu();
    let [x, w] = [3.0, 5.0].map(|of| Matrix::from_slice(&device, &[bf16::from_f32(of); 2], 1, 2).unwrap());
    let mut out = Matrix::zeros(&device, 1, 1).unwrap();
    assert!(matches!(linear.autotune(&x, &w, &mut out).unwrap(), Plan::Cpu));
    assert_eq!(out.to_vec().unwrap(), [bf16::from_f32(30.0)]);
    assert!(matches!(
        linear.autotune(&x, &x, &mut Matrix::zeros(&device, 2, 1).unwrap()),
        Err(Error::ShapeMismatch { .. })
    ));
}

/// An image of a portfolio, with the schedule that a build would embed.
fn portfolio_image(symbol: &str, schedule: &str) -> KernelVariant {
    let schedule = schedule.to_owned();
    KernelVariant { portfolio: Some(1.0), schedule, ..variant(Arch::SM_90A, None, symbol, 220_000) }
}

const LARGE: &str = r#"{"family":"sm90","tile_m":128,"tile_n":128,"stages":4,"consumers":2,"mode":"cooperative","cluster_m":1,
    "cluster_n":1,"swap_ab":false,"split_k":1,"raster_order":"along_m","raster_group":1}"#;
const SMALL: &str = r#"{"family":"sm90","tile_m":16,"tile_n":64,"stages":8,"consumers":1,"mode":"cooperative","cluster_m":1,
    "cluster_n":1,"swap_ab":true,"split_k":1,"raster_order":"along_m","raster_group":1}"#;

fn with_portfolio() -> KernelDescriptor {
    let problem = r#"{"operation":"matmul","input":"bf16","output":"bf16","layout":"nt","epilogue":"relu"}"#;
    let constants = autokernel_ops::matmul::model::Constants::START;
    let model = Some(serde_json::to_string(&constants).unwrap());
    KernelDescriptor {
        problem: problem.to_owned(),
        portfolios: vec![Portfolio { arch: Arch::SM_90A, model, gpus: vec!["NVIDIA H200".to_owned()] }],
        ..with_variants(vec![
            portfolio_image("large", LARGE),
            portfolio_image("small", SMALL),
            variant(Arch::SM_90A, Some(tuned(8192, 8192, 8192)), "tuned", 220_000),
        ])
    }
}

#[test]
fn a_shape_that_nobody_tuned_gets_the_image_that_is_predicted_to_be_fastest_and_not_the_nearest_entry() {
    let kernel = with_portfolio();
    for (m, expected) in [(8, "small"), (4096, "large")] {
        let plan = plan_for(&kernel, H200.clone(), &extents(m, 8192, 8192)).unwrap();
        let Plan::Gpu { variant, reason: Reason::Predicted { ms, second }, .. } = &plan else { panic!("{plan}") };
        assert_eq!(symbol(&variant.plan), expected);
        assert!(*ms > 0.0 && second.is_some_and(|(_, second)| second >= *ms));
        let words = plan.to_string();
        assert!(words.contains("predicted to be fastest of the portfolio") && words.contains("; next "), "{words}");
    }
    let plan = plan_for(&kernel, H200.clone(), &extents(8192, 8192, 8192)).unwrap();
    assert!(matches!(&plan, Plan::Gpu { variant, reason: Reason::Exact, .. } if symbol(&variant.plan) == "tuned"));
}

/// The symbol of the variant that is chosen at the shape that was tuned on an H200, and why.
fn at_the_tuned_shape(kernel: &KernelDescriptor, target: &Target) -> (String, Reason) {
    match plan_for(kernel, target.clone(), &extents(8192, 8192, 8192)).unwrap() {
        Plan::Gpu { variant, reason, .. } => (symbol(&variant.plan).to_owned(), reason),
        other => panic!("no GPU plan: {other:?}"),
    }
}

#[test]
fn what_was_tuned_on_another_gpu_loses_to_a_model_that_was_fitted_to_the_arch_and_to_nothing_else() {
    let is_model = |(_, reason): &(String, Reason)| matches!(reason, Reason::Predicted { .. });
    let (h100, h200) = (gpu("h100"), gpu("h200"));
    let fitted = with_portfolio();
    assert_eq!(at_the_tuned_shape(&fitted, &h200), ("tuned".to_owned(), Reason::Exact));
    assert!(is_model(&at_the_tuned_shape(&fitted, &h100)));

    let mut ranged = with_portfolio();
    ranged.variants[2].tuned.as_mut().unwrap().range = Some("m=4096..=8192".parse().unwrap());
    assert_eq!(at_the_tuned_shape(&ranged, &h200).1, Reason::Range);
    assert!(is_model(&at_the_tuned_shape(&ranged, &h100)));

    let mut estimated = with_portfolio();
    estimated.portfolios[0].gpus.clear();
    let without = KernelDescriptor { variants: vec![fitted.variants[2].clone()], ..with_portfolio() };
    let mut by_hand = with_portfolio();
    by_hand.variants[2].tuned.as_mut().unwrap().provenance.gpu = "none: for all of them".to_owned();
    for kernel in [estimated, without, by_hand] {
        assert_eq!(at_the_tuned_shape(&kernel, &h100), ("tuned".to_owned(), Reason::Exact));
    }
}

#[test]
fn a_gpu_without_a_datasheet_prefers_what_was_tuned_on_it() {
    let h20 = Target { name: "NVIDIA H20".to_owned(), sm_count: 78, ..gpu("h100") };
    let mut kernel = with_portfolio();
    let mut own = variant(Arch::SM_90A, Some(tuned(8192, 8192, 8192)), "own", 220_000);
    own.tuned.as_mut().unwrap().provenance.gpu.clone_from(&h20.name);
    kernel.variants.push(own);
    assert_eq!(at_the_tuned_shape(&kernel, &h20), ("own".to_owned(), Reason::Exact));
    assert_eq!(at_the_tuned_shape(&kernel, &H200).0, "tuned");
}

#[test]
fn a_prediction_says_where_what_it_rests_on_was_measured() {
    let says = |kernel: &KernelDescriptor, target: &Target| {
        let plan = plan_for(kernel, target.clone(), &extents(8, 8192, 8192)).unwrap();
        let Plan::Gpu { basis, .. } = &plan else { panic!("{plan}") };
        let known = match basis.unwrap() {
            Basis::ThisGpu => "here",
            Basis::Others(_) => "elsewhere",
            Basis::Estimates => "nowhere",
        };
        let words = plan.to_string();
        let (_, behind) = words.rsplit_once(" ms").unwrap();
        (known, behind.to_owned())
    };
    let fitted = with_portfolio();
    assert_eq!(says(&fitted, &H200), ("here", String::new()));
    assert_eq!(says(&fitted, &gpu("gh200")), ("elsewhere", "; by measurements on NVIDIA H200".to_owned()));
    let mut estimated = with_portfolio();
    estimated.portfolios[0].gpus.clear();
    assert_eq!(says(&estimated, &H200), ("nowhere", "; never measured on this GPU".to_owned()));
}

#[test]
fn a_portfolio_whose_model_cannot_be_read_leaves_the_nearest_entry() {
    let mut kernel = with_portfolio();
    kernel.portfolios[0].model = Some("{}".to_owned());
    let plan = plan_for(&kernel, H200.clone(), &extents(8, 8192, 8192)).unwrap();
    assert!(matches!(plan, Plan::Gpu { reason: Reason::Nearest { .. }, .. }));
}

#[test]
fn a_planner_plans_the_first_time_and_again_what_is_planned_for_once() {
    let kernel = with_portfolio();
    let planner = Planner::new(&kernel, H200.clone()).unwrap();
    for m in [8, 4096, 8, 8192, 4096] {
        let once = plan_for(&kernel, H200.clone(), &extents(m, 8192, 8192)).unwrap().to_string();
        assert_eq!(planner.plan(&extents(m, 8192, 8192)).unwrap().to_string(), once);
    }
    assert!(matches!(planner.plan(&Extents::new([(dim("m"), 8)])), Err(Error::Dimensions { .. })));
    assert!(matches!(planner.plan(&batched(2)), Err(Error::Dimensions { .. })), "one dimension more");
    assert!(matches!(
        Planner::new(&KernelDescriptor { variants: Vec::new(), ..kernel }, H200.clone()),
        Err(Error::NotCompiled { .. })
    ));
}

fn batched(batch: u32) -> Extents {
    matmul::batched_extents(batch, 8, 8, 8)
}
