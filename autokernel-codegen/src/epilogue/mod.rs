//! Epilogues as tokens: what a user writes is read, the text of the built-in ones is translated, and what the attribute
//! re-emits is printed here; what an epilogue is, `autokernel-ops` says.

mod builtins;
mod translate;

use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::ParseStream;
use syn::{Error, Ident, Result};

use autokernel_ops::epilogue::BUILTIN_SOURCE;
pub use autokernel_ops::epilogue::{Epilogue, EpilogueError};
pub use builtins::builtins_json;
pub use translate::translate;

/// Reads `name` or `name(number, …)`, with the error at the token that is wrong.
///
/// # Errors
/// The epilogue is unknown, or its parameters are not those that it takes.
pub fn parse(input: ParseStream) -> Result<Epilogue> {
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

fn parse_number(input: ParseStream) -> Result<f32> {
    let negative = input.parse::<Option<syn::Token![-]>>()?.is_some();
    let magnitude: f32 = match input.parse()? {
        syn::Lit::Float(float) if matches!(float.suffix(), "" | "f32") => float.base10_parse()?,
        syn::Lit::Int(int) if int.suffix().is_empty() => int.base10_parse()?,
        other => return Err(Error::new(other.span(), "an epilogue's parameter is a number, for example 0.2")),
    };
    Ok(if negative { -magnitude } else { magnitude })
}

/// The same function in Rust: `pub fn epilogue(x: f32) -> f32 { … }`, the tokens of the built-in text themselves, with
/// what they call that is no method of `f32`.
pub fn rust_function(epilogue: &Epilogue) -> TokenStream {
    let functions = builtin_functions();
    let function =
        functions.iter().find(|function| function.sig.ident == epilogue.name()).expect("made from a built-in");
    let mut inputs = function.sig.inputs.iter();
    let parameter = inputs.next();
    let constants = inputs.zip(epilogue.arguments()).map(|(input, value)| quote!(let #input = #value;));
    let statements = &function.block.stmts;
    let imports = imports(epilogue);
    quote! {
        pub fn epilogue(#parameter) -> f32 {
            #(#imports)*
            #(#constants)*
            #(#statements)*
        }
    }
}

/// A `use` of each function that the epilogue calls, from where the facade has them.
fn imports(epilogue: &Epilogue) -> Vec<TokenStream> {
    let mut functions: Vec<&str> = Vec::new();
    for call in epilogue.function().calls() {
        if !call.is_method() && !functions.contains(&call.name()) {
            functions.push(call.name());
        }
    }
    let import = |name: &&str| {
        let name = quote::format_ident!("{name}");
        quote!(use ::autokernel::__private::#name;)
    };
    functions.iter().map(import).collect()
}

fn builtin_functions() -> Vec<syn::ItemFn> {
    let file = syn::parse_file(BUILTIN_SOURCE).expect("builtin.rs is Rust: it is compiled as such");
    let functions = file.items.into_iter().filter_map(|item| match item {
        syn::Item::Fn(function) => Some(function),
        _ => None,
    });
    functions.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_that_are_no_f32_are_refused_at_their_token() {
        for (text, expected) in [
            ("leaky_relu(1e40)", "not a finite f32"),
            ("leaky_relu(0.2f64)", "is a number, for example 0.2"),
            ("leaky_relu(1u8)", "is a number, for example 0.2"),
            ("leaky_relu(x)", "expected literal"),
            ("leaky_relu()", "takes 1 parameter, not 0"),
        ] {
            let message = syn::parse::Parser::parse_str(parse, text).unwrap_err().to_string();
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
        assert_eq!(rust_function(&epilogue).to_string(), expected.to_string());
    }

    #[test]
    fn the_rust_function_brings_what_f32_has_no_method_for() {
        let imports = |name: &str| imports(&name.parse().unwrap()).iter().map(ToString::to_string).collect::<Vec<_>>();
        let erf = quote! { use ::autokernel::__private::erf; };
        assert_eq!(imports("gelu"), [erf.to_string()]);
        assert_eq!(imports("gelu_tanh"), [""; 0]);
        assert!(rust_function(&"gelu".parse().unwrap()).to_string().contains(&erf.to_string()));
    }
}
