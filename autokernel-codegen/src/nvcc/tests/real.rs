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

#[test]
fn a_warning_an_error_and_a_spill_are_refused() {
    let Some((_cache, compiler)) = compiler("a_warning_an_error_and_a_spill_are_refused") else { return };
    let message = refused(&compiler, r#"extern "C" __global__ void kernel() { int unused; }"#);
    assert!(message.contains("never referenced"), "{message}");

    let message = refused(&compiler, r#"extern "C" __global__ void kernel() { undeclared(); }"#);
    assert!(message.contains(r#"identifier "undeclared" is undefined"#), "{message}");

    // 64 registers a thread with 1024 threads, and 128 values that are all alive until the end.
    let spilling = r#"
        extern "C" __global__ void __launch_bounds__(1024) kernel(float* x) {
          float values[128];
        #pragma unroll
          for (int i = 0; i < 128; ++i) values[i] = x[i * 1024 + threadIdx.x];
          __syncthreads();
        #pragma unroll
          for (int i = 0; i < 128; ++i) x[(127 - i) * 1024 + threadIdx.x] = values[i];
        }
    "#;
    let source = KernelSource { symbol: "kernel".to_owned(), cuda: spilling.to_owned() };
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
