//! The worker's own kernels (`cuda/instruments.cu`): inputs, checks, a brake, a clock, a separate epilogue.

use std::sync::Arc;

use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::emit::{KernelSource, Spelling, Tolerance};
use autokernel_codegen::opponent::{Opponent, Product};
use autokernel_codegen::problem::Problem;
use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaFunction, CudaModule, CudaSlice, CudaStream, DevicePtr, LaunchConfig, PushKernelArg, result};
use cudarc::nvrtc::Ptx;

use super::error::{Result, WorkerError};

/// The byte that outputs, gaps and guards are filled with: in every element type, all ones is NaN.
pub const POISON: u8 = 0xff;

/// The kernel whose ptxas report stands for all of them.
const SYMBOL: &str = "autokernel_clock";
const THREADS: u32 = 256;
/// The brake lets go by itself after this long.
const BRAKE_LIMIT_NS: u64 = 200_000_000;

/// The CUDA source of the instruments of a problem: with the epilogue that its opponent needs behind it, if any.
pub fn source(problem: &Problem) -> KernelSource {
    let mut cuda = format!(
        "#include \"epilogue.cuh\"\n#include \"int8.cuh\"\n#include \"packed4.cuh\"\n#include \"types.cuh\"\n\n{}",
        include_str!("../../../cuda/instruments.cu")
    );
    if let Some(Opponent::CublasLt(Product { output, epilogue: Some(epilogue), .. })) = problem.opponent() {
        let (parameter, body) = (&epilogue.function().parameter, epilogue.cuda_body(Spelling::Exact));
        cuda += &format!(
            "\nstruct Problem {{\n  using Output = autokernel::{output};\n  \
             __device__ __forceinline__ static float epilogue(float {parameter}) {{\n{body}\n  }}\n}};\n\n{}",
            include_str!("../../../cuda/epilogue.cu")
        );
    }
    KernelSource { symbol: SYMBOL.to_owned(), cuda }
}

/// The instruments, loaded into a context.
pub struct Instruments {
    stream: Arc<CudaStream>,
    sm_count: u32,
    /// By element type, in the order of [`types`].
    typed: Vec<Typed>,
    fill_packed: CudaFunction,
    count_touched: CudaFunction,
    brake: CudaFunction,
    clock: CudaFunction,
    /// Where the opponent needs one.
    apply_epilogue: Option<CudaFunction>,
}

/// Every type of elements that kernels write: of packed numbers a byte counts as a number.
fn types() -> impl Iterator<Item = Dtype> {
    Dtype::ALL.into_iter().chain([Dtype::I4x2])
}

/// The kernels of one element type.
struct Typed {
    fill_normal: CudaFunction,
    compare: CudaFunction,
    count_unwritten: CudaFunction,
}

/// What a check found; `instruments::Report`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    /// Elements that are wrong, or bytes that were touched.
    pub wrong: u64,
    /// The lowest index of one.
    pub first_wrong: u64,
    /// The largest difference, in tolerances.
    pub worst_excess_bits: u32,
}

/// `instruments::Report` in 64-bit words.
const REPORT_WORDS: usize = 3;
const CLEAN: [u64; REPORT_WORDS] = [0, u64::MAX, 0];

/// Reports in device memory.
pub struct Reports {
    words: CudaSlice<u64>,
    count: usize,
}

/// A rectangle in device memory.
#[derive(Clone, Copy, Debug)]
pub struct Rectangle {
    /// Its first element.
    pub address: CUdeviceptr,
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Elements from one row to the next.
    pub ld: usize,
}

impl Instruments {
    /// Loads the cubin of [`source`] of `problem`.
    pub fn load(stream: &Arc<CudaStream>, sm_count: u32, problem: &Problem, cubin: Vec<u8>) -> Result<Self> {
        let has_epilogue = matches!(problem.opponent(), Some(Opponent::CublasLt(Product { epilogue: Some(_), .. })));
        let doing = WorkerError::driver("loading the worker's instruments");
        let module = stream.context().load_module(Ptx::from_binary(cubin)).map_err(&doing)?;
        let function = |name: &str| function(&module, name);
        let typed = |dtype: Dtype| -> Result<Typed> {
            Ok(Typed {
                fill_normal: function(&format!("autokernel_fill_normal_{dtype}"))?,
                compare: function(&format!("autokernel_compare_{dtype}"))?,
                count_unwritten: function(&format!("autokernel_count_unwritten_{dtype}"))?,
            })
        };
        Ok(Instruments {
            stream: stream.clone(),
            sm_count,
            typed: types().map(typed).collect::<Result<_>>()?,
            fill_packed: function("autokernel_fill_packed")?,
            count_touched: function("autokernel_count_touched")?,
            brake: function("autokernel_brake")?,
            clock: function("autokernel_clock")?,
            apply_epilogue: if has_epilogue { Some(function("autokernel_apply_epilogue")?) } else { None },
        })
    }

