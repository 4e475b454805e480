//! What a crate's build script asks of [`Build`], read from its text.

use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::error::BuildError;
use super::input::Build;

impl Build {
    /// The build that the script at `path` asks for: its calls `.source("…")` and `.config("…")` with a literal.
    /// Arguments that the script computes are not seen.
    ///
    /// # Errors
    /// The script cannot be read. One that is not Rust asks for nothing.
    pub fn of_script(path: &Path) -> Result<Build, BuildError> {
        let text = std::fs::read_to_string(path).map_err(BuildError::io(path))?;
        let mut build = Build::new();
        if let Ok(tokens) = text.parse() {
            apply(&mut build, tokens);
        }
        Ok(build)
    }
}

fn apply(build: &mut Build, tokens: TokenStream) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    for (at, token) in tokens.iter().enumerate() {
        let TokenTree::Group(group) = token else { continue };
        let literal = || syn::parse2::<syn::LitStr>(group.stream()).ok().map(|literal| literal.value());
        match method_before(&tokens[..at]).filter(|_| group.delimiter() == Delimiter::Parenthesis).as_deref() {
            Some("source") => build.sources.extend(literal().map(Into::into)),
            Some("config") => build.config = literal().map(Into::into).or(build.config.take()),
            _ => apply(build, group.stream()),
        }
    }
}

/// `name` of `….name`.
fn method_before(tokens: &[TokenTree]) -> Option<String> {
    match tokens {
        [.., TokenTree::Punct(dot), TokenTree::Ident(name)] if dot.as_char() == '.' => Some(name.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn read(script: &str) -> Build {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("build.rs");
        std::fs::write(&path, script).unwrap();
        Build::of_script(&path).unwrap()
    }

    #[test]
    fn sources_and_config_are_read_wherever_the_script_builds() {
        let build = read(
            r#"fn main() {
                println!("source(\"not this\")");
                if std::env::var_os("CARGO_FEATURE_GPU").is_some() {
                    autokernel_codegen::Build::new().source("src/kernels.rs").source("gen").config("tuned.json").run();
                }
            }"#,
        );
        assert_eq!(build.sources, ["src/kernels.rs", "gen"].map(PathBuf::from));
        assert_eq!(build.config_of(Path::new("crate")), Path::new("crate/tuned.json"));
    }

    #[test]
    fn a_script_that_names_nothing_looks_in_the_default_places() {
        for script in ["fn main() { autokernel_codegen::Build::new().run(); }", "fn main() {", "fn main() { source() }"]
        {
            let build = read(script);
            assert!(build.sources.is_empty(), "{script}");
            assert_eq!(build.config_of(Path::new("crate")), Path::new("crate/best_config.json"));
        }
    }
}
