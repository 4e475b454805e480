//! Each check, on the smallest kernel that shows it, and on its right twin.

use autokernel_emulator::{
    Access, Arch, Checks, Fault, FaultKind, Gpu, Launch, MbarrierFault, Module, Options, RunError,
};

/// A kernel around `body`. `%rd0` is the address of 256 bytes that hold zeros; `%rd1` that of 100 bytes that nobody
/// wrote; `%r0` is the thread. `tile` is 512 bytes of shared memory, `barrier` an mbarrier's.
struct Run {
    body: &'static str,
    blocks: u32,
    cluster: u32,
    threads: u32,
    seed: u64,
    overlaps: bool,
}

fn one(body: &'static str) -> Run {
    Run { body, blocks: 1, cluster: 1, threads: 1, seed: 0, overlaps: false }
}

fn warp(body: &'static str) -> Run {
    Run { threads: 32, ..one(body) }
}

fn block(body: &'static str) -> Run {
    Run { threads: 128, ..one(body) }
}

impl Run {
    fn text(&self) -> String {
        format!(
            ".version 8.0\n.target sm_90a\n.address_size 64\n\
             .visible .entry k(.param .u64 a, .param .u64 b, .param .align 64 .b8 map[128])\n{{\n\
             .reg .pred %p<8>; .reg .b16 %h<4>; .reg .b32 %r<24>; .reg .f32 %f<16>; .reg .b64 %rd<8>;\n\
             .shared .align 1024 .b8 tile[512]; .shared .align 8 .b64 barrier; .local .align 4 .b8 mine[8];\n\
             ld.param.u64 %rd0, [a]; ld.param.u64 %rd1, [b]; mov.u32 %r0, %tid.x;\n\
             mov.u32 %r1, tile; mov.u32 %r2, barrier;\n{}\nret;\n}}\n",
            self.body
        )
    }

    fn run(&self) -> Result<(), Box<Fault>> {
        self.run_with(&Options { seed: self.seed, instruction_budget: 100_000, ..Options::default() })
    }

    fn run_with(&self, options: &Options) -> Result<(), Box<Fault>> {
        let module = Module::parse(&self.text()).unwrap_or_else(|error| panic!("{error}"));
        let mut gpu = Gpu::new(Arch::Sm90a);
        let a = gpu.upload("a", &[0; 256]).unwrap();
        let b = gpu.alloc_named("b", 100).unwrap();
        let mut parameters: Vec<u8> = [a.0, b.0].into_iter().flat_map(u64::to_le_bytes).collect();
        parameters.resize(192, 0);
        let launch = Launch {
            grid: [self.blocks, 1, 1],
            block: [self.threads, 1, 1],
            cluster: Some([self.cluster, 1, 1]),
            dynamic_shared: 0,
            overlaps_previous: self.overlaps,
            parameters,
        };
        match gpu.launch(&module, "k", &launch, options) {
            Ok(_) => Ok(()),
            Err(RunError::Fault(fault)) => Err(fault),
            Err(RunError::Launch(error)) => panic!("{error}"),
        }
    }

    /// Runs without a fault, in several orders of events.
    fn clean(mut self) {
        for seed in 0..5 {
            self.seed = seed;
            self.run().unwrap_or_else(|fault| panic!("seed {seed}: {fault}"));
        }
    }

    fn fault(&self) -> FaultKind {
        self.run().expect_err("a fault").kind
    }
}

macro_rules! assert_kind {
    ($run:expr, $pattern:pat $(if $guard:expr)?) => {
        let kind = $run.fault();
        assert!(matches!(kind, $pattern $(if $guard)?), "{kind}");
    };
}

// ---- bounds, alignment, what was written ----

