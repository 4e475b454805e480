//! What every kernel must compute at a small shape, and the check against it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use autokernel_codegen::emit::Tolerance;
use autokernel_codegen::nvcc::Compiler;
use autokernel_codegen::problem::Problem;
use autokernel_core::{Arch, Extents};
use autokernel_runtime::{EmulatedKernel, Emulation};

use super::operands::{HostOperand, Operands, Rows, UNWRITTEN};
use crate::numbers::leaves_some_alone;

/// Seed of the inputs: a refusal is the same in every run.
pub const SEED: u64 = 0x656d_756c_6174_6564;

/// The outputs of a problem at a shape, by the reference kernel on an emulated GPU, in fp32.
#[derive(Debug)]
pub struct Expected {
    outputs: Vec<Vec<f32>>,
    tolerance: Tolerance,
    /// Whether what the reference did not write is no one's to write.
    leaves_some_alone: bool,
}

/// What was computed before, by the problem's key and the shape: schedules of the same tile share it.
#[derive(Debug, Default)]
pub struct References {
    known: Mutex<HashMap<(String, Extents), Slot>>,
}

/// A result, or why there is none; computed by whoever asks first.
type Slot = Arc<OnceLock<Result<Arc<Expected>, String>>>;

impl References {
    /// What `problem` gives at `shape`.
    ///
    /// # Errors
    /// The reference kernel cannot be compiled or emulated, whatever the schedule.
    pub fn of(
        &self,
        compiler: &Compiler,
        problem: &Problem,
        arch: Arch,
        shape: &Extents,
    ) -> Result<Arc<Expected>, String> {
        let slot = {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(known.entry((problem.key(), *shape)).or_default())
        };
        slot.get_or_init(|| Expected::compute(compiler, problem, arch, shape).map(Arc::new)).clone()
    }
}

impl Expected {
    fn compute(compiler: &Compiler, problem: &Problem, arch: Arch, shape: &Extents) -> Result<Self, String> {
        let (source, plan) = problem.reference();
        let compiler = compiler.clone().with_whole_runtime();
        let image = compiler.compile(&source, arch).map_err(|error| error.to_string())?;
        let ptx = std::fs::read(&image.ptx).map_err(|error| format!("{}: {error}", image.ptx.display()))?;
        let signature = problem.reference_signature();
        // It is the measure of the others, and so not itself in question.
        let emulation = Emulation::new(arch).trusting();
        let kernel = EmulatedKernel::load(&emulation, &signature, &plan, &ptx).map_err(|error| error.to_string())?;
        let mut operands = Operands::new(problem, signature.operands, shape, Rows::Dense, SEED);
        let launched = operands.arguments().and_then(|mut arguments| kernel.launch(&mut arguments));
        launched.map_err(|error| error.to_string())?;
        let outputs = operands.outputs().map(|output| output.values().collect()).collect();
        let leaves_some_alone = leaves_some_alone(&problem.signature());
        Ok(Expected { outputs, tolerance: problem.tolerance(shape), leaves_some_alone })
    }

    /// Holds the outputs among `operands` against it, as the GPU's worker does.
    ///
    /// # Errors
    /// What is wrong, in words.
    pub fn check(&self, operands: &Operands) -> Result<(), String> {
        let faults = operands.outputs().zip(&self.outputs).filter_map(|(got, expected)| self.fault(got, expected));
        let faults: Vec<String> = faults.collect();
        if faults.is_empty() { Ok(()) } else { Err(faults.join("; ")) }
    }

    fn fault(&self, got: &HostOperand, expected: &[f32]) -> Option<String> {
        let (name, (rows, columns)) = (&got.operand.name, got.size());
        let wrong = got.values().zip(expected).enumerate().filter(|(_, (got, want))| !self.is_right(*got, **want));
        let wrong: Vec<(usize, (f32, &f32))> = wrong.collect();
        if let Some((at, (got, want))) = wrong.first() {
            let (row, column) = (at / columns, at % columns);
            let Tolerance { absolute, relative } = self.tolerance;
            let unwritten = if got.is_nan() { ", which nothing wrote if it is no result," } else { "" };
            return Some(format!(
                "{} of {} elements of the {rows}x{columns} result are wrong; the first, {name}[{row}, {column}], is \
                 {got}{unwritten} and not {want} (tolerance {absolute:.2e} + {relative:.2e} of the value)",
                wrong.len(),
                rows * columns,
            ));
        }
        let (row, beyond) = got.first_written_gap()?;
        Some(format!("row {row} of {name} was written {beyond} elements beyond its end"))
    }

    fn is_right(&self, got: f32, want: f32) -> bool {
        let Tolerance { absolute, relative } = self.tolerance;
        let is_left_alone = self.leaves_some_alone && want.to_bits() == UNWRITTEN.to_bits();
        if is_left_alone { got.is_nan() } else { got == want || (got - want).abs() <= absolute + relative * want.abs() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_reference_skipped_is_wrong_but_where_numbers_leave_some_alone() {
        let expected = |leaves_some_alone| Expected {
            outputs: Vec::new(),
            tolerance: Tolerance { absolute: 0.1, relative: 0.0 },
            leaves_some_alone,
        };
        let (all, some) = (expected(false), expected(true));
        assert!(some.is_right(f32::NAN, UNWRITTEN) && !some.is_right(1.0, UNWRITTEN));
        assert!(!all.is_right(f32::NAN, UNWRITTEN) && !all.is_right(1.0, UNWRITTEN));
        assert!(all.is_right(1.05, 1.0) && !all.is_right(f32::NAN, 1.0) && !some.is_right(f32::NAN, 1.0));
    }
}