    /// The stream everything runs on.
    pub fn stream(&self) -> &Arc<CudaStream> {
        &self.stream
    }

    /// Fills an input with `scale` times standard normal numbers; one of packed numbers with all that there are, alike.
    pub fn fill_normal(&self, dtype: Dtype, to: Rectangle, seed: u64, scale: f32) -> Result<()> {
        let Rectangle { address, rows, columns, ld } = to;
        let (rows, columns, ld) = (rows as u64, columns as u64, ld as u64);
        if dtype == Dtype::I4x2 {
            let mut launch = self.stream.launch_builder(&self.fill_packed);
            launch.arg(&address).arg(&rows).arg(&columns).arg(&ld).arg(&seed);
            // SAFETY: the parameters are those of the kernel, and `to` lies inside a live buffer of this stream.
            unsafe { launch.launch(self.grid()) }.map_err(WorkerError::driver("filling packed numbers"))?;
            return Ok(());
        }
        let mut launch = self.stream.launch_builder(&self.typed(dtype).fill_normal);
        launch.arg(&address).arg(&rows).arg(&columns).arg(&ld).arg(&seed).arg(&scale);
        // SAFETY: the parameters are those of the kernel, and `to` lies inside a live buffer of this stream.
        unsafe { launch.launch(self.grid()) }.map_err(WorkerError::driver("filling an input"))?;
        Ok(())
    }

    /// Reports that have found nothing.
    pub fn reports(&self, count: usize) -> Result<Reports> {
        let doing = WorkerError::driver("preparing a check");
        let words = self.stream.clone_htod(&CLEAN.repeat(count)).map_err(&doing)?;
        Ok(Reports { words, count })
    }

    /// Compares `c` with the reference, which has no gaps, into report `index`; where `leaves_some_alone`, what the reference
    /// did not write is right as it was.
    #[allow(clippy::too_many_arguments, reason = "they are the kernel's")]
    pub fn compare(
        &self,
        dtype: Dtype,
        c: Rectangle,
        expected: CUdeviceptr,
        tolerance: Tolerance,
        leaves_some_alone: bool,
        reports: &Reports,
        index: usize,
    ) -> Result<()> {
        let Rectangle { address, rows, columns, ld } = c;
        let (rows, columns, ld) = (rows as u64, columns as u64, ld as u64);
        let (leaves_some_alone, report) = (u32::from(leaves_some_alone), reports.address(&self.stream, index));
        let mut launch = self.stream.launch_builder(&self.typed(dtype).compare);
        launch.arg(&address).arg(&ld).arg(&expected).arg(&rows).arg(&columns);
        launch.arg(&tolerance.absolute).arg(&tolerance.relative).arg(&leaves_some_alone).arg(&report);
        // SAFETY: the parameters are those of the kernel; `c`, the reference and the report are live.
        unsafe { launch.launch(self.grid()) }.map_err(WorkerError::driver("comparing a result"))?;
        Ok(())
    }

    /// Counts bytes that are not [`POISON`] any more into report `index`; columns and ld are in bytes.
    pub fn count_touched(&self, bytes: Rectangle, reports: &Reports, index: usize) -> Result<()> {
        let Rectangle { address, rows, columns, ld } = bytes;
        if rows == 0 || columns == 0 {
            return Ok(());
        }
        let (rows, columns, ld, poison) = (rows as u64, columns as u64, ld as u64, u32::from(POISON));
        let report = reports.address(&self.stream, index);
        let mut launch = self.stream.launch_builder(&self.count_touched);
        launch.arg(&address).arg(&rows).arg(&columns).arg(&ld).arg(&poison).arg(&report);
        // SAFETY: the parameters are those of the kernel; the bytes and the report are live.
        unsafe { launch.launch(self.grid()) }.map_err(WorkerError::driver("checking guard zones"))?;
        Ok(())
    }

    /// Counts the elements of `c` that are NaN, as [`POISON`] is, into report `index`.
    pub fn count_unwritten(&self, dtype: Dtype, c: Rectangle, reports: &Reports, index: usize) -> Result<()> {
        let Rectangle { address, rows, columns, ld } = c;
        let (rows, columns, ld) = (rows as u64, columns as u64, ld as u64);
        let report = reports.address(&self.stream, index);
        let mut launch = self.stream.launch_builder(&self.typed(dtype).count_unwritten);
        launch.arg(&address).arg(&ld).arg(&rows).arg(&columns).arg(&report);
        // SAFETY: the parameters are those of the kernel; `c` and the report are live.
        unsafe { launch.launch(self.grid()) }.map_err(WorkerError::driver("looking for unwritten elements"))?;
        Ok(())
    }