#[test]
fn the_byte_after_an_allocation_is_out_of_bounds() {
    one("st.global.b8 [%rd1+99], 1;").clean();
    assert_kind!(one("st.global.b8 [%rd1+100], 1;"), FaultKind::OutOfBounds { access: Access::Write, .. });
    assert_kind!(one("st.global.b32 [%rd1+100], 1;"), FaultKind::OutOfBounds { bytes: 4, .. });
    assert_kind!(one("ld.global.b8 %r3, [%rd0+-1];"), FaultKind::OutOfBounds { access: Access::Read, .. });
}

#[test]
fn shared_local_and_parameter_memory_have_bounds_too() {
    assert_kind!(one("ld.shared.b32 %r3, [%r1+520];"), FaultKind::OutOfBounds { space: "shared", .. });
    assert_kind!(one("st.local.b32 [mine+8], 1;"), FaultKind::OutOfBounds { space: "local", .. });
    assert_kind!(one("ld.param.u64 %rd2, [a+192];"), FaultKind::OutOfBounds { space: "parameter", .. });
}

#[test]
fn an_address_must_be_a_multiple_of_the_access() {
    assert_kind!(one("ld.global.b32 %r3, [%rd0+2];"), FaultKind::Misaligned { alignment: 4, .. });
    assert_kind!(one("ld.global.v4.b32 {%r3, %r4, %r5, %r6}, [%rd0+8];"), FaultKind::Misaligned { alignment: 16, .. });
}

#[test]
fn what_nobody_wrote_is_not_read() {
    one("st.global.b32 [%rd1], 5; ld.global.b32 %r3, [%rd1];").clean();
    assert_kind!(one("st.global.b16 [%rd1], 5; ld.global.b32 %r3, [%rd1];"), FaultKind::Uninitialised { .. });
    assert_kind!(one("ld.shared.b32 %r3, [%r1];"), FaultKind::Uninitialised { space: "shared", .. });
    assert_kind!(one("ld.local.b32 %r3, [mine];"), FaultKind::Uninitialised { space: "local", .. });
}

#[test]
fn a_fault_names_its_place() {
    let fault = Run { threads: 64, ..one("setp.eq.u32 %p1, %r0, 37;\n@%p1 ld.global.b32 %r3, [%rd0+256];") };
    let fault = fault.run().unwrap_err();
    assert_eq!((fault.thread, fault.block, fault.line), ([37, 0, 0], [0, 0, 0], 11));
    let message = fault.to_string();
    for part in ["k, block (0, 0, 0), thread (37, 0, 0), PTX line 11", "ld.global.b32", "byte 256 of a at"] {
        assert!(message.contains(part), "{message}");
    }
}

// ---- races ----

#[test]
fn two_warps_race_unless_a_barrier_orders_them() {
    let unordered = block(
        "setp.eq.u32 %p1, %r0, 0; setp.eq.u32 %p2, %r0, 64;\n@%p1 st.shared.b32 [%r1], 1;\n@%p2 st.shared.b32 [%r1], 2;",
    );
    assert_kind!(unordered, FaultKind::Race { space: "shared", access: Access::Write, .. });
    block(
        "setp.eq.u32 %p1, %r0, 0; setp.eq.u32 %p2, %r0, 64;\n@%p1 st.shared.b32 [%r1], 1;\nbar.sync 0;\n\
         @%p2 ld.shared.b32 %r3, [%r1];",
    )
    .clean();
}

#[test]
fn lanes_of_one_warp_race_unless_the_warp_synchronises() {
    let body =
        "mad.lo.u32 %r3, %r0, 4, %r1; st.shared.b32 [%r3], %r0; xor.b32 %r4, %r0, 1; mad.lo.u32 %r4, %r4, 4, %r1;";
    let text = |between: &str| -> &'static str { format!("{body}{between} ld.shared.b32 %r5, [%r4];").leak() };
    assert_kind!(warp(text("")), FaultKind::Race { access: Access::Read, .. });
    warp(text("bar.warp.sync -1;")).clean();
}

