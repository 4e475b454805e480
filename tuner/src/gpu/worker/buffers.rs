//! Matrices between guard zones.

use std::marker::PhantomData;

use autokernel_codegen::matmul::Problem;
use autokernel_codegen::matmul::{extents, sizes};
use autokernel_core::Extents;
use autokernel_runtime::{Element, MatrixView, MatrixViewMut};
use cudarc::driver::sys::CUdeviceptr;
use cudarc::driver::{CudaSlice, DevicePtr};

use super::error::{Result, WorkerError};
use super::instruments::{Instruments, Rectangle, Reports};

/// Bytes before and after a matrix that is checked: more than a row of a large matrix.
pub const GUARD_BYTES: usize = 1 << 20;

/// A row-major matrix with guard zones before and after it; the guards and the gaps between rows hold NaN.
pub struct Guarded<T> {
    data: CudaSlice<T>,
    guard: usize,
    rows: usize,
    columns: usize,
    ld: usize,
}

impl<T: Element> Guarded<T> {
    /// A matrix of NaN.
    pub fn new(tools: &Instruments, rows: usize, columns: usize, ld: usize, guard_bytes: usize) -> Result<Self> {
        let guard = guard_bytes / size_of::<T>();
        let elements = rows * ld + 2 * guard;
        // SAFETY: `poison_all` writes every byte in stream order before anything can read one.
        let data = unsafe { tools.stream().alloc::<T>(elements) };
        let data = data.map_err(WorkerError::driver("allocating a matrix"))?;
        let matrix = Guarded { data, guard, rows, columns, ld };
        matrix.poison_all(tools)?;
        Ok(matrix)
    }

    /// Fills the matrix, its gaps and its guards with NaN.
    pub fn poison_all(&self, tools: &Instruments) -> Result<()> {
        tools.poison(self.base(tools), self.data.len() * size_of::<T>())
    }

    /// The matrix in device memory.
    pub fn rectangle(&self, tools: &Instruments) -> Rectangle {
        let address = self.base(tools) + (self.guard * size_of::<T>()) as u64;
        Rectangle { address, rows: self.rows, columns: self.columns, ld: self.ld }
    }

    /// To read.
    pub fn view(&self) -> Result<MatrixView<'_, T>> {
        let body = self.data.slice(self.guard..self.data.len() - self.guard);
        Ok(MatrixView::from_cudarc_with_ld(body, self.rows, self.columns, self.ld)?)
    }

    /// To write.
    pub fn view_mut(&mut self) -> Result<MatrixViewMut<'_, T>> {
        let end = self.data.len() - self.guard;
        let body = self.data.slice_mut(self.guard..end);
        Ok(MatrixViewMut::from_cudarc_with_ld(body, self.rows, self.columns, self.ld)?)
    }

    /// One element. Waits for the GPU.
    pub fn element(&self, tools: &Instruments, row: usize, column: usize) -> Result<f32> {
        let at = self.guard + row * self.ld + column;
        let value = tools.stream().clone_dtoh(&self.data.slice(at..=at));
        let value = value.map_err(WorkerError::driver("reading a wrong element"))?;
        Ok(value.first().map_or(f32::NAN, |value| value.to_f32()))
    }

    /// Counts touched bytes of the guards and the gaps into report `index`.
    pub fn count_touched(&self, tools: &Instruments, reports: &Reports, index: usize) -> Result<()> {
        let (base, element) = (self.base(tools), size_of::<T>());
        let (guard, body) = (self.guard * element, self.rows * self.ld * element);
        let run = |offset: usize, rows, columns, ld| Rectangle { address: base + offset as u64, rows, columns, ld };
        tools.count_touched(run(0, 1, guard, guard), reports, index)?;
        tools.count_touched(run(guard + body, 1, guard, guard), reports, index)?;
        let (columns, ld) = (self.columns * element, self.ld * element);
        tools.count_touched(run(guard + columns, self.rows, ld - columns, ld), reports, index)
    }

    fn base(&self, tools: &Instruments) -> CUdeviceptr {
        let (address, _guard) = self.data.device_ptr(tools.stream());
        address
    }
}

