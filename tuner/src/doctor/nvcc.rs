//! nvcc, and whether it compiles.

use std::path::Path;
use std::time::{Duration, Instant};

use autokernel_codegen::arch::Arch;
use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::epilogue::Epilogue;
use autokernel_codegen::nvcc::{Compiler, Nvcc};
use autokernel_codegen::problem::{Layout, Problem};

use super::check::{Check, Status};

/// How long the small kernel may take.
const LIMIT: Duration = Duration::from_secs(60);

/// Where nvcc is, and that it compiles a small kernel.
pub fn checks(cache: &Path) -> Vec<Check> {
    let nvcc = match Nvcc::locate(Path::new("."), cache) {
        Ok(nvcc) => nvcc,
        Err(error) if error.is_none_here() => return vec![Check::of_error("nvcc", Status::Missing, &error)],
        Err(error) => return vec![Check::of_error("nvcc", Status::Broken, &error)],
    };
    let found = format!("{} at {}", nvcc.version, nvcc.path.display());
    vec![Check::ok("nvcc", found), compiles(nvcc, cache)]
}

fn compiles(nvcc: Nvcc, cache: &Path) -> Check {
    const NAME: &str = "compile";
    let Ok(epilogue) = "identity".parse::<Epilogue>() else {
        return Check::new(NAME, Status::Broken, "the built-in epilogue is gone", "reinstall the tuner");
    };
    let source = Problem::matmul(Dtype::Bf16, Layout::Nt, epilogue).reference().0;
    let begun = Instant::now();
    match Compiler::new(nvcc, cache.to_owned()).with_limit(LIMIT).compile(&source, Arch::SM_80) {
        Ok(image) if image.cached => Check::ok(NAME, "a kernel is in the cache already"),
        Ok(_) => Check::ok(NAME, format!("a small kernel takes {:.1} s", begun.elapsed().as_secs_f64())),
        Err(error) => {
            let text = error.to_string();
            let first = text.lines().take(4).collect::<Vec<_>>().join(" ");
            let remedy = "check the host compiler (g++, or NVCC_CCBIN) and that the toolkit is complete: `cargo xtask \
                          setup` installs one";
            Check::new(NAME, Status::Broken, first, remedy)
        }
    }
}
