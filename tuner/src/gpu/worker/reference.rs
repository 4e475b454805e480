//! The result every candidate is held against, and the check itself.

use std::rc::Rc;

use autokernel_codegen::emit::Tolerance;
use autokernel_codegen::problem::Problem;
use autokernel_core::{Extents, Operand, Passed, Role};
use autokernel_runtime::{Argument, CompiledKernel, Device, Index};

use super::buffers::{MatrixBuffer, OperandBuffer, Operands, SCALAR};
use super::error::{Result, WorkerError};
use super::guarded::{Every, Guarded};
use super::instruments::{Instruments, Rectangle, Report};
use crate::numbers::{bounds_along, leaves_some_alone};
use crate::operand::{argument, rows_and_columns};

/// The precise result of one set of operands, in fp32: of all rows, or of every `stride`th where all would take too long.
pub struct Reference {
    kernel: Rc<CompiledKernel>,
    /// Of each output.
    expected: Vec<Guarded<f32>>,
    tolerance: Tolerance,
    /// Whether what it did not write is no one's to write.
    leaves_some_alone: bool,
    /// The rows that were computed, of operands that have the first dimension.
    rows: Every,
}

/// Multiplications with an addition that one reference may take: about 5 ms on an H200.
const MOST_PRODUCTS: u64 = 1 << 33;
/// A warp of any family writes at least 16 rows, so that each of them has a row that is looked at. Of a group of fewer rows one
/// check may see none: another check begins at another row, and that all was written is seen in each.
const MAX_STRIDE: u64 = 16;
/// Reports of a check for each output.
const REPORTS: usize = 3;

/// How many rows apart the rows are that a check of `problem` at `shape` looks at.
fn row_stride(problem: &Problem, shape: Extents) -> usize {
    if !rows_are_independent(problem) {
        return 1;
    }
    let products = (problem.work(&shape).operations / 2.0) as u64;
    products.div_ceil(MOST_PRODUCTS).max(1).next_power_of_two().min(MAX_STRIDE) as usize
}

/// Whether some rows of each output follow from those rows of the inputs: the first dimension is that of rows wherever it
/// is met, each output has it, it was not compiled in, and no element asks for the number of its row, which is another one among
/// those rows.
fn rows_are_independent(problem: &Problem) -> bool {
    let signature = problem.signature();
    let counts_rows = |axes: &[u8]| matches!(axes, [0, other] if *other != 0);
    !problem.counts_rows()
        && signature.dims.first().is_some_and(|dim| dim.known.is_none())
        && signature.outputs().all(|output| counts_rows(&output.axes))
        && signature.inputs().all(|input| counts_rows(&input.axes) || !input.axes.contains(&0))
}

/// Whether the reference reads of this input the rows that it computes, as a plain matrix. Where it computes all, the input
/// stays as a launch passes it: the first axis of attention's is that of batches, and it has heads.
fn is_read_in_part(rows: Every, operand: &Operand) -> bool {
    rows.stride > 1 && operand.axes.first() == Some(&0)
}

/// Of what bounds groups of rows, where they lie among the rows that the reference computes; none of other operands, and none where it
/// computes all.
fn bounds_of_rows(device: &Device, rows: Every, operands: &Operands) -> Result<Vec<Option<Index>>> {
    let bounds = |(number, buffer): (usize, &OperandBuffer)| match buffer {
        OperandBuffer::Numbers { drawn, .. } if rows.stride > 1 && bounds_along(operands.signature(), number, 0) => {
            let among_those: Vec<i32> = drawn.iter().map(|&bound| rows.bound(bound)).collect();
            Ok(Some(Index::from_slice(device, &among_those)?))
        }
        _ => Ok(None),
    };
    operands.all().iter().enumerate().map(bounds).collect()
}

impl Reference {
    /// Room for the result of `problem` at `shape`, which `kernel` computes.
    pub fn new(tools: &Instruments, kernel: &Rc<CompiledKernel>, problem: &Problem, shape: Extents) -> Result<Self> {
        let rows = Every { first: 0, stride: row_stride(problem, shape) };
        let signature = problem.signature();
        let outputs = signature.operands.iter().enumerate().filter(|(_, operand)| operand.role == Role::Output);
        let expected = outputs.map(|(number, _)| {
            let (height, width) = rows_and_columns(&signature, number, &shape);
            Guarded::new(tools, rows.count(height), width, width, 0)
        });
        let expected = expected.collect::<Result<_>>()?;
        let (tolerance, leaves_some_alone) = (problem.tolerance(&shape), leaves_some_alone(&signature));
        Ok(Reference { kernel: Rc::clone(kernel), expected, tolerance, leaves_some_alone, rows })
    }