#[test]
fn a_read_and_a_later_write_race_too() {
    let body = block(
        "mad.lo.u32 %r3, %r0, 4, %r1; st.shared.b32 [%r3], %r0; bar.sync 0; ld.shared.b32 %r4, [%r1];\n\
         setp.eq.u32 %p1, %r0, 0; @%p1 st.shared.b32 [%r1], 9;",
    );
    assert_kind!(body, FaultKind::Race { .. });
}

#[test]
fn blocks_race_on_global_memory_and_atomics_do_not() {
    let race = Run { blocks: 2, ..one("st.global.b32 [%rd0], 1;") };
    assert_kind!(race, FaultKind::Race { space: "global", .. });
    Run { blocks: 2, ..warp("red.global.add.u32 [%rd0], 1;") }.clean();
}

#[test]
fn asynchronous_copies_of_other_threads_are_known_behind_a_barrier_alone() {
    let copy = "mad.lo.u32 %r3, %r0, 4, %r1; mul.wide.u32 %rd2, %r0, 4; add.s64 %rd2, %rd0, %rd2;\n\
                and.b32 %r4, %r0, 31; setp.ge.u32 %p1, %r0, 64; @%p1 bra skip;\n\
                cp.async.ca.shared.global [%r3], [%rd2], 4; skip: cp.async.commit_group;";
    let text = |rest: &str| -> &'static str { format!("{copy}{rest}").leak() };
    block(text("cp.async.wait_group 0; bar.sync 0; ld.shared.b32 %r5, [%r1];")).clean();
    assert_kind!(block(text("bar.sync 0; ld.shared.b32 %r5, [%r1];")), FaultKind::Race { .. });
    assert_kind!(block(text("cp.async.wait_group 0; ld.shared.b32 %r5, [%r1];")), FaultKind::Race { .. });
}

#[test]
fn a_flag_that_is_released_and_acquired_orders_what_was_written_before() {
    let text = |store: &str, load: &str| -> &'static str {
        format!(
            "setp.eq.u32 %p1, %r0, 0; @%p1 st.shared.b32 [%r1+4], 0; bar.sync 0; setp.ge.u32 %p2, %r0, 32; @%p2 bra other;\n\
             @!%p1 bra end; st.shared.b32 [%r1], 5; {store} [%r1+4], 1; bra end;\n\
             other: {load} %r3, [%r1+4]; setp.eq.u32 %p3, %r3, 0; @%p3 bra other; ld.shared.b32 %r4, [%r1]; end:"
        )
        .leak()
    };
    let run = |store, load| Run { threads: 64, ..one(text(store, load)) };
    run("st.release.cta.shared.b32", "ld.acquire.cta.shared.b32").clean();
    assert_kind!(run("st.shared.b32", "ld.shared.b32"), FaultKind::Race { .. });
}

/// Blocks run one after the other, the first of them first.
#[test]
fn a_flag_in_global_memory_that_a_block_releases_orders_it_before_a_later_block_that_acquires_it() {
    let run = |store: &str, load: &str| Run {
        blocks: 2,
        ..one(format!(
            "mov.u32 %r5, %ctaid.x; setp.eq.u32 %p1, %r5, 1; @%p1 bra later;\n\
             st.global.b32 [%rd1], 5; {store} [%rd0], 1; bra end;\n\
             later: {load} %r3, [%rd0]; ld.global.b32 %r4, [%rd1]; st.global.b32 [%rd0], 0; end:"
        )
        .leak())
    };
    let (release, acquire) = ("st.release.gpu.global.b32", "ld.acquire.gpu.global.b32");
    run(release, acquire).clean();
    assert_kind!(run("st.relaxed.gpu.global.b32", acquire), FaultKind::Race { .. });
    assert_kind!(run(release, "ld.relaxed.gpu.global.b32"), FaultKind::Race { .. });
    assert_kind!(run("st.global.b32", acquire), FaultKind::Race { .. });
}

