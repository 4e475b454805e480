//! Fitting the model's constants to measured times: least squares of the logarithm's error.

use std::fmt;
use std::str::FromStr;

use autokernel_codegen::matmul::model::Constants;
use rmpfit::{MPConfig, MPFitter, MPPar, MPResult, MPSide};

use super::measured::{Measured, Row};

const COUNT: usize = Constants::COUNT;
/// The derivative by each parameter: over so much on both sides, in the fit's own units.
const DERIVATIVE: MPPar = MPPar { step: 1e-4, side: MPSide::Both, ..MPPar::new() };
/// No fit that converges takes as many steps.
const CONFIG: MPConfig = MPConfig { max_iter: 40, ..MPConfig::new() };

/// A constant that other measurements tell better than the recordings do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Held {
    at: usize,
    value: f64,
}

impl Held {
    fn put(held: &[Held], constants: Constants) -> Constants {
        let mut values = constants.to_array();
        held.iter().for_each(|held| values[held.at] = held.value);
        Constants::from_array(values)
    }
}

impl FromStr for Held {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').ok_or("write NAME=VALUE, for example padding=2.04")?;
        let at = Constants::NAMES.iter().position(|known| *known == name);
        let at =
            at.ok_or_else(|| format!("there is no constant `{name}`; there are {}", Constants::NAMES.join(", ")))?;
        let (low, high) = Constants::BOUNDS[at];
        let value = value.parse::<f64>().ok().filter(|value| (low..=high).contains(value));
        Ok(Held { at, value: value.ok_or_else(|| format!("{name} is a number from {low} to {high}"))? })
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", Constants::NAMES[self.at], self.value)
    }
}

/// The constants that fit the rows of `measured` whose shapes `takes` takes, but for those that are `held`.
pub fn fit(measured: &Measured, held: &[Held], takes: impl Fn(usize) -> bool) -> Constants {
    let rows: Vec<&Row> = measured.rows.iter().filter(|row| !row.borrowed && takes(row.shape)).collect();
    let start = Held::put(held, Constants::START);
    if rows.len() < COUNT {
        return start;
    }
    let mut derivatives = [DERIVATIVE; COUNT];
    held.iter().for_each(|held| derivatives[held.at].fixed = true);
    let mut parameters = inner(start);
    match (Fit { measured, rows, held, derivatives }).mpfit(&mut parameters) {
        Ok(_) => Held::put(held, outer(&parameters)),
        Err(_) => start,
    }
}

struct Fit<'m> {
    measured: &'m Measured,
    rows: Vec<&'m Row>,
    held: &'m [Held],
    derivatives: [MPPar; COUNT],
}

impl MPFitter for Fit<'_> {
    fn eval(&mut self, parameters: &[f64], deviates: &mut [f64]) -> MPResult<()> {
        let constants = Held::put(self.held, outer(parameters));
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
        &self.derivatives
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
        let found = fit(&measured, &[], |_| true);
        for row in &measured.rows {
            let ratio = measured.predicted_ms(row, found) / row.ms;
            assert!((ratio - 1.0).abs() < 0.02, "{ratio} of {:?}: {found:?}", measured.forms[row.form]);
        }
    }

    #[test]
    fn constants_stay_between_their_bounds_wherever_a_fit_goes() {
        assert!(outer(&[40.0; COUNT]).check().is_ok() && outer(&[-40.0; COUNT]).check().is_ok());
        let start = outer(&inner(Constants::START)).to_array();
        assert!(start.iter().zip(Constants::START.to_array()).all(|(a, b)| (a / b - 1.0).abs() < 1e-9));
    }

    #[test]
    fn too_few_times_are_no_fit() {
        assert_eq!(fit(&world(Constants::START), &[], |_| false), Constants::START);
    }

    #[test]
    fn what_is_held_stays_and_the_others_make_up_for_it() {
        let measured = world(Constants { load_us: 0.7, ..Constants::START });
        let held: Held = "padding=1.5".parse().unwrap();
        let found = fit(&measured, &[held], |_| true);
        assert_eq!((found.padding, fit(&measured, &[held], |_| false).padding), (1.5, 1.5));
        assert!((found.load_us / 0.7 - 1.0).abs() < 0.1, "{found:?}");
        assert_eq!(held.to_string(), "padding=1.5");
    }

    #[test]
    fn a_constant_that_is_unknown_or_out_of_bounds_is_not_held() {
        let refused = |text: &str| text.parse::<Held>().unwrap_err();
        assert!(refused("store").contains("NAME=VALUE"));
        assert!(refused("stores=1").contains("no constant `stores`; there are sustained, "));
        assert_eq!(refused("padding=0.5"), "padding is a number from 1 to 20");
    }
}
