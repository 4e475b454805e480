//! Mistakes in the headers of groups: each must show on an emulated GPU, as a fault or as a wrong result.

use std::path::{Path, PathBuf};

use autokernel::{Arch, Device, EmulatedKernel, Emulation, matmul};
use autokernel_codegen::matmul::emit;
use autokernel_codegen::matmul::plan::signature;
use autokernel_codegen::matmul::schedule::{Schedule, Sm80Schedule, Sm90Schedule};
use autokernel_codegen::nvcc::Nvcc;
use autokernel_codegen::product::Problem;
use batch_tests::catalogue::catalogue;
use batch_tests::changed::ptx;
use batch_tests::check::{Case, check, of_many, random};
use gpu_tests::skip;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rayon::prelude::*;

/// Problems of random sizes and groups that a mutant is run on.
const CASES: u32 = 36;

struct Mutant {
    name: &'static str,
    /// Of a declared kernel.
    on: &'static str,
    arch: Arch,
    file: &'static str,
    before: &'static str,
    after: &'static str,
}

const fn sm90(
    name: &'static str,
    on: &'static str,
    file: &'static str,
    before: &'static str,
    after: &'static str,
) -> Mutant {
    Mutant { name, on, arch: Arch::SM_90A, file, before, after }
}

const ALONG_K: &str = "sm90_groups_along_k.cuh";
const DEPTHS: &str = "groups_along_k.cuh";
const OF_GROUPS: &str = "sm90_weights_batch.cuh";
const OF_BLOCKS: &str = "sm90_block_scales_batch.cuh";
const GATHER: &str = "sm90_gather.cuh";

#[rustfmt::skip] // one mutant a line reads as the table that it is
const MUTANTS: &[Mutant] = &[
    sm90("rows of other groups are summed too", "gradients", ALONG_K, "if (stages.rows < G::kTileK) {", "if (stages.rows < 0) {"),
    sm90("one row of the next group is summed", "gradients", ALONG_K, "clear_rows(shared, cursor.stage, stages.rows)", "clear_rows(shared, cursor.stage, stages.rows + 1)"),
    sm90("what is no number shows through the zeros of the first factor", "gated_gradients", ALONG_K, "panel < kPanels; ++panel", "panel < kPanels / 2; ++panel"),
    sm90("what is cleared is not fenced", "gradients", ALONG_K, "  ptx::fence_async_proxy();  // by each thread, for what it cleared: wgmma reads it\n", ""),
    sm90("consumers multiply before the others have cleared", "gradients", ALONG_K, "  ptx::named_barrier_wait(kClearBarrier, kThreads);\n", ""),
    sm90("a stage is cleared before it is there", "gradients", ALONG_K, "    wait_for_stage(shared, cursor);\n", ""),
    sm90("the second stage skips rows", "gradients", ALONG_K, "k += block == 0 ? k_blocks.count.rows : G::kTileK;", "k += G::kTileK;"),
    sm90("a group of no rows has no stage", "gradients", ALONG_K, "max(1, ceil_div(depth.count, G::kTileK))", "ceil_div(depth.count, G::kTileK)"),
    sm90("a group may begin before the last one ends", "gradients", DEPTHS, "return max(before, min(__ldg(offsets + at), k));", "return max(0, min(__ldg(offsets + at), k));"),
    sm90("a group ends with the one behind it", "gradients", DEPTHS, "end = after(begin, group + 2);", "end = after(begin, group + 3);"),
    sm90("more rows count than a slot has", "slots", "groups.cuh", "return max(0, min(__ldg(first + group), rows));", "return max(0, __ldg(first + group));"),
    sm90("boxes with rows that do not count are stored whole", "slots", "sm90_groups.cuh", "return row + G::kStoreRows <= c.rows || c.rows == args.m;", "return true;"),
    sm90("every slot is the first one's", "slots", "sm90_groups.cuh", "matrix_of<Batch::kA>(a_differs ? group : 0)", "matrix_of<Batch::kA>(0)"),
    sm90("results of all slots go to the first", "slots", "sm90_groups.cuh", "matrix_of<Batch::kC>(group)", "matrix_of<Batch::kC>(0)"),
    sm90("every expert has the first one's scales", "packed_experts", OF_GROUPS, "{stride == 0 ? 0 : product}", "{0}"),
    sm90("scales that all share are sought in a matrix of each one's own", "packed_experts", OF_GROUPS, "{stride == 0 ? 0 : product}", "{product}"),
    sm90("every slot has the first one's scales of rows", "scaled_slots", OF_BLOCKS, "args.a_scales_batch == 0 ? 0 : product_of(place)", "0"),
    sm90("every expert has the first one's scales of blocks", "scaled_experts", OF_BLOCKS, " + product * args.scales_batch", ""),
    sm90("a second product has the scales of the first expert", "scaled_experts", OF_BLOCKS, " + product * args.scales2_batch", ""),
    sm90("a row behind the last is gathered", "routed_swiglu", GATHER, "row >= 0 && row < args.a_rows", "row >= 0"),
    sm90("a row before the first is gathered", "routed_swiglu", GATHER, "row >= 0 && row < args.a_rows", "row < args.a_rows"),
    sm90("rows of no group are looked up", "embedded", GATHER, "of_c < end ? __ldg(index + of_c) : kNone", "__ldg(index + of_c)"),
    sm90("what lies behind a row is summed", "embedded", GATHER, "min(inside, int64_t{kTmaUnitBytes})", "int64_t{kTmaUnitBytes}"),
    sm90("gathered rows lie as they were", "routed_swiglu", GATHER, "swizzled<kSwizzleBytes>(first() * kSwizzleBytes + unit() * kTmaUnitBytes)", "(first() * kSwizzleBytes + unit() * kTmaUnitBytes)"),
    sm90("what is gathered is not fenced", "routed_swiglu", GATHER, "  ptx::fence_async_proxy();\n", ""),
    sm90("a stage is there before its rows are", "routed_swiglu", GATHER, "ptx::mbarrier_init(shared.full(stage), 1 + kWarpgroupSize);", "ptx::mbarrier_init(shared.full(stage), 1);"),
    sm90("rows are gathered before a stage is free", "routed_swiglu", GATHER, "      ptx::mbarrier_wait(shared.empty(cursor.stage), cursor.parity ^ 1);\n", ""),
    Mutant { name: "a row behind the last is gathered by the portable family", on: "embedded", arch: Arch::SM_80, file: "sm80_gather.cuh", before: "row(pass) >= 0 && row(pass) < count", after: "row(pass) >= 0" },
    Mutant { name: "the portable family looks rows of no product up", on: "embedded", arch: Arch::SM_80, file: "sm80_gather.cuh", before: "pass * kStep < left ? __ldg(index + pass * kStep) : -1", after: "__ldg(index + pass * kStep)" },
    Mutant { name: "a group may end beyond the rows", on: "gradients", arch: Arch::SM_80, file: DEPTHS, before: "return max(before, min(__ldg(offsets + at), k));", after: "return max(before, __ldg(offsets + at));" },
    Mutant { name: "each group sums all rows", on: "gradients", arch: Arch::SM_80, file: "sm80_groups_along_k.cuh", before: "depth.first, depth.count)", after: "0, args.k)" },
    Mutant { name: "each group sums the first rows", on: "gradients", arch: Arch::SM_80, file: "sm80_groups_along_k.cuh", before: "depth.first, depth.count)", after: "0, depth.count)" },
];