#[test]
fn checks_can_be_left_out() {
    let off = Options { checks: Checks { uninitialised: false, races: false }, ..Options::default() };
    let race = block("mad.lo.u32 %r3, %r0, 4, %r1; ld.shared.b32 %r4, [%r1]; st.shared.b32 [%r1], %r4;");
    assert!(race.run().is_err());
    assert!(race.run_with(&off).is_ok());
    let outside = one("ld.shared.b32 %r3, [%r1+520];");
    assert!(outside.run_with(&off).is_err(), "bounds are always checked");
}

// ---- the asynchronous proxy ----

const STORE: &str = "cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%r1], 16; cp.async.bulk.commit_group;";

fn stored(before: &str, after: &str) -> Run {
    one(format!("st.shared.v4.b32 [%r1], {{1, 2, 3, 4}};\n{before}\n{STORE}\n{after}").leak())
}

#[test]
fn a_bulk_store_needs_a_proxy_fence_behind_ordinary_writes() {
    stored("fence.proxy.async.shared::cta;", "cp.async.bulk.wait_group 0;").clean();
    let missing = stored("", "cp.async.bulk.wait_group 0;").fault();
    assert!(missing.to_string().contains("fence.proxy.async"), "{missing}");
}

#[test]
fn what_a_bulk_store_reads_is_not_overwritten_before_it_has_read() {
    let fenced = "fence.proxy.async.shared::cta;";
    stored(fenced, "cp.async.bulk.wait_group.read 0; st.shared.b32 [%r1], 9;").clean();
    assert_kind!(stored(fenced, "st.shared.b32 [%r1], 9; cp.async.bulk.wait_group 0;"), FaultKind::Race { .. });
}

#[test]
fn a_block_does_not_end_while_a_bulk_store_reads_its_memory() {
    assert_kind!(stored("fence.proxy.async.shared::cta;", ""), FaultKind::EndsInFlight { .. });
}

#[test]
fn a_bulk_load_is_read_behind_its_mbarrier() {
    let load = "mbarrier.init.shared::cta.b64 [%r2], 1; fence.mbarrier_init.release.cluster;\n\
                mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 16;\n\
                cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd0], 16, [%r2];\n";
    let text = |rest: &str| -> &'static str { format!("{load}{rest}").leak() };
    let wait = "again: mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r2], 0; @!%p1 bra again;";
    one(text(&format!("{wait} ld.shared.b32 %r3, [%r1];"))).clean();
    assert_kind!(one(text("ld.shared.b32 %r3, [%r1];")), FaultKind::Race { .. });
}

#[test]
fn a_thread_may_poll_for_a_copy() {
    one("mbarrier.init.shared::cta.b64 [%r2], 1; fence.mbarrier_init.release.cluster;\n\
         mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r2], 16;\n\
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd0], 16, [%r2];\n\
         again: mbarrier.test_wait.parity.shared::cta.b64 %p1, [%r2], 0; @!%p1 bra again; ld.shared.b32 %r3, [%r1];")
    .clean();
}

#[test]
fn bytes_that_a_bulk_prefetch_brings_exist_and_nothing_else_is_asked_of_them() {
    // Whole units, which nobody need have written.
    one("cp.async.bulk.prefetch.L2.global [%rd0+16], 240; cp.async.bulk.prefetch.L2.global [%rd1], 96;").clean();
    let beyond = one("cp.async.bulk.prefetch.L2.global [%rd0+16], 256;");
    assert_kind!(beyond, FaultKind::OutOfBounds { access: Access::Read, bytes: 256, .. });
    assert_kind!(one("cp.async.bulk.prefetch.L2.global [%rd0+8], 16;"), FaultKind::Misaligned { alignment: 16, .. });
    assert_kind!(one("cp.async.bulk.prefetch.L2.global [%rd0], 24;"), FaultKind::Refused { .. });
    // A hint: other threads may write them meanwhile, and so may the grid before.
    let written = "setp.eq.u32 %p1, %r0, 0; @%p1 st.global.b32 [%rd0], 1; cp.async.bulk.prefetch.L2.global [%rd0], 16;";
    warp(written).clean();
    let early = "cp.async.bulk.prefetch.L2.global [%rd0], 16; griddepcontrol.wait; ld.global.b32 %r1, [%rd0];";
    Run { overlaps: true, ..one(early) }.clean();
}

