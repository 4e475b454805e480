//! Compiles the elementwise kernel to PTX; without nvcc leaves an empty file, and the kernel is not offered.

use std::path::{Path, PathBuf};

use autokernel_codegen::arch::Arch;
use autokernel_codegen::emit::KernelSource;
use autokernel_codegen::nvcc::{COMPILE_ENV, Compiler, Nvcc, SEARCH_ENV};

const SOURCE: &str = "cuda/leaky_relu_in_place.cu";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo::rerun-if-changed={SOURCE}");
    for name in SEARCH_ENV.into_iter().chain(COMPILE_ENV) {
        println!("cargo::rerun-if-env-changed={name}");
    }
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let source = KernelSource { symbol: "leaky_relu_in_place".to_owned(), cuda: std::fs::read_to_string(SOURCE)? };
    let ptx = match Nvcc::locate(Path::new(env!("CARGO_MANIFEST_DIR")), &out) {
        Ok(nvcc) => {
            let image = Compiler::new(nvcc, out.join("cache")).compile(&source, Arch::SM_80)?;
            std::fs::read_to_string(image.ptx)?
        }
        Err(missing) => {
            println!("cargo::warning=the elementwise baseline is left out: {missing}");
            String::new()
        }
    };
    std::fs::write(out.join("leaky_relu_in_place.ptx"), ptx)?;
    Ok(())
}
