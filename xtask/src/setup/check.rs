//! The proof that an installed nvcc works: it compiles a kernel.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// The newest architecture that the project's kernels are written for.
pub const ARCH: &str = "sm_90a";

/// The headers are included because kernels need them and nvcc's wheel does not hold them.
const KERNEL: &str = r#"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
extern "C" __global__ void check(__nv_bfloat16* c, const __half* a) {
  c[threadIdx.x] = __float2bfloat16(__half2float(a[threadIdx.x]));
}
"#;

/// Compiles a small kernel for [`ARCH`] and returns the length of its cubin in bytes.
pub fn compile(nvcc: &Path) -> Result<u64> {
    let dir = tempfile::tempdir().context("cannot create a temporary folder: check TMPDIR")?;
    let source = dir.path().join("check.cu");
    let cubin = dir.path().join("check.cubin");
    fs::write(&source, KERNEL)?;
    let output = Command::new(nvcc)
        .args(["-std=c++17", "-gencode", "arch=compute_90a,code=sm_90a", "-cubin", "-o"])
        .args([&cubin, &source])
        .output()
        .with_context(|| format!("{} does not start", nvcc.display()))?;
    if !output.status.success() {
        bail!(
            "nvcc cannot compile a kernel ({}):\n{}{}\nnvcc needs a C++ compiler beside it: install g++ \
             (Debian, Ubuntu: apt-get install g++) and run `cargo xtask setup` again",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
    }
    let length = fs::metadata(&cubin).context("nvcc reported success but wrote no cubin")?.len();
    if length == 0 {
        bail!("nvcc reported success but wrote an empty cubin: run `cargo xtask setup --force`");
    }
    Ok(length)
}