    /// Reads reports. Waits for the GPU.
    pub fn read(&self, reports: &Reports) -> Result<Vec<Report>> {
        let words = self.stream.clone_dtoh(&reports.words).map_err(WorkerError::driver("checking a result"))?;
        let report =
            |words: &[u64]| Report { wrong: words[0], first_wrong: words[1], worst_excess_bits: words[2] as u32 };
        Ok(words.chunks_exact(REPORT_WORDS).take(reports.count).map(report).collect())
    }

    /// Holds the stream until `*released` (in mapped host memory) is not 0.
    pub fn brake(&self, released: CUdeviceptr) -> Result<()> {
        let mut launch = self.stream.launch_builder(&self.brake);
        launch.arg(&released).arg(&BRAKE_LIMIT_NS);
        let one = LaunchConfig { grid_dim: (1, 1, 1), block_dim: (1, 1, 1), shared_mem_bytes: 0 };
        // SAFETY: the parameters are those of the kernel; the flag outlives the stopwatch's batch.
        unsafe { launch.launch(one) }.map_err(WorkerError::driver("holding the stream"))?;
        Ok(())
    }

    /// Writes SM 0's cycle counter and the time in nanoseconds to two words at `to`.
    pub fn clock(&self, to: CUdeviceptr) -> Result<()> {
        let mut launch = self.stream.launch_builder(&self.clock);
        launch.arg(&to);
        // Two blocks for each SM: SM 0 gets one.
        let grid = LaunchConfig { grid_dim: (2 * self.sm_count, 1, 1), block_dim: (32, 1, 1), shared_mem_bytes: 0 };
        // SAFETY: the parameter is that of the kernel; two words at `to` are live.
        unsafe { launch.launch(grid) }.map_err(WorkerError::driver("reading the SM clock"))?;
        Ok(())
    }

    /// `c = epilogue(c)` on `elements` elements, a multiple of 8, at a 16-byte aligned address.
    pub fn apply_epilogue(&self, c: CUdeviceptr, elements: usize) -> Result<()> {
        let missing = || WorkerError::Request("the problem's opponent needs no epilogue".to_owned());
        let (elements, kernel) = (elements as u64, self.apply_epilogue.as_ref().ok_or_else(missing)?);
        let mut launch = self.stream.launch_builder(kernel);
        launch.arg(&c).arg(&elements);
        // SAFETY: the parameters are those of the kernel; the elements are live.
        unsafe { launch.launch(self.grid()) }.map_err(WorkerError::driver("applying the epilogue"))?;
        Ok(())
    }

    /// Fills `bytes` bytes with [`POISON`].
    pub fn poison(&self, address: CUdeviceptr, bytes: usize) -> Result<()> {
        // SAFETY: the caller's buffer is live and has that many bytes.
        unsafe { result::memset_d8_async(address, POISON, bytes, self.stream.cu_stream()) }
            .map_err(WorkerError::driver("poisoning a buffer"))
    }

    fn typed(&self, dtype: Dtype) -> &Typed {
        let number = types().position(|known| known == dtype);
        &self.typed[number.expect("every type is one of all")]
    }

    /// Enough blocks for every SM; the kernels stride over the rest.
    fn grid(&self) -> LaunchConfig {
        LaunchConfig { grid_dim: (8 * self.sm_count, 1, 1), block_dim: (THREADS, 1, 1), shared_mem_bytes: 0 }
    }
}

impl Reports {
    fn address(&self, stream: &CudaStream, index: usize) -> CUdeviceptr {
        let (address, _guard) = self.words.device_ptr(stream);
        address + (index * REPORT_WORDS * size_of::<u64>()) as u64
    }
}

/// A kernel of a module.
pub fn function(module: &Arc<CudaModule>, name: &str) -> Result<CudaFunction> {
    module.load_function(name).map_err(WorkerError::driver("finding a kernel in its cubin"))
}

#[cfg(test)]
mod tests {
    use autokernel_codegen::problem::Layout;

    use super::*;

    #[test]
    fn the_source_has_the_epilogue_that_the_opponent_lacks() {
        let source = |epilogue: &str| source(&Problem::matmul(Dtype::F16, Layout::Nn, epilogue.parse().unwrap())).cuda;
        assert!(source("silu").contains("using Output = autokernel::f16;"));
        assert!(source("silu").contains("autokernel_apply_epilogue"));
        for fused in ["identity", "relu"] {
            assert!(!source(fused).contains("autokernel_apply_epilogue"), "{fused}");
        }
    }

    #[test]
    fn there_is_a_kernel_for_each_element_type() {
        let problem = Problem::matmul(Dtype::F16, Layout::Nn, "relu".parse().unwrap());
        for dtype in types() {
            assert!(source(&problem).cuda.contains(&format!("AUTOKERNEL_INSTRUMENTS({dtype}, ")), "{dtype}");
        }
    }
}
