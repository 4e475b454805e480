//! The kernels that a crate declares, for those that do not build them: the tuner.

use std::path::{Path, PathBuf};

use super::error::BuildError;
use super::input::Build;
use super::scan::{self, Scanned, ScannedFunction};
use crate::block::Block;
use crate::function::{FunctionText, Functions};
use crate::problem::Problem;

/// A kernel that a crate declares.
#[derive(Clone, Debug, PartialEq)]
pub struct Declared {
    /// The function's name, and the types of one of several: `softmax<bf16>`.
    pub name: String,
    /// What it computes.
    pub problem: Problem,
    /// Where it is declared.
    pub file: PathBuf,
    /// The features of the crate that it asks for.
    pub features: Vec<String>,
    /// The block that it stands in, where the attribute refuses it.
    pub inside: Option<Block>,
}

impl Declared {
    /// Whether it can stand where it does, and rustc sees it in a crate with those features that a build script is told of; outside of one it may.
    pub(super) fn is_seen(&self) -> bool {
        self.inside.is_none() && is_seen(&self.features)
    }
}

fn is_seen(features: &[String]) -> bool {
    let is_on = |feature: &String| {
        let variable = format!("CARGO_FEATURE_{}", feature.to_uppercase().replace('-', "_"));
        std::env::var_os(variable).is_some()
    };
    std::env::var_os("OUT_DIR").is_none() || features.iter().all(is_on)
}

impl Build {
    /// The kernels of the crate at `root` that this build compiles, in the order of its files.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn declared(&self, root: &Path) -> Result<Vec<Declared>, BuildError> {
        self.declared_beside(root, &Functions::new(&self.functions(root)?))
    }

    /// The same, whose bodies may call `functions`.
    pub(super) fn declared_beside(&self, root: &Path, functions: &Functions) -> Result<Vec<Declared>, BuildError> {
        let mut found = Vec::new();
        for file in self.files_of(root)? {
            for Scanned { spec, features, inside } in
                scan::kernels_in(&file, functions).map_err(BuildError::io(&file))?
            {
                let (name, problem, file) = (spec.name(), spec.problem, file.clone());
                found.push(Declared { name, problem, file, features, inside });
            }
        }
        Ok(found)
    }

    /// The functions of the crate at `root` that bodies may call in this build.
    pub(super) fn functions(&self, root: &Path) -> Result<Vec<FunctionText>, BuildError> {
        let mut found = Vec::new();
        for file in self.files_of(root)? {
            let in_file = scan::functions_in(&file).map_err(BuildError::io(&file))?;
            let seen = in_file.into_iter().filter(|function| is_seen(&function.features));
            let name = file.strip_prefix(root).unwrap_or(&file).display().to_string();
            found.extend(seen.map(|ScannedFunction { text, inside, .. }| FunctionText {
                file: name.clone(),
                text,
                inside,
            }));
        }
        Ok(found)
    }
}
