//! The result every candidate is held against, and the check itself.

use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::problem::Problem;
use autokernel_codegen::shape::Shape;
use autokernel_runtime::Element;
use cudarc::driver::{CudaFunction, CudaSlice, DevicePtr, LaunchConfig, PushKernelArg};

use super::buffers::Operands;
use super::error::{Result, WorkerError};
use super::instruments::{Instruments, Report, Tolerance};

/// `autokernel::reference::Args`.
#[derive(Clone, Copy, Debug)]
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

// SAFETY: plain numbers in the layout of the kernel's parameter.
unsafe impl cudarc::driver::DeviceRepr for Args {}

/// `autokernel::reference::kTile`.
const TILE: u32 = 16;
const MAX_GRID_Y: u32 = 65_535;

/// The fp64-accumulated result of one set of operands, in fp32.
pub struct Reference {
    expected: CudaSlice<f32>,
    tolerance: Tolerance,
}

impl Reference {
    /// Runs the reference kernel.
    pub fn compute<I: Element, O: Element>(
        tools: &Instruments,
        kernel: &CudaFunction,
        problem: &Problem,
        shape: Shape,
        operands: &Operands<I, O>,
    ) -> Result<Self> {
        let elements = shape.m as usize * shape.n as usize;
        // SAFETY: the reference kernel writes every element in stream order before anything reads one.
        let expected = unsafe { tools.stream().alloc::<f32>(elements) };
        let expected = expected.map_err(WorkerError::driver("allocating the reference result"))?;
        let (a, b) = (operands.a.rectangle(tools), operands.b.rectangle(tools));
        let args = Args {
            a: a.address,
            b: b.address,
            c: expected.device_ptr(tools.stream()).0,
            lda: a.ld as i64,
            ldb: b.ld as i64,
            ldc: i64::from(shape.n),
            m: shape.m as i32,
            n: shape.n as i32,
            k: shape.k as i32,
        };
        let grid = (shape.n.div_ceil(TILE), shape.m.div_ceil(TILE).min(MAX_GRID_Y), 1);
        let launch = LaunchConfig { grid_dim: grid, block_dim: (TILE * TILE, 1, 1), shared_mem_bytes: 0 };
        // SAFETY: `Args` is the kernel's parameter, and all three matrices are live and as large as it says.
        unsafe { tools.stream().launch_builder(kernel).arg(&args).launch(launch) }
            .map_err(WorkerError::driver("computing the reference result"))?;
        Ok(Reference { expected, tolerance: tolerance(problem, shape) })
    }

    /// Holds C against the reference, and looks whether its guards and gaps are intact. Waits for the GPU.
    ///
    /// # Errors
    /// [`WorkerError::WrongResult`] with the first wrong element, or the number of bytes outside C that were written.
    pub fn check<I: Element, O: Element>(&self, tools: &Instruments, operands: &Operands<I, O>) -> Result<()> {
        let reports = tools.reports(2)?;
        let c = operands.c.rectangle(tools);
        let expected = self.expected.device_ptr(tools.stream()).0;
        tools.compare(c, expected, self.tolerance, &reports, 0)?;
        operands.c.count_touched(tools, &reports, 1)?;
        let found = tools.read(&reports)?;
        let (result, outside) = (found[0], found[1]);
        let mut faults = Vec::new();
        if result.wrong > 0 {
            faults.push(self.describe(tools, operands, &result)?);
        }
        if outside.wrong > 0 {
            faults.push(format!("{} bytes outside the {}x{} result were written", outside.wrong, c.rows, c.columns));
        }
        if faults.is_empty() { Ok(()) } else { Err(WorkerError::WrongResult(faults.join("; "))) }
    }

    fn describe<I: Element, O: Element>(
        &self,
        tools: &Instruments,
        operands: &Operands<I, O>,
        result: &Report,
    ) -> Result<String> {
        let c = operands.c.rectangle(tools);
        let index = usize::try_from(result.first_wrong).unwrap_or(0);
        let got = operands.c.element(tools, index)?;
        let want = tools.stream().clone_dtoh(&self.expected.slice(index..=index));
        let want = want.map_err(WorkerError::driver("reading the reference"))?[0];
        Ok(format!(
            "{} of {} elements of the {}x{} result are wrong; the first, c[{}, {}], is {got} and not {want}; the worst \
             is {:.3e} tolerances off (tolerance {:.2e} + {:.2e} of the value)",
            result.wrong,
            c.rows * c.columns,
            c.rows,
            c.columns,
            index / c.columns,
            index % c.columns,
            f32::from_bits(result.worst_excess_bits),
            self.tolerance.absolute,
            self.tolerance.relative,
        ))
    }
}

/// With A ~ N(0, 1) and B ~ N(0, 1/k), sums are about 1 and single products about `1/sqrt(k)`.
///
/// Rounding: a sum of k terms in fp32, in any order, is off by about `sqrt(k)` units of 2⁻²⁴ and at most k; the
/// absolute tolerance of `sqrt(k) * 2⁻¹⁸` is far above the first and far below one missing product. The relative one
/// is a unit in the last place of the output: half for rounding, half for a sum that falls on the other side.
fn tolerance(problem: &Problem, shape: Shape) -> Tolerance {
    let absolute = (shape.k.max(1) as f32).sqrt() * 2f32.powi(-18);
    let relative = match problem.output {
        Dtype::Bf16 => 2f32.powi(-8),
        Dtype::F16 => 2f32.powi(-11) * 2.0,
        Dtype::F32 => 2f32.powi(-20),
    };
    Tolerance { absolute, relative }
}

#[cfg(test)]
mod tests {
    use autokernel_codegen::problem::Layout;

    use super::*;

    #[test]
    fn the_tolerance_grows_with_k_and_stays_below_a_missing_product() {
        let problem = Problem::matmul(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap());
        let absolute = |k| tolerance(&problem, Shape { m: 1, n: 1, k }).absolute;
        assert!(absolute(4096) > absolute(64));
        for k in [1, 64, 4096, 65_536] {
            let product = 1.0 / (k as f32).sqrt();
            assert!(absolute(k) <= 0.25 * product, "{k}");
        }
    }
}
