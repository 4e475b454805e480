//! The result every candidate is held against, and the check itself.

use autokernel_codegen::dtype::Dtype;
use autokernel_codegen::matmul::Problem;
use autokernel_codegen::matmul::sizes;
use autokernel_core::Extents;
use autokernel_runtime::Element;
use cudarc::driver::{CudaFunction, CudaSlice, DevicePtr, LaunchConfig, PushKernelArg};

use super::buffers::Operands;
use super::error::{Result, WorkerError};
use super::instruments::{Instruments, Rectangle, Report, Tolerance};

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

/// The fp64-accumulated result of one set of operands, in fp32: of all rows, or of every `stride`th where all would take
/// too long.
pub struct Reference {
    kernel: CudaFunction,
    expected: CudaSlice<f32>,
    tolerance: Tolerance,
    shape: Extents,
    stride: usize,
    /// The first of the rows that were computed.
    first: usize,
}

/// Products that one reference may take: about 5 ms on an H200.
const MOST_PRODUCTS: u64 = 1 << 33;
/// A warp of either family writes at least 16 rows, so that each of them has a row that is looked at.
const MAX_STRIDE: u64 = 16;

/// How many rows apart the rows are that a check of `shape` looks at.
fn row_stride(shape: Extents) -> usize {
    let products = sizes(&shape).map(u64::from).iter().product::<u64>();
    products.div_ceil(MOST_PRODUCTS).max(1).next_power_of_two().min(MAX_STRIDE) as usize
}

impl Reference {
    /// Room for the result of `problem` at `shape`, which `kernel` computes.
    pub fn new(tools: &Instruments, kernel: &CudaFunction, problem: &Problem, shape: Extents) -> Result<Self> {
        let stride = row_stride(shape);
        let [m, n, _] = sizes(&shape).map(|size| size as usize);
        let elements = m.div_ceil(stride) * n;
        // SAFETY: nothing reads it before `compute` has written it.
        let expected = unsafe { tools.stream().alloc::<f32>(elements) };
        let expected = expected.map_err(WorkerError::driver("allocating the reference result"))?;
        let kernel = kernel.clone();
        Ok(Reference { kernel, expected, tolerance: tolerance(problem, shape), shape, stride, first: 0 })
    }

    /// Runs the reference kernel on `operands`. Which rows it computes depends on `seed`, so that in time every row has its
    /// turn.
    pub fn compute<I: Element, O: Element>(
        &mut self,
        tools: &Instruments,
        operands: &Operands<I, O>,
        seed: u64,
    ) -> Result<()> {
        self.first = (seed % self.stride as u64) as usize;
        let (a, b) = (operands.a.rectangle(tools), operands.b.rectangle(tools));
        let a = self.rows_of(a, size_of::<I>());
        let [_, n, k] = sizes(&self.shape);
        let args = Args {
            a: a.address,
            b: b.address,
            c: self.expected.device_ptr(tools.stream()).0,
            lda: a.ld as i64,
            ldb: b.ld as i64,
            ldc: i64::from(n),
            m: a.rows as i32,
            n: n as i32,
            k: k as i32,
        };
        let grid = (n.div_ceil(TILE), (a.rows as u32).div_ceil(TILE).clamp(1, MAX_GRID_Y), 1);
        let launch = LaunchConfig { grid_dim: grid, block_dim: (TILE * TILE, 1, 1), shared_mem_bytes: 0 };
        // SAFETY: `Args` is the kernel's parameter, and all three matrices are live and as large as it says.
        unsafe { tools.stream().launch_builder(&self.kernel).arg(&args).launch(launch) }
            .map_err(WorkerError::driver("computing the reference result"))?;
        Ok(())
    }

    /// The rows of `matrix` that are looked at, as a matrix.
    fn rows_of(&self, matrix: Rectangle, element: usize) -> Rectangle {
        let Rectangle { address, rows, columns, ld } = matrix;
        let address = address + (self.first * ld * element) as u64;
        Rectangle {
            address,
            rows: rows.saturating_sub(self.first).div_ceil(self.stride),
            columns,
            ld: ld * self.stride,
        }
    }

