//! Fitting the model's constants to measured times: least squares of the logarithm's error.

use autokernel_codegen::matmul::model::Constants;
use rmpfit::{MPConfig, MPFitter, MPPar, MPResult, MPSide};

use super::measured::{Measured, Row};

const COUNT: usize = Constants::COUNT;
/// The derivative by each parameter: over so much on both sides, in the fit's own units.
const DERIVATIVE: MPPar = MPPar { step: 1e-4, side: MPSide::Both, ..MPPar::new() };
const DERIVATIVES: [MPPar; COUNT] = [DERIVATIVE; COUNT];
/// No fit that converges takes as many steps.
const CONFIG: MPConfig = MPConfig { max_iter: 40, ..MPConfig::new() };

/// The constants that fit the rows of `measured` whose shapes `takes` takes.
pub fn fit(measured: &Measured, takes: impl Fn(usize) -> bool) -> Constants {
    let rows: Vec<&Row> = measured.rows.iter().filter(|row| !row.borrowed && takes(row.shape)).collect();
    if rows.len() < COUNT {
        return Constants::START;
    }
    let mut parameters = inner(Constants::START);
    match (Fit { measured, rows }).mpfit(&mut parameters) {
        Ok(_) => outer(&parameters),
        Err(_) => Constants::START,
    }
}

struct Fit<'m> {
    measured: &'m Measured,
    rows: Vec<&'m Row>,
}

impl MPFitter for Fit<'_> {
    fn eval(&mut self, parameters: &[f64], deviates: &mut [f64]) -> MPResult<()> {
        let constants = outer(parameters);
        for (deviate, row) in deviates.iter_mut().zip(&self.rows) {
            let predicted = self.measured.predicted_ms(row, constants);
            *deviate = (predicted / row.ms).ln() * self.measured.weight(row);
        }
        Ok(())
    }

    fn number_of_points(&self) -> usize {
        self.rows.len()
    }

    fn config(&self) -> &MPConfig {
        &CONFIG
    }

    fn parameters(&self) -> &[MPPar] {
        &DERIVATIVES
    }
}

/// From any number to a constant between its bounds.
fn outer(parameters: &[f64]) -> Constants {
    let of = |at: usize| {
        let (low, high) = Constants::BOUNDS[at];
        let between = low * (high / low).powf(1.0 / (1.0 + (-parameters[at]).exp()));
        between.clamp(low, high)
    };
    Constants::from_array(std::array::from_fn(of))
}

/// The inverse.
fn inner(constants: Constants) -> [f64; COUNT] {
    let values = constants.to_array();
    std::array::from_fn(|at| {
        let (low, high) = Constants::BOUNDS[at];
        let share = ((values[at] / low).ln() / (high / low).ln()).clamp(1e-3, 1.0 - 1e-3);
        (share / (1.0 - share)).ln()
    })
}

#[cfg(test)]
mod tests {
    use autokernel_codegen::arch::Arch;
    use autokernel_codegen::dtype::Dtype;
    use autokernel_codegen::matmul::extents;
    use autokernel_codegen::matmul::model::{Machine, Model, Traits};
    use autokernel_codegen::problem::{Layout, Problem};
    use autokernel_codegen::schedule::Family;
    use autokernel_codegen::schedule::space::Space;
    use autokernel_core::ComputeCapability;

    use super::super::measured::Shape;
    use super::*;

    const MACHINE: Machine = Machine {
        capability: ComputeCapability::new(9, 0),
        sm_count: 132,
        matrix_tflops: 989.4,
        memory_gb_per_s: 4800.0,
    };

    /// What a GPU with these constants would have measured.
    fn world(constants: Constants) -> Measured {
        let class = Problem::matmul(Dtype::Bf16, Layout::Nt, "identity".parse().unwrap()).class();
        let space = Space::new(Family::Sm90, &class, Arch::SM_90A);
        let forms: Vec<_> = space.forms().step_by(9).collect();
        let traits: Vec<Traits> = forms.iter().map(|form| Traits::of(&class, form).unwrap()).collect();
        let mut measured = Measured { forms: forms.clone(), traits: traits.clone(), ..Measured::default() };
        for extents in
            [extents(16, 4096, 4096), extents(300, 4096, 4104), extents(4096, 4096, 4096), extents(1000, 768, 3072)]
        {
            let ms: Vec<f64> = traits
                .iter()
                .map(|image| Model { machine: MACHINE, constants }.predicted_ms(image, &extents))
                .collect();
            let shape = measured.shapes.len();
            let best_ms = ms.iter().copied().fold(f64::INFINITY, f64::min);
            measured.shapes.push(Shape { extents, best_ms, machine: MACHINE });
            let row = |(form, ms)| Row { shape, form, ms, borrowed: false };
            measured.rows.extend(ms.into_iter().enumerate().map(row));
        }
        measured
    }

    #[test]
    fn a_fit_finds_the_times_of_a_world_that_the_model_describes() {
        let truth = Constants { sustained: 1.1, load_us: 0.7, launch_us: 3.4, store: 0.3, ..Constants::START };
        let measured = world(truth);
        let found = fit(&measured, |_| true);
        for row in &measured.rows {
            let ratio = measured.predicted_ms(row, found) / row.ms;
            assert!((ratio - 1.0).abs() < 0.02, "{ratio} of {:?}: {found:?}", measured.forms[row.form]);
        }
    }

    #[test]
    fn constants_stay_between_their_bounds_wherever_a_fit_goes() {
        assert!(outer(&[40.0; COUNT]).is_plausible() && outer(&[-40.0; COUNT]).is_plausible());
        let start = outer(&inner(Constants::START)).to_array();
        assert!(start.iter().zip(Constants::START.to_array()).all(|(a, b)| (a / b - 1.0).abs() < 1e-9));
    }

    #[test]
    fn too_few_times_are_no_fit() {
        assert_eq!(fit(&world(Constants::START), |_| false), Constants::START);
    }
}
