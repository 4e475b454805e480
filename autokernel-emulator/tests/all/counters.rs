//! What is counted: bank conflicts, sectors, instructions, bytes.

use crate::support::case::{Case, SM80, SM90, Variation, problem};
use crate::support::compile::Compiler;
use crate::support::host::shape;
use autokernel_codegen::dtype::Dtype::{Bf16, F32};
use autokernel_codegen::matmul::problem::Layout::{Nn, Nt};
use autokernel_codegen::matmul::schedule::{Schedule, Sm90Schedule};
use autokernel_emulator::{Arch, Gpu, Launch, Module, Options, Report};

/// A warp that stores a word to shared memory and to global memory, each lane `stride` bytes after the one before.
fn strided(stride: u32) -> Report {
    let text = format!(
        ".visible .entry k(.param .u64 out) {{ .reg .b32 %r<4>; .reg .b64 %rd<4>; .shared .align 16 .b8 tile[8192];\n\
         ld.param.u64 %rd0, [out]; mov.u32 %r0, %tid.x; mov.u32 %r1, tile;\n\
         mad.lo.u32 %r2, %r0, {stride}, %r1;\nst.shared.b32 [%r2], %r0;\n\
         mul.wide.u32 %rd1, %r0, {stride}; add.s64 %rd1, %rd0, %rd1;\nst.global.b32 [%rd1], %r0;\nret; }}"
    );
    let module = Module::parse(&text).unwrap();
    let mut gpu = Gpu::new(Arch::Sm90a);
    let out = gpu.alloc(8192).unwrap();
    let parameters = out.0.to_le_bytes().to_vec();
    let launch = Launch::new([1; 3], [32, 1, 1], parameters);
    gpu.launch(&module, "k", &launch, &Options::default()).unwrap()
}

fn costs(report: &Report) -> (u64, u64) {
    let of = |name: &str| report.sites.values().find(|site| site.instruction.starts_with(name)).unwrap().clone();
    (of("st.shared").bank_conflicts, of("st.global").sectors)
}

#[test]
fn strides_cost_conflicts_and_sectors() {
    assert_eq!(costs(&strided(4)), (0, 4));
    assert_eq!(costs(&strided(8)), (1, 8));
    assert_eq!(costs(&strided(32)), (7, 32));
    assert_eq!(costs(&strided(132)), (0, 32));
    assert_eq!(costs(&strided(128)), (31, 32));
}

#[test]
fn instructions_and_bytes_are_counted() {
    let report = strided(4);
    let counters = &report.counters;
    assert_eq!(counters.instructions["st"], 2);
    assert_eq!((counters.shared.stored, counters.global.stored, counters.shared.loaded), (128, 128, 0));
}

#[test]
fn our_kernels_have_no_bank_conflicts_and_multiply_no_more_than_their_tiles() {
    let test = "our_kernels_have_no_bank_conflicts_and_multiply_no_more_than_their_tiles";
    let Some(compiler) = Compiler::find(test) else { return };
    let cases = [
        (problem(Bf16, Bf16, Nt, "identity"), Schedule::Sm80(SM80)),
        (problem(Bf16, F32, Nn, "identity"), Schedule::Sm80(SM80)),
        (problem(Bf16, Bf16, Nt, "identity"), Schedule::Sm90(SM90)),
        (problem(Bf16, Bf16, Nn, "identity"), Schedule::Sm90(Sm90Schedule { tile_n: 128, ..SM90 })),
        (problem(Bf16, F32, Nt, "identity"), Schedule::Sm90(Sm90Schedule { tile_m: 32, swap_ab: true, ..SM90 })),
    ];
    for (problem, schedule) in cases {
        let case = Case { problem, schedule };
        let module = case.compile(&compiler, None).unwrap();
        let report = case.run(&module, shape(128, 128, 128), Variation::default()).expect_right("a product");
        for (line, site) in &report.sites {
            assert_eq!(site.bank_conflicts, 0, "{}: PTX line {line}, {site:?}", case.schedule);
        }
        assert_eq!(report.counters.matrix_multiply_adds, 128 * 128 * 128, "{}", case.schedule);
    }
}
