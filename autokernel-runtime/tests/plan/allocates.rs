//! A shape that was seen is planned for again without allocating: this test binary counts what its threads allocate.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use autokernel_runtime::matmul::extents;
use autokernel_runtime::{Plan, Planner, Reason};

use crate::{H200, with_portfolio};

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

#[test]
fn a_shape_that_was_seen_is_planned_for_without_an_allocation() {
    let kernel = with_portfolio();
    let planner = Planner::new(&kernel, H200.clone()).unwrap();
    let shape = extents(64, 4096, 4096);
    let plan = || {
        let plan = planner.plan(&shape).unwrap();
        assert!(matches!(plan, Plan::Gpu { reason: Reason::Predicted { .. }, .. }));
    };
    assert!(allocations(plan) > 0, "the first choice names the knobs that it sets");
    assert_eq!(allocations(plan), 0);
}
