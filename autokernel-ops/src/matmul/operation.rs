//! What the room of matrix products tells.

use autokernel_core::{Arch, Dtype, Extents, LaunchPlan, Signature, dim};

use super::problem::{Layout, Problem, ProblemClass};
use super::{emit, plan, sizes, space::Space};
use crate::operation::{Operation, Tolerance, Work};
use crate::registry::{Family, OtherFamily};
use crate::rule::BrokenRule;
use crate::schedule::Schedule;
use crate::source::KernelSource;

impl Operation for Problem {
    type Class = ProblemClass;

    const NAME: &'static str = "matmul";

    fn signature(&self) -> Signature {
        plan::signature(self)
    }

    fn class(&self) -> ProblemClass {
        Problem::class(self)
    }

    fn families(arch: Arch) -> &'static [Family] {
        Space::families(arch)
    }

    fn check(class: &ProblemClass, schedule: &Schedule, arch: Arch) -> Result<(), BrokenRule> {
        schedule.check(class, arch)
    }

    fn emit(&self, schedule: &Schedule) -> Result<(KernelSource, LaunchPlan), OtherFamily> {
        Ok(emit::kernel(self, &super::Schedule::try_from(schedule)?))
    }

    fn reference(&self) -> (KernelSource, LaunchPlan) {
        emit::reference(self)
    }

    fn described(&self, extents: &Extents) -> String {
        let ([m, n, k], Problem { input, output, layout, epilogue, .. }) = (sizes(extents), self);
        let b = match layout {
            Layout::Nn => "B[k, n] row-major (layout nn)",
            Layout::Nt => "B stored as [n, k] row-major, multiplied transposed (layout nt)",
        };
        let operations = self.work(extents).operations;
        format!(
            "C[m, n] = {epilogue}(A[m, k] · B) with m = {m}, n = {n}, k = {k}: {operations:.4e} FLOP.\n\
             A[m, k] and C are row-major, {b}. A and B are {input}, C is {output}, accumulation is f32."
        )
    }

    fn work(&self, extents: &Extents) -> Work {
        let multiplications: f64 = extents.sizes().map(f64::from).product();
        Work::new(&self.signature(), extents, 2.0 * multiplications)
    }

    /// With A ~ N(0, 1) and B ~ N(0, 1/k), sums are about 1 and single products about `1/sqrt(k)`.
    ///
    /// Rounding: a sum of k terms in fp32, in any order, is off by about `sqrt(k)` units of 2⁻²⁴ and at most k; the
    /// absolute tolerance of `sqrt(k) * 2⁻¹⁸` is far above the first and far below one missing product. The relative one
    /// is a unit in the last place of the output: half for rounding, half for a sum that falls on the other side.
    fn tolerance(&self, extents: &Extents) -> Tolerance {
        let k = extents.get(dim("k")).unwrap_or(1).max(1);
        let relative = match self.output {
            Dtype::Bf16 => 2f32.powi(-8),
            Dtype::F16 => 2f32.powi(-11) * 2.0,
            Dtype::F32 => 2f32.powi(-20),
        };
        Tolerance { absolute: (k as f32).sqrt() * 2f32.powi(-18), relative }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem() -> Problem {
        Problem::matmul(Dtype::Bf16, Layout::Nt, "relu".parse().unwrap())
    }

    fn extents(m: u32, n: u32, k: u32) -> Extents {
        Extents::new([(dim("m"), m), (dim("n"), n), (dim("k"), k)])
    }

    #[test]
    fn the_work_is_two_operations_a_product_and_each_matrix_once() {
        let problem = Problem { output: Dtype::F32, ..problem() };
        let work = problem.work(&extents(2, 3, 5));
        assert_eq!(work, Work { operations: 60.0, read_bytes: 2.0 * (10.0 + 15.0), written_bytes: 24.0 });
    }

    #[test]
    fn the_tolerance_grows_with_k_and_stays_below_a_missing_product() {
        let absolute = |k| problem().tolerance(&extents(1, 1, k)).absolute;
        assert!(absolute(4096) > absolute(64));
        for k in [1, 64, 4096, 65_536] {
            let product = 1.0 / (k as f32).sqrt();
            assert!(absolute(k) <= 0.25 * product, "{k}");
        }
    }

    #[test]
    fn an_erased_schedule_emits_what_the_typed_one_does() {
        for arch in [Arch::SM_80, Arch::SM_90A] {
            let typed = crate::matmul::Schedule::default_for(&problem().class(), arch);
            let erased = Operation::emit(&problem(), &typed.into()).unwrap();
            assert_eq!(erased, emit::kernel(&problem(), &typed));
        }
    }
}
