//! The images that plain products carry for GPUs other than Hopper's: each compiles without spills, for the smallest of them too.

use std::path::{Path, PathBuf};

use autokernel_codegen::arch::Arch;
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::nvcc::{Compiler, Nvcc};
use autokernel_codegen::problem::{Layout, Problem};
use rayon::prelude::*;

#[test]
fn every_image_that_plain_products_carry_for_other_gpus_compiles_without_spills() {
    let cache: PathBuf =
        std::env::var_os("AUTOKERNEL_CACHE_DIR").map_or_else(|| env!("CARGO_TARGET_TMPDIR").into(), Into::into);
    let compiler = match Nvcc::locate(Path::new(env!("CARGO_MANIFEST_DIR")), &cache) {
        Ok(nvcc) => Compiler::new(nvcc, cache),
        Err(reason) => return eprintln!("skipped: {reason}"),
    };
    for (layout, epilogue, arch) in [(Layout::Nn, "identity", "sm_80"), (Layout::Nt, "leaky_relu(0.2)", "sm_89")] {
        let arch: Arch = arch.parse().unwrap();
        let problem = Problem::matmul(Dtype::Bf16, layout, epilogue.parse().unwrap());
        let images = problem.class().portfolio(arch);
        assert_eq!(images.len(), 6);
        // nvcc takes one core.
        images.par_iter().for_each(|schedule| {
            let image = compiler.compile(&problem.emit(schedule).unwrap().0, arch);
            let image = image.unwrap_or_else(|error| panic!("{problem} by {schedule} for {arch}: {error}"));
            let bytes = |path: &Path| std::fs::metadata(path).unwrap().len() >> 10;
            let (ptx, cubin) = (bytes(&image.ptx), bytes(&image.cubin));
            println!("{schedule} for {arch}: {} registers, {ptx} and {cubin} KiB", image.report.registers);
        });
    }
}
