//! What only nvcc itself can say.

use std::io::Write;
use std::path::Path;

use tempfile::TempDir;

use crate::arch::Arch;
use crate::dtype::Dtype;
use crate::emit::KernelSource;
use crate::nvcc::{Compiler, Nvcc};
use crate::problem::{Layout, Problem};

/// The nvcc of this machine with an empty cache; none, with a note, where there is none.
fn compiler(test: &str) -> Option<(TempDir, Compiler)> {
    let cache = tempfile::tempdir().unwrap();
    match Nvcc::locate(Path::new(env!("CARGO_MANIFEST_DIR")), cache.path()) {
        Ok(nvcc) => {
            let compiler = Compiler::new(nvcc, cache.path().to_owned());
            Some((cache, compiler))
        }
        Err(reason) => {
            skip(test, &reason.to_string());
            None
        }
    }
}

/// Notes a test that could not run, for the summary of `cargo xtask test`.
fn skip(test: &str, reason: &str) {
    let line = format!("skipped: {test}: {reason}\n");
    eprint!("{line}");
    if let Some(log) = std::env::var_os("AUTOKERNEL_SKIP_LOG") {
        let mut log = std::fs::OpenOptions::new().create(true).append(true).open(log).unwrap();
        log.write_all(line.as_bytes()).unwrap();
    }
}

fn refused(compiler: &Compiler, cuda: &str) -> String {
    let source = KernelSource { symbol: "kernel".to_owned(), cuda: cuda.to_owned() };
    compiler.compile(&source, Arch::SM_80).unwrap_err().to_string()
}

/// 64 registers a thread with 1024 threads, and 128 values that are all alive until the end.
fn spilling() -> KernelSource {
    let cuda = r#"
extern "C" __global__ void __launch_bounds__(1024) spilling(float* x) {
  float values[128];
#pragma unroll
  for (int i = 0; i < 128; ++i) values[i] = x[i * 1024 + threadIdx.x];
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 128; ++i) x[(127 - i) * 1024 + threadIdx.x] = values[i];
}
"#;
    KernelSource { symbol: "spilling".to_owned(), cuda: cuda.to_owned() }
}

