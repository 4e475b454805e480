//! Every instruction of our kernels that orders anything is needed: without it, a fault or a wrong result shows. Those
//! that can be left out are listed with the reason.

use crate::support::case::{Case, Outcome, SM80, SM90, Variation, problem};
use crate::support::compile::Compiler;
use crate::support::host::shape;
use autokernel_codegen::dtype::Dtype::Bf16;
use autokernel_codegen::matmul::problem::Layout::Nt;
use autokernel_codegen::matmul::schedule::{Schedule, Sm90Schedule};
use autokernel_emulator::Module;

/// What begins an instruction that orders something.
const ORDERING: [&str; 13] = [
    "bar.",
    "barrier.",
    "fence",
    "griddepcontrol",
    "mbarrier.arrive",
    "mbarrier.init",
    "cp.async.commit",
    "cp.async.wait",
    "cp.async.bulk.commit",
    "cp.async.bulk.wait",
    "wgmma.fence",
    "wgmma.commit",
    "wgmma.wait",
];

/// Shapes and rows that take every path: several laps of the ring, ragged edges, unaligned rows, no K.
const SHAPES: [(u32, u32, u32); 3] = [(130, 136, 456), (70, 67, 250), (9, 10, 0)];
const PADDINGS: [[u32; 3]; 3] = [[0; 3], [2, 1, 3], [6, 6, 0]];

/// Either of the two fences makes fresh barriers visible to the copy engine. In the loop, the fence stands between
/// wgmmas of one shape on the same accumulators, which are in order without it.
const SPARE_ON_SM90: [&str; 3] =
    ["fence.mbarrier_init.release.cluster;", "fence.proxy.async;", "wgmma.fence.sync.aligned;"];
/// Behind the last slab nothing is written any more.
const SPARE_ON_SM80: [&str; 1] = ["bar.warp.sync \t-1;"];

fn shows(case: &Case, module: &Module) -> bool {
    PADDINGS.iter().zip(0..).any(|(&padding, seed)| {
        let variation = Variation { seed, padding, ..Variation::default() };
        SHAPES.iter().any(|&(m, n, k)| !matches!(case.run(module, shape(m, n, k), variation), Outcome::Right(_)))
    })
}

/// The instructions that can be left out of the kernel.
fn spare(case: &Case, compiler: &Compiler) -> Vec<String> {
    let ptx = compiler.ptx(&case.source(), case.arch(), None).unwrap();
    let lines: Vec<&str> = ptx.lines().collect();
    let start = lines.iter().position(|line| line.contains(".entry autokernel_matmul")).unwrap();
    let orders = |line: &str| ORDERING.iter().any(|word| line.trim().starts_with(word));
    let candidates: Vec<usize> = (start..lines.len()).filter(|&at| orders(lines[at])).collect();
    assert!(candidates.len() > 15, "{} instructions order something", candidates.len());
    let is_spare = |at: &&usize| {
        let mut without = lines.clone();
        without[**at] = "";
        !shows(case, &Module::parse(&without.join("\n")).unwrap())
    };
    candidates.iter().filter(is_spare).map(|&at| lines[at].trim().to_owned()).collect()
}

#[test]
fn every_ordering_instruction_is_needed() {
    let Some(compiler) = Compiler::find("every_ordering_instruction_is_needed") else { return };
    let sm90 = |schedule| Schedule::Sm90(schedule);
    let cases: [(Schedule, &[&str]); 3] = [
        (sm90(SM90), &SPARE_ON_SM90),
        (sm90(Sm90Schedule { cluster_m: 2, ..SM90 }), &SPARE_ON_SM90),
        (Schedule::Sm80(SM80), &SPARE_ON_SM80),
    ];
    for (schedule, expected) in cases {
        let case = Case { problem: problem(Bf16, Bf16, Nt, "identity"), schedule };
        assert_eq!(spare(&case, &compiler), expected, "{schedule}");
    }
}