/// A, B and C of one launch.
pub struct Operands<I, O> {
    /// `[m, k]`.
    pub a: Guarded<I>,
    /// `[k, n]`, or `[n, k]` if it is stored transposed.
    pub b: Guarded<I>,
    /// `[m, n]`.
    pub c: Guarded<O>,
    b_scale: f32,
    _types: PhantomData<(I, O)>,
}

/// Where the rows of a matrix lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// One after the other.
    Dense,
    /// With a gap after each, and at 16-byte aligned starts.
    Gapped,
}

impl Rows {
    fn ld(self, columns: usize) -> usize {
        match self {
            Rows::Dense => columns,
            Rows::Gapped => columns.next_multiple_of(8) + 8,
        }
    }
}

impl<I: Element, O: Element> Operands<I, O> {
    /// Random A and B, and a C of NaN. B is scaled by `1/sqrt(k)`, so that C has the scale of a network's
    /// activations and an epilogue such as a sigmoid is not saturated.
    pub fn new(
        tools: &Instruments,
        problem: &Problem,
        shape: Extents,
        rows: Rows,
        guard_bytes: usize,
        seed: u64,
    ) -> Result<Self> {
        let [m, n, k] = sizes(&shape).map(|size| size as usize);
        let (b_rows, b_columns) = if problem.layout.transpose_b() { (n, k) } else { (k, n) };
        let a = Guarded::new(tools, m, k, rows.ld(k), guard_bytes)?;
        let b = Guarded::new(tools, b_rows, b_columns, rows.ld(b_columns), guard_bytes)?;
        let c = Guarded::new(tools, m, n, rows.ld(n), guard_bytes)?;
        let b_scale = 1.0 / (k.max(1) as f32).sqrt();
        let operands = Operands { a, b, c, b_scale, _types: PhantomData };
        operands.draw(tools, seed)?;
        Ok(operands)
    }

    /// Draws A and B anew.
    pub fn draw(&self, tools: &Instruments, seed: u64) -> Result<()> {
        tools.fill_normal(self.a.rectangle(tools), seed, 1.0)?;
        tools.fill_normal(self.b.rectangle(tools), !seed, self.b_scale)
    }

    /// Bytes that one launch reads and writes at least once.
    pub fn bytes(problem: &Problem, shape: Extents) -> u64 {
        let [m, n, k] = sizes(&shape).map(u64::from);
        let (input, output) = (u64::from(problem.input.bytes()), u64::from(problem.output.bytes()));
        (m * k + k * n) * input + m * n * output
    }
}

/// A small shape beside `shape` on which a kernel is checked too: no extent is a multiple of any tile, the last tile
/// of K is ragged, and each row is followed by a gap. Extents that were compiled in stay.
pub fn ragged_sibling(problem: &Problem, shape: Extents) -> Extents {
    const RAGGED: [u32; 3] = [389, 523, 203];
    let ([m, n, k], [most, ..]) = (RAGGED, sizes(&shape));
    extents(m.min(most), problem.known_n.unwrap_or(n), problem.known_k.unwrap_or(k))
}

#[cfg(test)]
mod tests {
    use autokernel_codegen::dtype::Dtype;
    use autokernel_codegen::matmul::problem::Layout;

    use super::*;

    #[test]
    fn the_sibling_is_ragged_in_every_extent_that_is_not_compiled_in() {
        let problem = Problem::new(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap());
        let shape = extents(4096, 4096, 4096);
        let sibling = ragged_sibling(&problem, shape);
        for extent in sizes(&sibling) {
            assert!(extent % 2 == 1, "{sibling}");
        }
        let known = Problem { known_n: Some(4096), ..problem };
        assert_eq!(sizes(&ragged_sibling(&known, shape))[1], 4096);
    }
}