// ---- wgmma ----

const WGMMA: &str = "and.b32 %r5, %r1, 0x3ffff; shr.u32 %r5, %r5, 4; or.b32 %r5, %r5, 0x80000; mov.u32 %r6, 16;\n\
                     mov.b64 %rd2, {%r5, %r6}; setp.ne.b32 %p1, 0, 0;\n";
const MULTIPLY: &str = "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, \
                        {%r8, %r9, %r10, %r11}, %rd2, %p1, 1, 1, 0; wgmma.commit_group.sync.aligned;";

/// One wgmma with A in registers and 256 bytes of B in shared memory.
fn multiplied(fence: &str, after: &str) -> Run {
    let fill = "mad.lo.u32 %r3, %r0, 4, %r1; st.shared.b32 [%r3], 0; fence.proxy.async.shared::cta; bar.sync 0;\n\
                mov.u32 %r8, 0; mov.u32 %r9, 0; mov.u32 %r10, 0; mov.u32 %r11, 0;\n";
    block(format!("{fill}{WGMMA}{fence}\n{MULTIPLY}\n{after}").leak())
}

const FENCE: &str = "wgmma.fence.sync.aligned;";
const WAIT: &str = "wgmma.wait_group.sync.aligned 0;";

#[test]
fn accumulators_are_used_behind_the_wait_alone() {
    multiplied(FENCE, &format!("{WAIT} add.f32 %f4, %f0, %f1;")).clean();
    assert_kind!(multiplied(FENCE, &format!("add.f32 %f4, %f0, %f1; {WAIT}")), FaultKind::InFlight { .. });
    assert_kind!(multiplied(FENCE, &format!("mov.u32 %r9, 5; {WAIT}")), FaultKind::InFlight { .. });
}

#[test]
fn accumulators_of_an_older_group_are_free_while_a_newer_one_runs() {
    let second = MULTIPLY.replace("{%f0, %f1, %f2, %f3}", "{%f4, %f5, %f6, %f7}");
    let text = |used: &str| format!("{second} wgmma.wait_group.sync.aligned 1; add.f32 %f8, {used}, {used}; {WAIT}");
    multiplied(FENCE, &text("%f0")).clean();
    assert_kind!(multiplied(FENCE, &text("%f4")), FaultKind::InFlight { .. });
}

#[test]
fn a_fence_precedes_a_wgmma_whose_registers_were_used() {
    assert_kind!(multiplied("", WAIT), FaultKind::NotFenced { .. });
    assert_kind!(multiplied(&format!("{FENCE} mov.f32 %f0, 0f00000000;"), WAIT), FaultKind::NotFenced { .. });
}

#[test]
fn operands_are_not_overwritten_while_a_wgmma_reads_them() {
    multiplied(FENCE, &format!("{WAIT} bar.sync 0; st.shared.b32 [%r3], 7;")).clean();
    assert_kind!(multiplied(FENCE, &format!("st.shared.b32 [%r3], 7; {WAIT}")), FaultKind::Race { .. });
}

#[test]
fn the_warps_of_a_warpgroup_issue_the_same_wgmmas() {
    let twice = format!("{WAIT} setp.ge.u32 %p2, %r0, 32; @%p2 bra end;\n{MULTIPLY}\n{WAIT} end:");
    assert_kind!(multiplied(FENCE, &twice), FaultKind::Refused { .. });
}

#[test]
fn a_descriptor_that_the_hardware_misreads_is_refused() {
    let shifted = format!("add.u32 %r5, %r5, 8; mov.u32 %r6, 0x40000010; mov.b64 %rd2, {{%r5, %r6}}; {FENCE}");
    assert_kind!(multiplied(&shifted, WAIT), FaultKind::Descriptor { .. });
}