fn schedule(problem: &Problem, arch: Arch) -> Schedule {
    let Sm90Schedule { raster, .. } = Sm90Schedule::PLAIN;
    match arch {
        Arch::SM_90A if problem.weights.is_some() => {
            Sm90Schedule { tile_m: 16, tile_n: 128, swap_ab: true, stages: 3, ..Sm90Schedule::PLAIN }.into()
        }
        Arch::SM_90A if problem.block.is_some() => {
            Sm90Schedule { tile_m: 64, tile_n: 128, stages: 3, ..Sm90Schedule::PLAIN }.into()
        }
        Arch::SM_90A => {
            // A ring so short that it comes round.
            let stages = if problem.class().gathers() { 2 } else { 3 };
            Sm90Schedule { tile_m: 128, tile_n: 128, stages, consumers: 2, ..Sm90Schedule::PLAIN }.into()
        }
        _ => Sm80Schedule { tile_m: 64, tile_n: 64, tile_k: 32, warps_m: 2, warps_n: 1, stages: 3, raster }.into(),
    }
}

/// The first thing that goes wrong.
fn run(nvcc: &Nvcc, on: &str, arch: Arch, mutant: Option<&Mutant>) -> Option<String> {
    let declared = catalogue();
    let problem: Problem = declared.iter().find(|declared| declared.name == on).unwrap().problem();
    let (source, plan) = emit::kernel(&problem, &schedule(&problem, arch));
    let ptx = ptx(nvcc, &source, mutant.map(|it| (it.file, it.before, it.after)), arch);
    let mut rng = StdRng::seed_from_u64(5);
    (0..CASES).find_map(|seed| {
        let emulation = Emulation::new(arch).seed((seed % 4).into());
        let loaded = EmulatedKernel::load(&emulation, &signature(&problem), &plan, ptx.as_bytes()).unwrap();
        let device = Device::emulated_with(emulation).unwrap();
        let case = random(&mut rng, &problem, [110, 110, 160], 4);
        // Of whole 16 bytes, so that where results lie so too TMA stores them.
        let [m, n, k] = matmul::sizes(&case.extents);
        let extents = of_many(&problem, matmul::matrices(&case.extents), [m, n.next_multiple_of(8), k]);
        let case = Case { extents, ..case };
        check(&device, &problem, case, |arguments| loaded.launch(arguments).map(drop)).err()
    })
}

#[test]
fn mistakes_in_the_headers_of_groups_are_caught() {
    let cache = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let nvcc = match Nvcc::locate(Path::new(env!("CARGO_MANIFEST_DIR")), &cache) {
        Ok(nvcc) => nvcc,
        Err(reason) => return skip::log("mutants::mistakes_in_the_headers_of_groups_are_caught", &reason.to_string()),
    };
    let unchanged = [
        ("gradients", Arch::SM_90A),
        ("gated_gradients", Arch::SM_90A),
        ("slots", Arch::SM_90A),
        ("packed_experts", Arch::SM_90A),
        ("scaled_slots", Arch::SM_90A),
        ("scaled_experts", Arch::SM_90A),
        ("routed_swiglu", Arch::SM_90A),
        ("embedded", Arch::SM_90A),
        ("embedded", Arch::SM_80),
        ("gradients", Arch::SM_80),
    ];
    for (on, arch) in unchanged {
        assert_eq!(run(&nvcc, on, arch, None), None, "{on} on {arch}");
    }
    let missed: Vec<&str> = MUTANTS
        .par_iter()
        .filter(|mutant| {
            let found = run(&nvcc, mutant.on, mutant.arch, Some(mutant));
            let shown = found.as_deref().map_or("MISSED", |found| found.rsplit("GPU: ").next().unwrap_or(found));
            println!("{}: {shown:.160}", mutant.name);
            found.is_none()
        })
        .map(|mutant| mutant.name)
        .collect();
    assert!(missed.is_empty(), "{missed:#?}");
}
