//! Epilogues as tokens: the text of the built-in ones is translated, and what the attribute
//! re-emits is printed here; what an epilogue is, `autokernel-ops` says.

mod builtins;
mod translate;

use autokernel_ops::epilogue::{BUILTIN_SOURCE, DERIVATIVES_SOURCE};
pub use autokernel_ops::epilogue::{Epilogue, EpilogueError};
pub use builtins::{builtins_json, derivatives_json};
use proc_macro2::TokenStream;
use quote::quote;
pub use translate::translate;

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

/// The same on a row of sums, for the CPU backend: `|sums| …`, a call of the function that is compiled with the crates of autokernel, and so
/// optimised where the user's own code is not.
pub fn along_row(epilogue: &Epilogue) -> TokenStream {
    let (name, arguments) = (quote::format_ident!("{}", epilogue.name()), epilogue.arguments());
    quote!(|sums| ::autokernel::__private::along_row::#name(sums #(, #arguments)*))
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
    functions_of(BUILTIN_SOURCE)
}

fn derivative_functions() -> Vec<syn::ItemFn> {
    functions_of(DERIVATIVES_SOURCE)
}

fn functions_of(text: &str) -> Vec<syn::ItemFn> {
    let file = syn::parse_file(text).expect("it is compiled as Rust");
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
    fn a_row_is_handed_to_the_function_of_that_name_with_the_parameters() {
        let epilogue: Epilogue = "leaky_relu(0.2)".parse().unwrap();
        let expected = quote!(|sums| ::autokernel::__private::along_row::leaky_relu(sums, 0.2f32));
        assert_eq!(along_row(&epilogue).to_string(), expected.to_string());
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
