//! Epilogues: what is applied to each accumulated element on its way out.
//!
//! One written function serves three times: [`builtin`] is ordinary Rust; [`translate()`] reads the same text
//! into an [`expr`] tree, which [`cuda`] prints; and the attribute re-emits the same tokens as the CPU reference.

pub mod builtin;
pub mod cuda;
pub mod expr;
mod translate;

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use proc_macro2::TokenStream;
use quote::quote;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use syn::parse::{Parse, ParseStream};
use syn::{Error, Ident, Result};

use expr::Function;
pub use translate::translate;

const BUILTIN_SOURCE: &str = include_str!("builtin.rs");

/// What the parameters of built-in epilogues are when they are not written: (epilogue, values).
pub const DEFAULTS: &[(&str, &[f32])] = &[("leaky_relu", &[0.01])];

/// A built-in epilogue with its parameters. Read and written as `gelu` or `leaky_relu(0.2)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Epilogue {
    name: String,
    arguments: Vec<f32>,
    function: Function,
}

impl Epilogue {
    /// The epilogue that changes nothing.
    pub fn identity() -> Self {
        Epilogue::builtin("identity", None).expect("identity is built in")
    }

    /// Every built-in epilogue, with its default parameters.
    pub fn all() -> Vec<Epilogue> {
        let known = builtin_functions();
        known
            .iter()
            .map(|function| {
                Epilogue::builtin(&function.sig.ident.to_string(), None).expect("built-in epilogues translate")
            })
            .collect()
    }

    /// The built-in epilogue `name`; `arguments` replace its defaults.
    ///
    /// # Errors
    /// The epilogue is unknown, or takes another number of arguments; the message says what is known.
    pub fn builtin(name: &str, arguments: Option<Vec<f32>>) -> std::result::Result<Self, String> {
        let functions = builtin_functions();
        let Some(function) = functions.iter().find(|function| function.sig.ident == name) else {
            let known: Vec<String> = functions.iter().map(|function| function.sig.ident.to_string()).collect();
            return Err(format!("there is no epilogue `{name}`; the built-in ones are {}", known.join(", ")));
        };
        let expected = function.sig.inputs.len() - 1;
        let arguments = arguments.unwrap_or_else(|| default_arguments(name).to_vec());
        if arguments.len() != expected {
            let given = arguments.len();
            return Err(match expected {
                0 => format!("`{name}` takes no parameters, not {given}; write `{name}`"),
                _ => format!("`{name}` takes {expected} parameter, not {given}; write `{name}(0.01)`"),
            });
        }
        if let Some(bad) = arguments.iter().find(|argument| !argument.is_finite()) {
            return Err(format!("the parameter {bad} of `{name}` is not a finite f32; write a smaller number"));
        }
        let function = translate(function, &arguments).map_err(|error| error.to_string())?;
        Ok(Epilogue { name: name.to_owned(), arguments, function })
    }

    /// The name without parameters: `leaky_relu`.
    pub fn name(&self) -> &str {
        &self.name
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
    pub fn cuda_body(&self) -> String {
        cuda::body(&self.function)
    }

    /// The same function in Rust: `pub fn epilogue(x: f32) -> f32 { … }`, the tokens of `builtin.rs` themselves.
    pub fn rust_function(&self) -> TokenStream {
        let functions = builtin_functions();
        let function = functions.iter().find(|function| function.sig.ident == self.name).expect("made from a built-in");
        let mut inputs = function.sig.inputs.iter();
        let parameter = inputs.next();
        let constants = inputs.zip(&self.arguments).map(|(input, value)| quote!(let #input = #value;));
        let statements = &function.block.stmts;
        quote! {
            pub fn epilogue(#parameter) -> f32 {
                #(#constants)*
                #(#statements)*
            }
        }
    }
}

/// Whether the built-in epilogue `name` needs registers of its own beside the accumulators: `tanhf` does.
pub(crate) fn needs_registers(name: &str) -> bool {
    // Schedules are checked by the thousand, and the answers never change.
    static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
        let costly = Epilogue::all().into_iter().filter(|epilogue| epilogue.function.calls(expr::Math::Tanh));
        costly.map(|epilogue| epilogue.name).collect()
    });
    NAMES.iter().any(|costly| costly == name)
}

fn default_arguments(name: &str) -> &'static [f32] {
    DEFAULTS.iter().find(|(epilogue, _)| *epilogue == name).map_or(&[], |(_, arguments)| arguments)
}

fn builtin_functions() -> Vec<syn::ItemFn> {
    let file = syn::parse_file(BUILTIN_SOURCE).expect("builtin.rs is Rust: it is compiled as such");
    let functions = file.items.into_iter().filter_map(|item| match item {
        syn::Item::Fn(function) => Some(function),
        _ => None,
    });
    functions.collect()
}

impl Parse for Epilogue {
    /// `name` or `name(number, …)`, with the error at the token that is wrong.
    fn parse(input: ParseStream) -> Result<Self> {
        let name: Ident = input.parse()?;
        let mut arguments = None;
        if input.peek(syn::token::Paren) {
            let content;
            syn::parenthesized!(content in input);
            let numbers = content.parse_terminated(parse_number, syn::Token![,])?;
            arguments = Some(numbers.into_iter().collect());
        }
        Epilogue::builtin(&name.to_string(), arguments).map_err(|message| Error::new(name.span(), message))
    }
}

fn parse_number(input: ParseStream) -> Result<f32> {
    let negative = input.parse::<Option<syn::Token![-]>>()?.is_some();
    let magnitude: f32 = match input.parse()? {
        syn::Lit::Float(float) if matches!(float.suffix(), "" | "f32") => float.base10_parse()?,
        syn::Lit::Int(int) if int.suffix().is_empty() => int.base10_parse()?,
        other => return Err(Error::new(other.span(), "an epilogue's parameter is a number, for example 0.2")),
    };
    Ok(if negative { -magnitude } else { magnitude })
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
    type Err = syn::Error;

    fn from_str(text: &str) -> Result<Self> {
        syn::parse_str(text)
    }
}

impl Serialize for Epilogue {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Epilogue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
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
        let rust: [Named; 7] = [
            ("identity", builtin::identity),
            ("relu", builtin::relu),
            ("leaky_relu", |x| builtin::leaky_relu(x, 0.01)),
            ("gelu", builtin::gelu),
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
    fn an_epilogue_reads_back_what_it_prints() {
        for text in ["gelu", "leaky_relu(0.2)", "leaky_relu(-1.5)", "leaky_relu(-0)"] {
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
        assert!(message.contains("gelu, silu"), "{message}");
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
            ("leaky_relu(x)", "expected literal"),
            ("leaky_relu()", "takes 1 parameter, not 0"),
        ] {
            let message = text.parse::<Epilogue>().unwrap_err().to_string();
            assert!(message.contains(expected), "{text}: {message}");
        }
    }

    #[test]
    fn the_rust_function_is_the_text_of_builtin_rs() {
        let epilogue: Epilogue = "leaky_relu(0.2)".parse().unwrap();
        let expected = quote! {
            pub fn epilogue(x: f32) -> f32 {
                let negative_slope: f32 = 0.2f32;
                if x < 0.0 { negative_slope * x } else { x }
            }
        };
        assert_eq!(epilogue.rust_function().to_string(), expected.to_string());
    }
}
