//! The expression trees of the built-in epilogues, as `autokernel-ops` keeps them.

use autokernel_ops::epilogue::Builtin;

use super::{builtin_functions, translate};

/// The JSON of every built-in epilogue, from its Rust text.
pub fn builtins_json() -> String {
    let builtins: Vec<Builtin> = builtin_functions().iter().map(builtin).collect();
    let mut text = serde_json::to_string_pretty(&builtins).expect("trees have only string keys");
    text.push('\n');
    text
}

fn builtin(function: &syn::ItemFn) -> Builtin {
    let parameters = function.sig.inputs.len() - 1;
    let function_tree = translate(function, &vec![0.0; parameters]).expect("built-in epilogues translate");
    Builtin { name: function.sig.ident.to_string(), parameters, function: function_tree }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_checked_in_trees_are_those_of_the_text() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../autokernel-ops/src/epilogue/builtin.json");
        let checked_in = std::fs::read_to_string(path).unwrap();
        assert!(checked_in == super::builtins_json(), "run `cargo xtask builtins`");
    }
}
