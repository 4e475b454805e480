//! The built-in epilogues: what is applied to each accumulated element on its way out.
//!
//! Each is written once, in [`builtin`]. Its expression tree, in `builtin.json`, is translated from that text by the
//! crate that can parse it (`cargo xtask builtins`), which also tests that the two agree.

pub mod along_row;
pub mod builtin;
mod class;
pub mod derivatives;

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::expr::cuda::Spelling;
use crate::expr::{Cost, Expr, Function};

pub use class::EpilogueClass;

/// The text of [`builtin`], for those that translate it.
pub const BUILTIN_SOURCE: &str = include_str!("builtin.rs");

/// The text of [`derivatives`], likewise.
pub const DERIVATIVES_SOURCE: &str = include_str!("derivatives.rs");

/// What follows the name of an epilogue in that of its derivative.
const DERIVATIVE: &str = "_derivative";

/// What the parameters of built-in epilogues are when they are not written: (epilogue, values).
const DEFAULTS: &[(&str, &[f32])] = &[("leaky_relu", &[0.01])];

/// An epilogue whose parameters have no values yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Builtin {
    /// Its name.
    pub name: String,
    /// How many numbers it takes beside the element; they are the values of its first bindings.
    pub parameters: usize,
    /// What it computes.
    pub function: Function,
}

/// A built-in epilogue with its parameters. Read and written as `gelu` or `leaky_relu(0.2)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Epilogue {
    name: String,
    arguments: Vec<f32>,
    function: Function,
}

/// An epilogue that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct EpilogueError(String);

impl Epilogue {
    /// The epilogue that changes nothing.
    pub fn identity() -> Self {
        Epilogue::builtin("identity", None).expect("identity is built in")
    }

    /// Every built-in epilogue, with its default parameters.
    pub fn all() -> Vec<Epilogue> {
        let default = |known: &Builtin| Epilogue::builtin(&known.name, None).expect("built-in epilogues have defaults");
        builtins().iter().map(default).collect()
    }

    /// What bodies call beside their own functions: every built-in epilogue, and the derivatives of those that have one, with the
    /// default parameters of both.
    pub fn of_bodies() -> Vec<Epilogue> {
        let derivative = |known: &Builtin| {
            let arguments = default_arguments(known.name.strip_suffix(DERIVATIVE).unwrap_or(&known.name)).to_vec();
            Epilogue::with(known, arguments)
        };
        Epilogue::all().into_iter().chain(derivatives().iter().map(derivative)).collect()
    }

    /// The built-in epilogue `name`; `arguments` replace its defaults.
    ///
    /// # Errors
    /// The epilogue is unknown, or takes another number of arguments; the message says what is known.
    pub fn builtin(name: &str, arguments: Option<Vec<f32>>) -> Result<Self, EpilogueError> {
        let Some(found) = find(name) else {
            let known: Vec<&str> = builtins().iter().map(|known| known.name.as_str()).collect();
            let known = known.join(", ");
            return Err(EpilogueError(format!("there is no epilogue `{name}`; the built-in ones are {known}")));
        };
        let arguments = arguments.unwrap_or_else(|| default_arguments(name).to_vec());
        check_arguments(name, found.parameters, &arguments).map_err(EpilogueError)?;
        Ok(Epilogue::with(found, arguments))
    }

    fn with(found: &Builtin, arguments: Vec<f32>) -> Self {
        let mut function = found.function.clone();
        for (binding, value) in function.bindings.iter_mut().zip(&arguments) {
            binding.value = Expr::Literal(*value);
        }
        Epilogue { name: found.name.clone(), arguments, function }
    }

    /// The name without parameters: `leaky_relu`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The values of its parameters.
    pub fn arguments(&self) -> &[f32] {
        &self.arguments
    }

    /// The expression tree.
    pub fn function(&self) -> &Function {
        &self.function
    }

    /// The value at `x`, from the expression tree.
    pub fn eval(&self, x: f32) -> f32 {
        self.function.eval(x)
    }

