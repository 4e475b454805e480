//! Runs launches on one case and compares them with the reference.

use autokernel::{Argument, Device, Dtype, Extents, bf16, e4m3, e5m2, f16, matmul};
use autokernel_codegen::matmul::problem::Problem;

use crate::host::{HostMatrix, Sample, Values};
use crate::place::Place;
use crate::reference;
use crate::tolerance::{Tolerance, l2};

/// One product: where, how large, and where its matrices lie.
pub struct Case<'c> {
    /// Where it runs.
    pub device: &'c Device,
    /// What is computed.
    pub problem: &'c Problem,
    /// The epilogue in Rust.
    pub epilogue: &'c dyn Fn(f32) -> f32,
    /// How large.
    pub shape: Extents,
    /// A, B and C in their buffers.
    pub placements: [Place; 3],
    /// What the inputs are drawn from.
    pub seed: u64,
}

/// Something that computes the product, given A, B and C.
pub type Launch<'l> = Box<dyn Fn(&Device, &mut [Argument<'_>]) -> autokernel::Result<()> + 'l>;

/// Runs each launch on `case`; gives their number.
///
/// Around the matrices and between their rows lie NaNs that must stay as they are, and the output is NaN throughout
/// before each launch: an element that is not written, or read from outside, cannot pass.
///
/// # Errors
/// A report of the first launch that fails.
pub fn check(case: &Case<'_>, values: Values, launches: &[(String, Launch<'_>)]) -> Result<usize, String> {
    let check = match (case.problem.input, case.problem.output) {
        (Dtype::Bf16, Dtype::F32) => check_typed::<bf16, f32>,
        (Dtype::Bf16, _) => check_typed::<bf16, bf16>,
        (Dtype::E4m3, Dtype::F32) => check_typed::<e4m3, f32>,
        (Dtype::E4m3, Dtype::F16) => check_typed::<e4m3, f16>,
        (Dtype::E4m3, _) => check_typed::<e4m3, bf16>,
        (Dtype::E5m2, Dtype::F32) => check_typed::<e5m2, f32>,
        (Dtype::E5m2, Dtype::F16) => check_typed::<e5m2, f16>,
        (Dtype::E5m2, _) => check_typed::<e5m2, bf16>,
        (Dtype::I8, Dtype::F32) => check_typed::<i8, f32>,
        (Dtype::I8, Dtype::F16) => check_typed::<i8, f16>,
        (Dtype::I8, _) => check_typed::<i8, bf16>,
        (Dtype::F32, _) => check_typed::<f32, f32>,
        (_, Dtype::F32) => check_typed::<f16, f32>,
        _ => check_typed::<f16, f16>,
    };
    check(case, values, launches)
}

