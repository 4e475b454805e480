//! The reference kernel that the tuner holds its candidates against, launched here to be held against the CPU.

use std::sync::Arc;

use autokernel::Shape;
use autokernel::cudarc::driver::{
    CudaModule, CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DeviceRepr, DriverError, LaunchConfig, PushKernelArg,
};
use autokernel::cudarc::nvrtc::Ptx;

use crate::host::Sample;

/// Rows and columns that a block computes (`kTile` of reference_matmul.cuh).
const TILE: u32 = 16;

/// `autokernel::reference::Args`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Args {
    a: u64,
    b: u64,
    c: u64,
    lda: i64,
    ldb: i64,
    ldc: i64,
    m: i32,
    n: i32,
    k: i32,
}

// SAFETY: plain numbers in the order and layout of the CUDA struct.
unsafe impl DeviceRepr for Args {}

/// Runs the reference kernel `symbol` of `cubin` on dense operands; gives the unrounded result.
///
/// # Errors
/// The driver's own.
pub fn run<I: Sample>(
    stream: &Arc<CudaStream>,
    cubin: Vec<u8>,
    symbol: &str,
    shape: Shape,
    transpose_b: bool,
    [a, b]: [&[I]; 2],
) -> Result<Vec<f32>, DriverError> {
    let module: Arc<CudaModule> = stream.context().load_module(Ptx::from_binary(cubin))?;
    let function = module.load_function(symbol)?;
    let (a, b) = (stream.clone_htod(a)?, stream.clone_htod(b)?);
    let mut c: CudaSlice<f32> = stream.alloc_zeros(shape.m as usize * shape.n as usize)?;
    {
        let (a, _reads_a) = a.device_ptr(stream);
        let (b, _reads_b) = b.device_ptr(stream);
        let (c, _writes_c) = c.device_ptr_mut(stream);
        let Shape { m, n, k } = shape;
        let (lda, ldb, ldc) = (k.into(), if transpose_b { k } else { n }.into(), n.into());
        let args = Args { a, b, c, lda, ldb, ldc, m: m as i32, n: n as i32, k: k as i32 };
        let config = LaunchConfig {
            grid_dim: (n.div_ceil(TILE), m.div_ceil(TILE), 1),
            block_dim: (TILE * TILE, 1, 1),
            shared_mem_bytes: 0,
        };
        // SAFETY: the kernel takes one `Args`; the operands are dense and as large as the shape says, and live on.
        unsafe { stream.launch_builder(&function).arg(&args).launch(config) }?;
    }
    stream.clone_dtoh(&c)
}