    /// The body of the CUDA function `float epilogue(float x)`.
    pub fn cuda_body(&self, spelling: Spelling) -> String {
        spelling.body(&self.function)
    }
}

/// What the built-in epilogue `name` costs a thread; for another one, the most that any can.
pub(crate) fn cost_of(name: &str) -> Cost {
    // Schedules are checked by the thousand, and the answers never change.
    static COSTS: LazyLock<Vec<Cost>> =
        LazyLock::new(|| builtins().iter().map(|known| known.function.cost()).collect());
    let at = builtins().iter().position(|known| known.name == name);
    at.map_or(Cost::MOST, |at| COSTS[at])
}

fn check_arguments(name: &str, expected: usize, arguments: &[f32]) -> Result<(), String> {
    let given = arguments.len();
    match expected {
        _ if given == expected => {}
        0 => return Err(format!("`{name}` takes no parameters, not {given}; write `{name}`")),
        _ => return Err(format!("`{name}` takes {expected} parameter, not {given}; write `{name}(0.01)`")),
    }
    match arguments.iter().find(|argument| !argument.is_finite()) {
        Some(bad) => Err(format!("the parameter {bad} of `{name}` is not a finite f32; write a smaller number")),
        None => Ok(()),
    }
}

fn default_arguments(name: &str) -> &'static [f32] {
    DEFAULTS.iter().find(|(epilogue, _)| *epilogue == name).map_or(&[], |(_, arguments)| arguments)
}

fn builtins() -> &'static [Builtin] {
    static BUILTINS: LazyLock<Vec<Builtin>> = LazyLock::new(|| {
        serde_json::from_str(include_str!("builtin.json")).expect("builtin.json was written by `cargo xtask builtins`")
    });
    &BUILTINS
}

fn derivatives() -> &'static [Builtin] {
    static DERIVATIVES: LazyLock<Vec<Builtin>> = LazyLock::new(|| {
        serde_json::from_str(include_str!("derivatives.json"))
            .expect("derivatives.json was written by `cargo xtask builtins`")
    });
    &DERIVATIVES
}

fn find(name: &str) -> Option<&'static Builtin> {
    builtins().iter().find(|known| known.name == name)
}

impl fmt::Display for Epilogue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        if !self.arguments.is_empty() {
            let arguments: Vec<String> = self.arguments.iter().map(ToString::to_string).collect();
            write!(f, "({})", arguments.join(", "))?;
        }
        Ok(())
    }
}

impl FromStr for Epilogue {
    type Err = EpilogueError;

    /// Reads `name` or `name(number, …)`.
    fn from_str(text: &str) -> Result<Self, EpilogueError> {
        let text = text.trim();
        let Some((name, rest)) = text.split_once('(') else { return Epilogue::builtin(text, None) };
        let inside = rest.trim_end().strip_suffix(')');
        let inside = inside.ok_or_else(|| EpilogueError(format!("`{text}` has no `)` at its end")))?;
        let numbers = inside.split(',').map(str::trim).filter(|number| !number.is_empty()).map(read_number);
        Epilogue::builtin(name.trim(), Some(numbers.collect::<Result<_, _>>()?))
    }
}

fn read_number(text: &str) -> Result<f32, EpilogueError> {
    let is_number = text.bytes().next().is_some_and(|first| first == b'-' || first.is_ascii_digit());
    let number = text.parse().ok().filter(|_| is_number);
    number.ok_or_else(|| EpilogueError(format!("`{text}`: an epilogue's parameter is a number, for example 0.2")))
}