    /// Runs the reference kernel on `operands`. Which rows it computes depends on `seed`, so that in time every row has its
    /// turn.
    pub fn compute(&mut self, device: &Device, tools: &Instruments, operands: &Operands, seed: u64) -> Result<()> {
        self.rows.first = (seed % self.rows.stride as u64) as usize;
        // What it leaves alone, as rows of no group, candidates must too.
        self.expected.iter().try_for_each(|expected| expected.poison_all(tools))?;
        let bounds = bounds_of_rows(device, self.rows, operands)?;
        let mut expected = self.expected.iter_mut();
        let mut arguments: Vec<Argument<'_>> = Vec::new();
        for (buffer, bounds) in operands.all().iter().zip(&bounds) {
            let MatrixBuffer { operand, buffer, outer, .. } = match buffer {
                OperandBuffer::Numbers { index, .. } => {
                    arguments.push(bounds.as_ref().unwrap_or(index).view().into());
                    continue;
                }
                OperandBuffer::Matrix(matrix) => matrix,
            };
            match operand.role {
                _ if operand.passed == Passed::ByValue => arguments.push(SCALAR),
                Role::Input if is_read_in_part(self.rows, operand) => {
                    arguments.push(buffer.argument_of_rows(self.rows)?);
                }
                Role::Input => arguments.push(buffer.argument(outer)?),
                Role::Output => {
                    let rows = self.rows.count(buffer.rectangle(tools).rows);
                    let missing = || WorkerError::Request("operands of another problem".to_owned());
                    let expected = expected.next().ok_or_else(missing)?.first_rows_mut(rows)?;
                    arguments.push(argument!(expected, outer, HeadsViewMut)?);
                }
            }
        }
        Ok(self.kernel.launch(device, &mut arguments)?)
    }

    /// Holds the outputs against the reference, and looks whether they were written everywhere and nowhere else. Waits for
    /// the GPU.
    ///
    /// # Errors
    /// [`WorkerError::WrongResult`] with the first wrong element, or the number of elements that were not written, or of
    /// bytes outside an output that were.
    pub fn check(&self, tools: &Instruments, operands: &Operands) -> Result<()> {
        let reports = tools.reports(REPORTS * self.expected.len())?;
        for (at, (output, expected)) in operands.outputs().zip(&self.expected).enumerate() {
            let (dtype, whole) = (output.buffer.dtype(), output.buffer.rectangle(tools));
            let looked_at = self.rows_of(whole, dtype.bytes() as usize);
            let expected = expected.rectangle(tools).address;
            let alone = self.leaves_some_alone;
            tools.compare(dtype, looked_at, expected, self.tolerance, alone, &reports, REPORTS * at)?;
            output.buffer.count_touched(tools, &reports, REPORTS * at + 1)?;
            if self.rows.stride > 1 {
                tools.count_unwritten(dtype, whole, &reports, REPORTS * at + 2)?;
            }
        }
        let found = tools.read(&reports)?;
        let mut faults = Vec::new();
        for ((output, expected), found) in operands.outputs().zip(&self.expected).zip(found.chunks_exact(REPORTS)) {
            self.describe(tools, output, expected, found, &mut faults)?;
        }
        if faults.is_empty() { Ok(()) } else { Err(WorkerError::WrongResult(faults.join("; "))) }
    }

    /// The rows of `matrix` that are looked at, as a matrix.
    fn rows_of(&self, matrix: Rectangle, element: usize) -> Rectangle {
        let Every { first, stride } = self.rows;
        let Rectangle { address, rows, columns, ld } = matrix;
        let address = address + (first * ld * element) as u64;
        Rectangle { address, rows: self.rows.count(rows), columns, ld: ld * stride }
    }

    /// What the three reports of an output found.
    fn describe(
        &self,
        tools: &Instruments,
        output: &MatrixBuffer,
        expected: &Guarded<f32>,
        found: &[Report],
        faults: &mut Vec<String>,
    ) -> Result<()> {
        let &[result, outside, unwritten] = found else { return Ok(()) };
        let (name, whole) = (&output.operand.name, output.buffer.rectangle(tools));
        let size = format!("{}x{}", whole.rows, whole.columns);
        if result.wrong > 0 {
            let (row, column) = place(result.first_wrong, whole.columns);
            let at = self.rows.first + row * self.rows.stride;
            let got = output.buffer.element(tools, at, column)?;
            let want = expected.element(tools, row, column)?;
            let looked_at = self.rows.count(whole.rows) * whole.columns;
            faults.push(format!(
                "{} of {looked_at} elements looked at of the {size} result are wrong; the first, {name}[{at}, {column}], \
                 is {got} and not {want}; the worst is {:.3e} tolerances off (tolerance {:.2e} + {:.2e} of the value)",
                result.wrong,
                f32::from_bits(result.worst_excess_bits),
                self.tolerance.absolute,
                self.tolerance.relative,
            ));
        }
        if unwritten.wrong > 0 {
            let (row, column) = place(unwritten.first_wrong, whole.columns);
            let count = unwritten.wrong;
            faults.push(format!("{count} elements were not written or are NaN; the first is {name}[{row}, {column}]"));
        }
        if outside.wrong > 0 {
            faults.push(format!("{} bytes outside the {size} result were written", outside.wrong));
        }
        Ok(())
    }
}

