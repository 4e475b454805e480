//! A second operation, from its declaration to its result, through what no operation is known to.

mod support;

use autokernel_codegen::Build;
use autokernel_codegen::arch::Arch;
use autokernel_codegen::problem::Problem;
use autokernel_core::{Dtype, Extents, LaunchPlan, Signature};
use autokernel_emulator::{Gpu, Module, Options};
use support::arguments;
use support::compile::Compiler;
use support::host::{Matrix, allocate, download};

/// What a user would write.
const SOURCE: &str = "
    #[autokernel::scaled_copy(alpha = -2.5)]
    pub fn scaled(x: &Matrix<f16>, out: &mut Matrix<f16>);
    #[autokernel::scaled_copy(columns = 0)]
    pub fn wrong(x: &Matrix<f16>, out: &mut Matrix<f16>);
";

fn declared() -> Problem {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("src")).unwrap();
    std::fs::write(folder.path().join("src/lib.rs"), SOURCE).unwrap();
    let declared = Build::new().declared(folder.path()).unwrap();
    let names: Vec<&str> = declared.iter().map(|kernel| kernel.name.as_str()).collect();
    assert_eq!(names, ["scaled"], "a wrong declaration is left to the attribute");
    declared[0].problem.clone()
}

/// Runs the kernel called `symbol` and compares what it leaves in `output` with `-2.5 · x`.
fn check(module: &Module, symbol: &str, signature: &Signature, plan: &LaunchPlan, rows: u32, columns: u32) {
    let mut gpu = Gpu::new(autokernel_emulator::Arch::Sm80);
    let x = Matrix::integers(rows, columns, columns + 3, 7);
    let placed = x.upload(&mut gpu, "x", Dtype::F16);
    let output = signature.operands[1].dtype;
    let out = allocate(&mut gpu, "out", output, rows, columns, columns + 5, 2 * u64::from(output.bytes()));
    let names: Vec<_> = signature.names().collect();
    let extents = Extents::new([(names[0], rows), (names[1], columns)]);
    let launch = arguments::of_plan(&mut gpu, signature, plan, extents, &[placed, out]);
    gpu.launch(module, symbol, &launch, &Options::default()).unwrap_or_else(|error| panic!("{symbol}: {error}"));
    let expected: Vec<f64> = x.values.iter().map(|value| -2.5 * value).collect();
    assert_eq!(download(&mut gpu, out, output), expected, "{symbol}, {rows}x{columns}");
}

#[test]
fn a_declared_copy_is_emitted_compiled_and_computes_what_it_says_by_every_schedule() {
    let problem = declared();
    assert_eq!(problem.to_string(), "scaled_copy f16, alpha = -2.5");
    let test = "a_declared_copy_is_emitted_compiled_and_computes_what_it_says_by_every_schedule";
    let Some(compiler) = Compiler::find(test) else { return };
    let class = problem.class();
    let families = class.families(Arch::SM_80);
    let schedules = families.iter().flat_map(|&family| class.schedules(family, Arch::SM_80));
    for schedule in schedules.step_by(5) {
        class.check(&schedule, Arch::SM_80).unwrap();
        let (source, plan) = problem.emit(&schedule).unwrap();
        let module = Module::parse(&compiler.ptx(&source, Arch::SM_80, None).unwrap()).unwrap();
        for (rows, columns) in [(1, 1), (3, 517), (2, 4096)] {
            check(&module, &source.symbol, &problem.signature(), &plan, rows, columns);
        }
    }
}

#[test]
fn the_reference_of_a_copy_leaves_fp32() {
    let Some(compiler) = Compiler::find("the_reference_of_a_copy_leaves_fp32") else { return };
    let problem = declared();
    let (source, plan) = problem.reference();
    let module = Module::parse(&compiler.ptx(&source, Arch::SM_80, None).unwrap()).unwrap();
    check(&module, &source.symbol, &problem.reference_signature(), &plan, 5, 300);
}
