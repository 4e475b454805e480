//! The elementwise kernel that follows a product where nothing is fused.

use std::sync::Arc;

use autokernel_runtime::{Device, Dtype, Element, Matrix};
use cudarc::driver::{CudaFunction, CudaStream, LaunchConfig, PushKernelArg};
use cudarc::nvrtc::Ptx;

use crate::{Error, Result};

const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/leaky_relu_in_place.ptx"));
const THREADS: u32 = 256;
const ELEMENTS_PER_THREAD: usize = 8;

/// LeakyReLU over a 16-bit matrix, in place.
pub struct LeakyRelu {
    function: CudaFunction,
    stream: Arc<CudaStream>,
}

impl LeakyRelu {
    /// The kernel, loaded on the stream of `device`.
    ///
    /// # Errors
    /// The device is the CPU, or the kernel was not compiled.
    pub fn new(device: &Device) -> Result<Self> {
        let stream = device.stream().ok_or(Error::Operands("the elementwise kernel needs a GPU"))?.clone();
        if PTX.is_empty() {
            return Err(Error::NotCompiled);
        }
        let function = stream.context().load_module(Ptx::from_src(PTX))?.load_function("leaky_relu_in_place")?;
        Ok(LeakyRelu { function, stream })
    }

    /// `x = x < 0 ? slope · x : x` for every element of `values`, gaps between its rows included.
    ///
    /// # Errors
    /// The matrix is not on the kernel's GPU or not of 16-bit elements, or the driver refuses the launch.
    pub fn launch<T: Element>(&self, slope: f32, values: &mut Matrix<T>) -> Result<()> {
        let is_bf16: i32 = match T::DTYPE {
            Dtype::Bf16 => 1,
            Dtype::F16 => 0,
            Dtype::F32 | Dtype::E4m3 | Dtype::E5m2 | Dtype::I8 | Dtype::I4x2 | Dtype::I32 => {
                return Err(Error::Operands("the elementwise kernel takes 16-bit elements"));
            }
        };
        let values = values.as_cudarc_mut().ok_or(Error::Operands("the matrix is on the CPU"))?;
        if values.context().cu_ctx() != self.stream.context().cu_ctx() {
            return Err(Error::Operands("the matrix is on another GPU"));
        }
        let count = values.len() as u64;
        let blocks = values.len().div_ceil(ELEMENTS_PER_THREAD * THREADS as usize).max(1);
        let config = LaunchConfig {
            grid_dim: (u32::try_from(blocks).unwrap_or(u32::MAX >> 1), 1, 1),
            block_dim: (THREADS, 1, 1),
            shared_mem_bytes: 0,
        };
        let mut launch = self.stream.launch_builder(&self.function);
        launch.arg(values).arg(&count).arg(&slope).arg(&is_bf16);
        // SAFETY: the arguments are those of the kernel, and it touches the first `count` elements of `values` alone.
        unsafe { launch.launch(config)? };
        Ok(())
    }
}