// ---- barriers ----

#[test]
fn an_mbarrier_is_initialised_once_and_counts_right() {
    use MbarrierFault::{Count, InitialisedTwice, NotInitialised, TooManyArrivals};
    let fault = |body: &'static str| match one(body).fault() {
        FaultKind::Mbarrier { reason, .. } => reason,
        other => panic!("{other}"),
    };
    let init = "mbarrier.init.shared::cta.b64 [%r2], 2; ";
    let text = |rest: &str| -> &'static str { format!("{init}{rest}").leak() };
    assert_eq!(fault("mbarrier.arrive.shared::cta.b64 _, [%r2];"), NotInitialised);
    assert_eq!(fault("mbarrier.init.shared::cta.b64 [%r2], 0;"), Count(0));
    assert_eq!(fault(text("mbarrier.init.shared::cta.b64 [%r2], 2;")), InitialisedTwice);
    let many = fault(text("mbarrier.arrive.shared::cta.b64 _, [%r2], 3;"));
    assert_eq!(many, TooManyArrivals { pending: 2, arriving: 3 });
    one(text("mbarrier.inval.shared::cta.b64 [%r2]; st.shared.b64 [%r2], 0;")).clean();
    assert_kind!(one(text("st.shared.b64 [%r2], 0;")), FaultKind::Refused { .. });
}

#[test]
fn an_mbarrier_is_used_by_others_behind_a_barrier_alone() {
    let body = "setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared::cta.b64 [%r2], 128;";
    let text =
        |between: &str| -> &'static str { format!("{body}{between} mbarrier.arrive.shared::cta.b64 _, [%r2];").leak() };
    block(text("bar.sync 0;")).clean();
    let visible = block(text("")).fault();
    assert!(
        matches!(
            visible,
            FaultKind::Mbarrier { reason: MbarrierFault::NotVisible | MbarrierFault::NotInitialised, .. }
        ),
        "{visible}"
    );
}

#[test]
fn a_deadlock_names_who_waits_for_what() {
    let body = "setp.ge.u32 %p1, %r0, 32; @%p1 bra wait; setp.eq.u32 %p3, %r0, 0;\n\
                @%p3 mbarrier.init.shared::cta.b64 [%r2], 2; bar.warp.sync -1;\n\
                again: mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r2], 0; @!%p2 bra again;\n\
                wait: bar.sync 3, 64;";
    let FaultKind::Deadlock { waits } = (Run { threads: 64, ..one(body) }).fault() else { panic!("no deadlock") };
    let all = waits.join("\n");
    assert!(all.contains("parity 0 of the mbarrier") && all.contains("2 arrivals"), "{all}");
    assert!(all.contains("barrier 3, at which 32 of 64 threads have arrived"), "{all}");
}

#[test]
fn a_warp_that_meets_a_barrier_in_part_is_divergent() {
    let body = "setp.lt.u32 %p1, %r0, 8; @%p1 bra some; again: bra again; some: bar.sync 0;";
    assert_kind!(warp(body), FaultKind::Budget(_) | FaultKind::Divergent { .. });
    let waits = "setp.lt.u32 %p1, %r0, 8; @%p1 bra some; mbarrier.init.shared::cta.b64 [%r2], 1; bra end;\n\
                 some: bar.warp.sync 0xff; bar.sync 0; end: bar.sync 1, 32;";
    assert!(warp(waits).run().is_err());
}

#[test]
fn barriers_are_counted_in_whole_warps_and_numbered_to_15() {
    assert_kind!(warp("bar.sync 16;"), FaultKind::Barrier { id: 16, .. });
    assert_kind!(warp("bar.sync 1, 33;"), FaultKind::Barrier { id: 1, .. });
    let disagree = "setp.lt.u32 %p1, %r0, 32; @%p1 bra first; bar.sync 1, 128; bra end; first: bar.sync 1, 64; end:";
    assert_kind!(block(disagree), FaultKind::Barrier { id: 1, .. });
}