#[test]
fn a_warning_an_error_and_a_spill_are_refused() {
    let Some((_cache, compiler)) = compiler("a_warning_an_error_and_a_spill_are_refused") else { return };
    let message = refused(&compiler, r#"extern "C" __global__ void kernel() { int unused; }"#);
    assert!(message.contains("never referenced"), "{message}");

    let message = refused(&compiler, r#"extern "C" __global__ void kernel() { undeclared(); }"#);
    assert!(message.contains(r#"identifier "undeclared" is undefined"#), "{message}");

    let source = spilling();
    let error = compiler.compile(&source, Arch::SM_80).unwrap_err();
    assert!(error.spilled_bytes() > Some(0), "{error}");
}

#[test]
fn extreme_parameters_of_an_epilogue_compile_without_a_warning() {
    let Some((_cache, compiler)) = compiler("extreme_parameters_of_an_epilogue_compile") else { return };
    for slope in ["1e-45", "-1e-40", "3.4028235e38", "-0.0"] {
        let epilogue = format!("leaky_relu({slope})").parse().unwrap();
        let problem = Problem::matmul(crate::dtype::Dtype::Bf16, Layout::Nt, epilogue);
        let kernel = problem.emit(&problem.class().default_schedule(Arch::SM_80)).unwrap().0;
        compiler.compile(&kernel, Arch::SM_80).unwrap();
    }
}

#[test]
fn line_info_names_the_kernels_own_files_by_their_paths_in_the_crate() {
    let Some((_cache, compiler)) = compiler("line_info_names_the_kernels_own_files") else { return };
    let problem = Problem::matmul(crate::dtype::Dtype::Bf16, Layout::Nt, crate::epilogue::Epilogue::identity());
    let kernel = problem.emit(&problem.class().default_schedule(Arch::SM_80)).unwrap().0;
    let plain = compiler.compile(&kernel, Arch::SM_80).unwrap();
    let lined = compiler.with_line_info().compile(&kernel, Arch::SM_80).unwrap();
    let files = |image: &crate::nvcc::Image| -> Vec<String> {
        let ptx = std::fs::read_to_string(&image.ptx).unwrap();
        ptx.lines().filter(|line| line.trim_start().starts_with(".file")).map(str::to_owned).collect()
    };
    assert!(files(&plain).is_empty());
    let own: Vec<String> = files(&lined).into_iter().filter(|line| line.contains(".cuh")).collect();
    assert!(own.iter().any(|line| line.ends_with("\"sm80_matmul.cuh\"")), "{own:?}");
    assert!(own.iter().all(|line| !line.contains("\"/")), "{own:?}");
    assert_eq!((plain.report, plain.cached, lined.cached), (lined.report, false, false));
}

#[test]
fn the_short_runtime_header_changes_no_line_of_the_ptx() {
    let Some((_cache, compiler)) = compiler("the_short_runtime_header_changes_no_line_of_the_ptx") else { return };
    let whole = compiler.clone().with_whole_runtime();
    for (arch, input, epilogue) in [(Arch::SM_80, Dtype::F16, "gelu"), (Arch::SM_90A, Dtype::Bf16, "gelu_tanh")] {
        let problem = Problem::matmul(input, Layout::Nn, epilogue.parse().unwrap());
        let source = problem.emit(&problem.class().default_schedule(arch)).unwrap().0;
        let ptx = |compiler: &Compiler| std::fs::read_to_string(compiler.compile(&source, arch).unwrap().ptx).unwrap();
        assert_eq!(ptx(&compiler), ptx(&whole), "{arch}");
    }
}

/// PTX without what nvcc names anew in each run, and without the numbers of kernels in labels.
fn comparable(ptx: &str) -> String {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
    let plain = |name: &str| match name.strip_prefix("$L__BB").and_then(|it| it.split_once('_')) {
        _ if name.contains("_GLOBAL__N__") => "internal".to_owned(),
        Some((_, number)) => format!("$L__BB_{number}"),
        None => name.to_owned(),
    };
    let compared = |line: &str| -> String {
        let tokens = line.split_inclusive(|c| !is_of_name(c));
        tokens.map(|it| plain(it.trim_end_matches(|c| !is_of_name(c))) + it.trim_start_matches(is_of_name)).collect()
    };
    let lines = ptx.lines().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with("//"));
    lines.map(|line| compared(line) + "\n").collect()
}

#[test]
fn kernels_that_are_compiled_together_are_what_each_is_alone() {
    let name = "kernels_that_are_compiled_together_are_what_each_is_alone";
    let (Some((_apart, alone)), Some((_cache, together))) = (compiler(name), compiler(name)) else { return };
    let rows = |body: &str| Problem::from(crate::rows::problem(&syn::parse_str(body).unwrap()).unwrap());
    let products = ["relu", "gelu"].map(|it| Problem::matmul(Dtype::Bf16, Layout::Nt, it.parse().unwrap()));
    let of_rows = [
        "fn shares(x: &Matrix<bf16>, out: &mut Matrix<bf16>) { let e = (x - row_max(x)).exp(); out = e / row_sum(e); }",
        "fn centred(x: &Matrix<f32>, out: &mut Matrix<f32>) { out = x - row_mean(x); }",
    ]
    .map(rows);
    for (problems, arch) in [(&products, Arch::SM_90A), (&of_rows, Arch::SM_80)] {
        let sources = problems.each_ref().map(|it| it.emit(&it.class().default_schedule(arch)).unwrap().0);
        together.compile_together(&sources.each_ref(), arch);
        for source in &sources {
            let [one, other] = [&alone, &together].map(|it| it.compile(source, arch).unwrap());
            assert!(other.cached, "{} was not compiled together", source.symbol);
            assert_eq!(one.report, other.report);
            let [one, other] = [one.ptx, other.ptx].map(|it| comparable(&std::fs::read_to_string(it).unwrap()));
            assert_eq!(one, other, "{}", source.symbol);
        }
    }
}

#[test]
fn what_fails_among_kernels_that_are_compiled_together_says_so_by_itself() {
    let Some((_cache, compiler)) = compiler("what_fails_among_kernels_that_are_compiled_together") else { return };
    let simple = |symbol: &str, does: &str| KernelSource {
        symbol: symbol.to_owned(),
        cuda: format!("extern \"C\" __global__ void {symbol}(float* x) {{ {does} }}\n"),
    };
    let [right, wrong] = [simple("right", "*x = 1.0f;"), simple("wrong", "undeclared();")];
    let images = compiler.compile_together(&[&right, &spilling()], Arch::SM_80);
    assert!(images[0].as_ref().unwrap().report.registers > 0);
    assert!(images[1].as_ref().unwrap_err().spilled_bytes() > Some(0));

    let other = simple("other", "*x = 2.0f;");
    let images = compiler.compile_together(&[&wrong, &other], Arch::SM_80);
    let message = images[0].as_ref().unwrap_err().to_string();
    assert!(message.contains(r#"identifier "undeclared" is undefined"#), "{message}");
    assert!(images[1].is_ok());
}