impl Serialize for Epilogue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Epilogue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_of_every_builtin_computes_what_its_rust_computes() {
        type Named = (&'static str, fn(f32) -> f32);
        let rust: [Named; 8] = [
            ("identity", builtin::identity),
            ("relu", builtin::relu),
            ("leaky_relu", |x| builtin::leaky_relu(x, 0.01)),
            ("gelu", builtin::gelu),
            ("gelu_tanh", builtin::gelu_tanh),
            ("silu", builtin::silu),
            ("tanh", builtin::tanh),
            ("sigmoid", builtin::sigmoid),
        ];
        let names: Vec<String> = Epilogue::all().iter().map(|epilogue| epilogue.name().to_owned()).collect();
        assert_eq!(names, rust.map(|(name, _)| name));
        for (name, function) in rust {
            let epilogue: Epilogue = name.parse().unwrap();
            for x in [-1e30, -3.5, -1.0, -0.0, 0.0, 1e-6, 0.5, 2.0, 88.0, 1e30, f32::NAN, f32::INFINITY] {
                assert_eq!(epilogue.eval(x).to_bits(), function(x).to_bits(), "{name}({x})");
            }
        }
    }

    #[test]
    fn every_builtin_keeps_a_nan() {
        for epilogue in Epilogue::all() {
            assert!(epilogue.eval(f32::NAN).is_nan(), "{epilogue}");
        }
    }

    #[test]
    fn gelu_is_the_erf_form_of_fp64() {
        for x in (-1200_i16..=1200).map(|step| f32::from(step) / 100.0) {
            let wide = f64::from(x);
            let expected = 0.5 * wide * (1.0 + libm::erf(wide / 2f64.sqrt()));
            // Below zero, as in PyTorch, `1 + erf` cancels: the error is relative to x.
            let scale = if x < 0.0 { wide.abs() } else { expected };
            let error = (f64::from(builtin::gelu(x)) - expected).abs();
            assert!(error <= 1e-6 * scale, "gelu({x}) is off by {error}");
        }
    }

    #[test]
    fn the_two_forms_of_gelu_differ_by_what_the_tanh_form_approximates() {
        let apart = |x: f32| (builtin::gelu(x) - builtin::gelu_tanh(x)).abs();
        let most = (-600_i16..=600).map(|step| apart(f32::from(step) / 100.0)).fold(0.0, f32::max);
        assert!((4e-4..5e-4).contains(&most), "{most}");
    }

    #[test]
    fn an_epilogue_reads_back_what_it_prints() {
        for text in ["gelu", "gelu_tanh", "leaky_relu(0.2)", "leaky_relu(-1.5)", "leaky_relu(-0)"] {
            assert_eq!(text.parse::<Epilogue>().unwrap().to_string(), text);
        }
        for slope in [f32::MAX, f32::MIN_POSITIVE, 1e-45, 1e16, 0.1, 16_777_217.0] {
            let epilogue = Epilogue::builtin("leaky_relu", Some(vec![slope])).unwrap();
            assert_eq!(epilogue.to_string().parse::<Epilogue>().unwrap(), epilogue);
        }
        assert_eq!("leaky_relu".parse::<Epilogue>().unwrap().to_string(), "leaky_relu(0.01)");
    }

    #[test]
    fn an_unknown_epilogue_is_refused_with_the_known_ones() {
        let message = "gleu".parse::<Epilogue>().unwrap_err().to_string();
        assert!(message.contains("gelu, gelu_tanh, silu"), "{message}");
    }

    #[test]
    fn a_parameter_too_many_is_refused() {
        let message = "gelu(1.0)".parse::<Epilogue>().unwrap_err().to_string();
        assert!(message.contains("write `gelu`"), "{message}");
    }

    #[test]
    fn a_parameter_that_is_no_f32_is_refused() {
        for (text, expected) in [
            ("leaky_relu(1e40)", "not a finite f32"),
            ("leaky_relu(-1e40)", "not a finite f32"),
            ("leaky_relu(0.2f64)", "is a number, for example 0.2"),
            ("leaky_relu(1u8)", "is a number, for example 0.2"),
            ("leaky_relu(x)", "is a number, for example 0.2"),
            ("leaky_relu()", "takes 1 parameter, not 0"),
        ] {
            let message = text.parse::<Epilogue>().unwrap_err().to_string();
            assert!(message.contains(expected), "{text}: {message}");
        }
    }
}