    /// Holds C against the reference, and looks whether it was written everywhere and nowhere else. Waits for the GPU.
    ///
    /// # Errors
    /// [`WorkerError::WrongResult`] with the first wrong element, or the number of elements that were not written, or of
    /// bytes outside C that were.
    pub fn check<I: Element, O: Element>(&self, tools: &Instruments, operands: &Operands<I, O>) -> Result<()> {
        let reports = tools.reports(3)?;
        let c = operands.c.rectangle(tools);
        let expected = self.expected.device_ptr(tools.stream()).0;
        tools.compare(self.rows_of(c, size_of::<O>()), expected, self.tolerance, &reports, 0)?;
        operands.c.count_touched(tools, &reports, 1)?;
        if self.stride > 1 {
            tools.count_unwritten(c, &reports, 2)?;
        }
        let found = tools.read(&reports)?;
        let (result, outside, unwritten) = (found[0], found[1], found[2]);
        let mut faults = Vec::new();
        if result.wrong > 0 {
            faults.push(self.describe(tools, operands, &result)?);
        }
        if unwritten.wrong > 0 {
            let (row, column) = place(unwritten.first_wrong, c.columns);
            let count = unwritten.wrong;
            faults.push(format!("{count} elements were not written or are NaN; the first is c[{row}, {column}]"));
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
        let checked = self.rows_of(c, size_of::<O>()).rows;
        let (row, column) = place(result.first_wrong, c.columns);
        let got = operands.c.element(tools, self.first + row * self.stride, column)?;
        let at = row * c.columns + column;
        let want = tools.stream().clone_dtoh(&self.expected.slice(at..=at));
        let want = want.map_err(WorkerError::driver("reading the reference"))?[0];
        Ok(format!(
            "{} of {} elements looked at of the {}x{} result are wrong; the first, c[{}, {column}], is {got} and not \
             {want}; the worst is {:.3e} tolerances off (tolerance {:.2e} + {:.2e} of the value)",
            result.wrong,
            checked * c.columns,
            c.rows,
            c.columns,
            self.first + row * self.stride,
            f32::from_bits(result.worst_excess_bits),
            self.tolerance.absolute,
            self.tolerance.relative,
        ))
    }
}

fn place(index: u64, columns: usize) -> (usize, usize) {
    let index = usize::try_from(index).unwrap_or(0);
    (index / columns.max(1), index % columns.max(1))
}

/// With A ~ N(0, 1) and B ~ N(0, 1/k), sums are about 1 and single products about `1/sqrt(k)`.
///
/// Rounding: a sum of k terms in fp32, in any order, is off by about `sqrt(k)` units of 2⁻²⁴ and at most k; the
/// absolute tolerance of `sqrt(k) * 2⁻¹⁸` is far above the first and far below one missing product. The relative one
/// is a unit in the last place of the output: half for rounding, half for a sum that falls on the other side.
fn tolerance(problem: &Problem, shape: Extents) -> Tolerance {
    let absolute = (sizes(&shape)[2].max(1) as f32).sqrt() * 2f32.powi(-18);
    let relative = match problem.output {
        Dtype::Bf16 => 2f32.powi(-8),
        Dtype::F16 => 2f32.powi(-11) * 2.0,
        Dtype::F32 => 2f32.powi(-20),
    };
    Tolerance { absolute, relative }
}

#[cfg(test)]
mod tests {
    use autokernel_codegen::matmul::extents;
    use autokernel_codegen::matmul::problem::Layout;

    use super::*;

    #[test]
    fn large_results_are_looked_at_in_every_sixteenth_row_at_the_least() {
        let stride = |edge| row_stride(extents(edge, edge, edge));
        assert_eq!((stride(64), stride(2048), stride(4096), stride(8192), stride(32_768)), (1, 1, 8, 16, 16));
        assert_eq!(row_stride(extents(16, 8192, 8192)), 1);
    }

    #[test]
    fn the_tolerance_grows_with_k_and_stays_below_a_missing_product() {
        let problem = Problem::new(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap());
        let absolute = |k| tolerance(&problem, extents(1, 1, k)).absolute;
        assert!(absolute(4096) > absolute(64));
        for k in [1, 64, 4096, 65_536] {
            let product = 1.0 / (k as f32).sqrt();
            assert!(absolute(k) <= 0.25 * product, "{k}");
        }
    }
}
