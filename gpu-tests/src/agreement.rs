//! One launch on a GPU and on an emulated one, compared element by element.

use autokernel::{Device, Dtype, bf16, e4m3, e5m2, f16, matmul};

use crate::check::{Case, Launch};
use crate::host::{HostMatrix, Sample, Values};
use crate::reference;
use crate::tolerance::Tolerance;

/// How far two outputs agree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Agreement {
    /// Elements that were compared.
    pub elements: usize,
    /// Of them, those with the same bits.
    pub same: usize,
}

impl Agreement {
    /// Of both.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Agreement { elements: self.elements + other.elements, same: self.same + other.same }
    }
}

/// Runs `launches[0]` on the case's GPU and `launches[1]` on `emulated`, with the same inputs. Integers, and all that lies
/// around the output, must come out with the same bits; anything else twice as near as either may be to the reference,
/// since tensor cores do not say in which order they add.
///
/// # Errors
/// A report of the first difference, or of a launch that failed.
pub fn compare(
    case: &Case<'_>,
    emulated: &Device,
    values: Values,
    launches: [&Launch<'_>; 2],
) -> Result<Agreement, String> {
    let compare = match (case.problem.input, case.problem.output) {
        (Dtype::Bf16, Dtype::F32) => compare_typed::<bf16, f32>,
        (Dtype::Bf16, _) => compare_typed::<bf16, bf16>,
        (Dtype::E4m3, Dtype::F32) => compare_typed::<e4m3, f32>,
        (Dtype::E4m3, Dtype::F16) => compare_typed::<e4m3, f16>,
        (Dtype::E4m3, _) => compare_typed::<e4m3, bf16>,
        (Dtype::E5m2, Dtype::F32) => compare_typed::<e5m2, f32>,
        (Dtype::E5m2, Dtype::F16) => compare_typed::<e5m2, f16>,
        (Dtype::E5m2, _) => compare_typed::<e5m2, bf16>,
        (Dtype::I8, Dtype::F32) => compare_typed::<i8, f32>,
        (Dtype::I8, Dtype::F16) => compare_typed::<i8, f16>,
        (Dtype::I8, _) => compare_typed::<i8, bf16>,
        (Dtype::F32, _) => compare_typed::<f32, f32>,
        (_, Dtype::F32) => compare_typed::<f16, f32>,
        _ => compare_typed::<f16, f16>,
    };
    compare(case, emulated, values, launches).map_err(|reason| format!("{reason}\n{}", case.describe()))
}

fn compare_typed<I: Sample, O: Sample>(
    case: &Case<'_>,
    emulated: &Device,
    values: Values,
    launches: [&Launch<'_>; 2],
) -> Result<Agreement, String> {
    let [a_place, b_place, c_place] = case.placements;
    let a = HostMatrix::<I>::filled(a_place, values, case.seed);
    let b = HostMatrix::<I>::filled(b_place, values, !case.seed);
    let run = |device: &Device, launch: &Launch<'_>| -> autokernel::Result<HostMatrix<O>> {
        let (a, b) = (a.upload(device)?, b.upload(device)?);
        let mut out = HostMatrix::<O>::poison(c_place).upload(device)?;
        launch(device, &mut [a.view()?.into(), b.view()?.into(), out.view_mut()?.into()])?;
        out.download()
    };
    let there = run(case.device, launches[0]).map_err(|error| error.to_string())?;
    let here = run(emulated, launches[1]).map_err(|error| error.to_string())?;
    for (which, out) in [("the GPU", &there), ("the emulated GPU", &here)] {
        if let Some(broken) = out.first_broken_guard() {
            return Err(format!("{which} wrote outside C: {broken}"));
        }
    }

    let sums = reference::product(&case.shape, case.problem.layout, &a.to_f64(), &b.to_f64());
    let tolerance = match values {
        Values::Uniform | Values::Special => {
            Some(Tolerance::of::<O>(case.problem.input, matmul::sizes(&case.shape)[2]))
        }
        Values::Integers => None,
    };
    let mut agreement = Agreement::default();
    for (at, ((there, here), &sum)) in there.elements().zip(here.elements()).zip(&sums).enumerate() {
        agreement.elements += 1;
        agreement.same += usize::from(there.bits() == here.bits());
        let expected = f64::from((case.epilogue)(sum as f32));
        let allowed = tolerance.map_or(0.0, |tolerance| 2.0 * tolerance.of_element(sum, expected));
        let distance = (f64::from(there.to_f32()) - f64::from(here.to_f32())).abs();
        // Written so that a NaN on one side alone is a difference.
        let agree = there.bits() == here.bits() || distance <= allowed;
        if !agree {
            return Err(format!(
                "element {at} is {there:?} on the GPU and {here:?} emulated; {allowed:.3e} is allowed"
            ));
        }
    }
    Ok(agreement)
}
