//! A shape that was seen is planned for again without allocating: this test binary counts what its threads allocate.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use autokernel_core::{Grid, KernelStep, LaunchPlan, Residency};
use autokernel_runtime::matmul::extents;
use autokernel_runtime::{
    Arch, ComputeCapability, Dtype, Images, KernelDescriptor, KernelVariant, Plan, Planner, Reason, Target, matmul,
};

mod common;

/// The system's allocator, which counts each thread's allocations.
struct Counting;

thread_local! {
    static COUNT: Cell<usize> = const { Cell::new(0) };
}

// SAFETY: both do what the system's allocator does; a counter of the thread's own, which is never dropped, changes nothing of that.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.with(|count| count.set(count.get() + 1));
        // SAFETY: by the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: by the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(run: impl FnOnce()) -> usize {
    let before = COUNT.with(Cell::get);
    run();
    COUNT.with(Cell::get) - before
}

const TILE: &str = r#"{"family":"sm90","tile_m":16,"tile_n":64,"stages":8,"consumers":1,"mode":"cooperative","cluster_m":1,
    "cluster_n":1,"swap_ab":true,"split_k":1,"raster_order":"along_m","raster_group":1}"#;

fn with_portfolio() -> KernelDescriptor {
    let kernel = KernelStep {
        symbol: "tile".to_owned(),
        threads: 256,
        shared_bytes: 65_536,
        overlaps_previous: false,
        grid: Grid { axes: Vec::new(), cluster: 1, tiles: 1, residency: Residency::OneEach, split: None },
        args: Vec::new(),
    };
    let image = KernelVariant {
        arch: Arch::SM_90A,
        tuned: None,
        portfolio: Some(1.0),
        schedule: TILE.to_owned(),
        plan: LaunchPlan::of_kernel(kernel, Vec::new()),
        image: Some(Images { ptx: b".version 8.0", cubin: Some(b"\x7fELF") }),
    };
    let constants = autokernel_ops::matmul::model::Constants::START;
    let problem = r#"{"operation":"matmul","input":"bf16","output":"bf16","layout":"nt","epilogue":"relu"}"#;
    KernelDescriptor {
        problem: problem.to_owned(),
        model: Some(serde_json::to_string(&constants).unwrap()),
        variants: vec![image],
        not_compiled: None,
        ..common::cpu_only(common::product(Dtype::Bf16, Dtype::Bf16, matmul::Layout::Nt))
    }
}

#[test]
fn a_shape_that_was_seen_is_planned_for_without_an_allocation() {
    let kernel = with_portfolio();
    let target = Target { capability: ComputeCapability::new(9, 0), shared_bytes: 232_448, sheet: Some("h200") };
    let planner = Planner::new(&kernel, target).unwrap();
    let shape = extents(64, 4096, 4096);
    let plan = || {
        let plan = planner.plan(&shape).unwrap();
        assert!(matches!(plan, Plan::Gpu { reason: Reason::Predicted { .. }, .. }));
    };
    assert!(allocations(plan) > 0, "the first choice names the knobs that it sets");
    assert_eq!(allocations(plan), 0);
}