// ---- clusters ----

#[test]
fn a_block_does_not_end_before_its_peers_are_done_with_its_memory() {
    let sync = "barrier.cluster.arrive.release; barrier.cluster.wait.acquire;";
    let body = format!(
        "mov.u32 %r3, %cluster_ctarank; xor.b32 %r3, %r3, 1; mapa.shared::cluster.u32 %r4, %r1, %r3; {sync}\n\
         st.shared::cluster.b32 [%r4], 5;"
    );
    let pair = |body: String| Run { blocks: 2, cluster: 2, ..one(body.leak()) };
    pair(format!("{body}{sync}")).clean();
    assert_kind!(pair(body), FaultKind::PeerEnded { .. });
}

#[test]
fn a_peers_memory_is_no_part_of_the_blocks_own_window() {
    let body = "mov.u32 %r3, %cluster_ctarank; xor.b32 %r3, %r3, 1; mapa.shared::cluster.u32 %r4, %r1, %r3;\n\
                st.shared::cta.b32 [%r4], 5;";
    let run = Run { blocks: 2, cluster: 2, ..one(body) };
    assert_kind!(run, FaultKind::OutOfBounds { space: "shared", .. });
}

#[test]
fn a_thread_waits_at_the_clusters_barrier_only_after_it_arrived() {
    assert_kind!(one("barrier.cluster.wait.acquire;"), FaultKind::Barrier { .. });
    let twice = "barrier.cluster.arrive.release; barrier.cluster.arrive.release;";
    assert_kind!(one(twice), FaultKind::Barrier { .. });
}

// ---- the rest ----

#[test]
fn bytes_that_are_no_tensor_map_are_refused() {
    let body = "mov.b64 %rd2, map; cvta.param.u64 %rd2, %rd2; prefetch.tensormap [%rd2];";
    assert_kind!(one(body), FaultKind::TensorMap(_));
}

#[test]
fn a_grid_that_overlaps_the_one_before_waits_for_it() {
    let overlapping = |body| Run { overlaps: true, ..one(body) };
    overlapping("griddepcontrol.wait; st.global.b32 [%rd0], 1;").clean();
    assert_kind!(overlapping("st.global.b32 [%rd0], 1; griddepcontrol.wait;"), FaultKind::BeforeGridDependency);
    assert_kind!(overlapping("ld.global.b32 %r1, [%rd0]; griddepcontrol.wait;"), FaultKind::BeforeGridDependency);
    overlapping("ld.relaxed.gpu.global.b32 %r1, [%rd0]; griddepcontrol.wait; st.global.b32 [%rd0], 1;").clean();
    one("st.global.b32 [%rd0], 1;").clean();
}

#[test]
fn a_trap_and_an_endless_loop_end() {
    assert_kind!(one("trap;"), FaultKind::Trap);
    assert_kind!(one("again: bra again;"), FaultKind::Budget(100_000));
}

#[test]
fn a_wait_that_gives_up_early_is_tried_by_a_seed() {
    // Without a loop around it, `try_wait` may return before the phase is over.
    let body = "setp.eq.u32 %p1, %r0, 0; @%p1 mbarrier.init.shared::cta.b64 [%r2], 1; bar.sync 0;\n\
                setp.ge.u32 %p2, %r0, 32; @%p2 bra wait; @!%p1 bra end; st.shared.b32 [%r1], 1;\n\
                mbarrier.arrive.shared::cta.b64 _, [%r2]; bra end;\n\
                wait: mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r2], 0; ld.shared.b32 %r3, [%r1]; end:";
    let faults = (0..64).filter(|&seed| Run { threads: 64, seed, ..one(body) }.run().is_err()).count();
    assert!(faults > 0);
}