fn place(index: u64, columns: usize) -> (usize, usize) {
    let index = usize::try_from(index).unwrap_or(0);
    (index / columns.max(1), index % columns.max(1))
}

#[cfg(test)]
mod tests {
    use autokernel_codegen::dtype::Dtype;
    use autokernel_codegen::matmul::extents;
    use autokernel_codegen::problem::Layout;

    use super::*;

    #[test]
    fn large_results_are_looked_at_in_every_sixteenth_row_at_the_least() {
        let problem = Problem::matmul(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap());
        let stride = |edge| row_stride(&problem, extents(edge, edge, edge));
        assert_eq!((stride(64), stride(2048), stride(4096), stride(8192), stride(32_768)), (1, 1, 8, 16, 16));
        assert_eq!(row_stride(&problem, extents(16, 8192, 8192)), 1);
    }

    #[test]
    fn results_that_depend_on_the_numbers_of_their_rows_are_looked_at_whole() {
        let body = |value: &str| -> Problem {
            let operand = |name: &str, kind: &str, role: &str| {
                format!(r#"{{"name": "{name}", "kind": "{kind}", "dtype": "f32", "role": "{role}"}}"#)
            };
            let operands = [operand("x", "matrix", "input"), operand("out", "matrix", "output")].join(", ");
            let store = format!(r#"{{"store": {{"output": "out", "value": {value}}}}}"#);
            let text = format!(r#"{{"operation": "rows", "operands": [{operands}], "steps": [{store}]}}"#);
            serde_json::from_str(&text).unwrap()
        };
        let (x, row, column) = (r#"{"variable": "x"}"#, r#"{"index": "row"}"#, r#"{"index": "column"}"#);
        let times = |index: &str| body(&format!(r#"{{"binary": ["multiply", {x}, {index}]}}"#));
        let large = autokernel_codegen::rows::plan::extents(1 << 18, 1 << 17);
        assert_eq!(
            [times(x), times(column), times(row)].map(|problem| row_stride(&problem, large) > 1),
            [true, true, false]
        );
        let declared = |body: &str| {
            let item = format!("fn out(a: &Matrix<bf16>, b: &Matrix<bf16>, c: &mut Matrix<bf16>) {{ c = {body}; }}");
            let matmul = autokernel_codegen::spec::attribute("fused_matmul").unwrap();
            let [none, item] = ["", &item].map(|text| text.parse().unwrap());
            let functions = autokernel_codegen::function::Functions::new(&[]);
            autokernel_codegen::spec::Spec::parse_kernels(matmul, none, item, &functions)
                .unwrap()
                .written
                .swap_remove(0)
        };
        let stride = |body: &str| row_stride(&declared(body).problem, extents(8192, 8192, 8192));
        assert_eq!((stride("dot(a, b) + 1.0"), stride("dot(a, b) + row_index()")), (16, 1));
    }

    #[test]
    fn inputs_with_heads_are_passed_whole_and_those_of_a_product_that_is_looked_at_in_part_by_rows() {
        let in_part = |problem: &Problem, shape: Extents| -> Vec<bool> {
            let rows = Every { first: 0, stride: row_stride(problem, shape) };
            problem.signature().inputs().map(|operand| is_read_in_part(rows, operand)).collect()
        };
        let attention =
            r#"{"operation": "attention", "dtype": "bf16", "head_dim": 128, "value_dim": 128, "scale": 0.1}"#;
        let attention: Problem = serde_json::from_str(attention).unwrap();
        let sizes = attention.signature().dims.iter().map(|dim| (dim.name, 1024)).collect::<Vec<_>>();
        assert_eq!(in_part(&attention, Extents::collect(sizes).unwrap()), [false; 3]);
        let product = Problem::matmul(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap());
        assert_eq!(in_part(&product, extents(8192, 8192, 8192)), [true, false]);
        assert_eq!(in_part(&product, extents(64, 64, 64)), [false, false]);
    }

    #[test]
    fn the_reference_writes_fp32_whatever_the_kernel_does() {
        let problem = Problem::matmul(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap());
        let dtypes: Vec<Dtype> = problem.reference_signature().operands.iter().map(|operand| operand.dtype).collect();
        assert_eq!(dtypes, [Dtype::Bf16, Dtype::Bf16, Dtype::F32]);
        assert_eq!(problem.reference_signature().dims, problem.signature().dims);
    }
}