fn check_typed<I: Sample, O: Sample>(
    case: &Case<'_>,
    values: Values,
    launches: &[(String, Launch<'_>)],
) -> Result<usize, String> {
    let [a_place, b_place, c_place] = case.placements;
    let a = HostMatrix::<I>::filled(a_place, values, case.seed);
    let b = HostMatrix::<I>::filled(b_place, values, !case.seed);
    let sums = reference::product(&case.shape, case.problem.layout, &a.to_f64(), &b.to_f64());
    let expected = Expected::new::<O>(case, values, sums);

    let failed = |error: autokernel::Error| format!("{error}\n{}", case.describe());
    let (a_there, b_there) = (a.upload(case.device).map_err(failed)?, b.upload(case.device).map_err(failed)?);
    for (label, launch) in launches {
        let run = || -> autokernel::Result<HostMatrix<O>> {
            let mut out = HostMatrix::<O>::poison(c_place).upload(case.device)?;
            launch(case.device, &mut [a_there.view()?.into(), b_there.view()?.into(), out.view_mut()?.into()])?;
            out.download()
        };
        let judged = run().map_err(|error| error.to_string()).and_then(|out| expected.judge(case, &out));
        judged.map_err(|reason| format!("{label}: {reason}\n{}", case.describe()))?;
    }
    for (name, before, there) in [("A", &a, &a_there), ("B", &b, &b_there)] {
        if !there.download().map_err(failed)?.same_bits(before) {
            return Err(format!("a launch changed {name} or its surroundings\n{}", case.describe()));
        }
    }
    Ok(launches.len())
}

impl Case<'_> {
    /// Everything that is needed to repeat it.
    pub fn describe(&self) -> String {
        let Case { device, problem, shape, placements: [a, b, c], seed, .. } = self;
        format!("  problem: {problem}\n  shape {shape} on {device}, seed {seed}\n  A {a}; B {b}; C {c}")
    }
}

/// What the output must hold.
struct Expected {
    sums: Vec<f64>,
    values: Vec<f64>,
    /// `None`: exactly.
    tolerance: Option<Tolerance>,
}

impl Expected {
    fn new<O: Sample>(case: &Case<'_>, values: Values, sums: Vec<f64>) -> Self {
        let unrounded = sums.iter().map(|&sum| (case.epilogue)(sum as f32));
        match values {
            Values::Uniform | Values::Special => {
                let values = unrounded.map(f64::from).collect();
                Self {
                    sums,
                    values,
                    tolerance: Some(Tolerance::of::<O>(case.problem.input, matmul::sizes(&case.shape)[2])),
                }
            }
            Values::Integers => {
                let values = unrounded.map(|value| O::from_f32(value).to_f32().into()).collect();
                Self { sums, values, tolerance: None }
            }
        }
    }

    fn judge<O: Sample>(&self, case: &Case<'_>, out: &HostMatrix<O>) -> Result<(), String> {
        if let Some(broken) = out.first_broken_guard() {
            return Err(format!("it wrote outside C: {broken}"));
        }
        self.judge_elements(case, out)?;
        self.judge_l2(out)
    }

    fn judge_elements<O: Sample>(&self, case: &Case<'_>, out: &HostMatrix<O>) -> Result<(), String> {
        let (mut wrong, mut first) = (0usize, None);
        for (at, ((element, &expected), &sum)) in out.elements().zip(&self.values).zip(&self.sums).enumerate() {
            let got = f64::from(element.to_f32());
            let allowed = self.tolerance.map_or(0.0, |tolerance| tolerance.of_element(sum, expected));
            if !is_within(got, expected, allowed) {
                wrong += 1;
                first.get_or_insert((at, element, expected, allowed));
            }
        }
        let Some((at, element, expected, allowed)) = first else { return Ok(()) };
        let n = matmul::sizes(&case.shape)[1] as usize;
        let (row, column) = (at / n, at % n);
        let got = if element.bits() == O::POISON.bits() { "never written".to_owned() } else { format!("{element:?}") };
        Err(format!(
            "{wrong} of {} elements are wrong; the first is ({row}, {column}): {got}, expected {expected} within {allowed:.3e}",
            self.values.len()
        ))
    }

    fn judge_l2<O: Sample>(&self, out: &HostMatrix<O>) -> Result<(), String> {
        let bound = self.tolerance.and_then(|tolerance| tolerance.of_relative_l2(&self.sums, &self.values));
        let Some(bound) = bound else { return Ok(()) };
        let errors = out.elements().zip(&self.values).map(|(element, expected)| f64::from(element.to_f32()) - expected);
        let error = l2(errors) / l2(self.values.iter().copied());
        if error <= bound {
            return Ok(());
        }
        Err(format!("the relative L2 error is {error:.3e}, at most {bound:.3e} is rounding"))
    }
}

/// Never of what is not a number. Infinities are what finite sums overflow to.
fn is_within(got: f64, expected: f64, allowed: f64) -> bool {
    got == expected || (got - expected).abs() <= allowed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::declared;
    use crate::kernels::bf16_nn;
    use autokernel::{AnyViewMut, Matrix, MatrixView};

    /// The same input, to read once more.
    fn again<'v>(argument: &'v Argument<'_>) -> Argument<'v> {
        match argument {
            Argument::Read(view) => Argument::Read(view.clone()),
            Argument::Write(_) | Argument::Scalar(_) => panic!("{argument:?}"),
        }
    }

    /// What the check says of a right 5x6x7 product that `fault` changed.
    fn verdict(values: Values, fault: impl Fn(&mut [bf16])) -> Result<usize, String> {
        let device = Device::cpu();
        let problem = &declared!(bf16_nn::identity).problem();
        let shape = matmul::extents(5, 6, 7);
        let placements = [Place::dense(5, 7), Place::dense(7, 6), Place { ld: 9, ..Place::dense(5, 6) }];
        let case = Case { device: &device, problem, epilogue: &|x| x, shape, placements, seed: 5 };
        let launch: Launch<'_> = Box::new(|device, arguments| {
            let [a, b, out] = arguments else { panic!("{arguments:?}") };
            let mut product = Matrix::<bf16>::zeros(device, 5, 6)?;
            let kernel = bf16_nn::identity::KERNEL.erased();
            kernel.launch(device, &mut [again(a), again(b), (&mut product).into()])?;
            let mut product = product.to_vec()?;
            fault(&mut product);
            // Times the identity, as views have no other way to be written.
            let one_at = |at: usize| bf16::from_f32(if at.is_multiple_of(7) { 1.0 } else { 0.0 });
            let identity: Vec<bf16> = (0..36).map(one_at).collect();
            let product = MatrixView::from_slice(&product, 5, 6)?;
            let identity = MatrixView::from_slice(&identity, 6, 6)?;
            let Argument::Write(AnyViewMut::Bf16(out)) = out else { panic!("{out:?}") };
            bf16_nn::identity::KERNEL.launch(product, identity, out)
        });
        check(&case, values, &[("a launch".to_owned(), launch)])
    }

    #[test]
    fn a_right_result_passes() {
        assert_eq!(verdict(Values::Uniform, |_| ()), Ok(1));
        assert_eq!(verdict(Values::Integers, |_| ()), Ok(1));
    }

    #[test]
    fn a_result_that_is_off_in_one_element_is_reported_with_its_place() {
        let off_by_two_steps = |out: &mut [bf16]| out[20] = bf16::from_bits(out[20].to_bits() + 2);
        for values in [Values::Uniform, Values::Integers] {
            let report = verdict(values, off_by_two_steps).unwrap_err();
            for part in ["a launch", "1 of 30 elements", "(3, 2)", "shape 5x6x7", "seed 5", "C 5x6 ld 9"] {
                assert!(report.contains(part), "{report}");
            }
        }
    }

    #[test]
    fn an_element_that_is_not_a_number_is_reported() {
        assert!(verdict(Values::Uniform, |out| out[29] = bf16::NAN).is_err());
    }

    #[test]
    fn what_overflows_to_the_infinity_that_is_expected_is_right() {
        assert!(is_within(f64::INFINITY, f64::INFINITY, 0.0));
        assert!(!is_within(f64::NEG_INFINITY, f64::INFINITY, 1.0));
        assert!(!is_within(f64::INFINITY, 65_504.0, 1.0) && !is_within(65_504.0, f64::INFINITY, 1.0));
        assert!(!is_within(f64::NAN, f64::NAN, 1.0));
    }

    #[test]
    fn a_launch_that_writes_nothing_is_reported() {
        let device = Device::cpu();
        let shape = matmul::extents(3, 4, 5);
        let problem = &declared!(bf16_nn::relu).problem();
        let placements = crate::shapes::placements(&shape, problem, Place::dense);
        let case = Case { device: &device, problem, epilogue: &bf16_nn::relu::epilogue, shape, placements, seed: 6 };
        let idle: Launch<'_> = Box::new(|_, _| Ok(()));
        let report = check(&case, Values::Uniform, &[("idle".to_owned(), idle)]).unwrap_err();
        assert!(report.contains("12 of 12") && report.contains("never written"), "{report}");
    }
}
