//! The functions of a crate, by their names.

use std::collections::BTreeMap;

use autokernel_core::fingerprint;
use serde::{Deserialize, Serialize};
use syn::{Error, Ident, Result};

use super::fingerprint::own;
use super::item::Function;
use crate::block::Block;

/// A function as the build script found it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FunctionText {
    /// The file that it stands in.
    pub file: String,
    /// Its text, from its name on a signature and a block.
    pub text: String,
    /// The block that it stands in, where that is no module.
    pub inside: Option<Block>,
}

/// The functions of a crate. A body finds them by their names, as rustc's scopes are not known here; that it is the one that
/// rustc finds, its fingerprint says.
#[derive(Clone, Default)]
pub struct Functions(BTreeMap<String, Vec<Known>>);

#[derive(Clone)]
struct Known {
    function: Function,
    file: String,
    inside: Option<Block>,
}

/// A function that a body calls.
#[derive(Clone, Debug)]
pub struct Called {
    /// Its name.
    pub name: Ident,
    /// That of its text, and of what it calls.
    pub fingerprint: u64,
}

impl Functions {
    /// Those of texts that can be read; the others are the attribute's to report.
    pub fn new<'t>(texts: impl IntoIterator<Item = &'t FunctionText>) -> Self {
        let mut functions = Functions::default();
        for FunctionText { file, text, inside } in texts {
            let function = text.parse().ok().and_then(|tokens| Function::parse(tokens).ok());
            let Some(function) = function else { continue };
            let same_name = functions.0.entry(function.name().to_string()).or_default();
            // The same text twice is one function, whichever rustc finds.
            match same_name.iter_mut().find(|known| own(&known.function) == own(&function)) {
                Some(known) => known.inside = known.inside.and(*inside),
                None => same_name.push(Known { function, file: file.clone(), inside: *inside }),
            }
        }
        functions
    }

    /// The function called `name`, if there is one.
    ///
    /// # Errors
    /// There are several, or it stands where kernels do not find it.
    pub fn find(&self, name: &Ident) -> Option<Result<&Function>> {
        let known = self.0.get(&name.to_string())?;
        let in_modules: Vec<&Known> = known.iter().filter(|known| known.inside.is_none()).collect();
        match &in_modules[..] {
            [] => known.iter().find_map(|known| known.inside).map(|block| Err(misplaced(name, block))),
            [known] => Some(Ok(&known.function)),
            several => {
                let files: Vec<&str> = several.iter().map(|known| known.file.as_str()).collect();
                let message = format!(
                    "{} functions are called `{name}`, in {}; the build finds them by their names: give each its own",
                    several.len(),
                    files.join(" and ")
                );
                Some(Err(Error::new(name.span(), message)))
            }
        }
    }

    /// Whether `function` stands where kernels find it, as one of this name and text does.
    ///
    /// # Errors
    /// It stands in a block that is no module.
    pub fn check_place(&self, function: &Function) -> Result<()> {
        let known = self.0.get(&function.name().to_string()).into_iter().flatten();
        let mut same = known.filter(|known| own(&known.function) == own(function));
        same.find_map(|known| known.inside).map_or(Ok(()), |block| Err(misplaced(function.name(), block)))
    }

    /// The function called `name` with its fingerprint.
    ///
    /// # Errors
    /// There are several of that name, or of one that it calls.
    pub fn called(&self, name: &Ident) -> Result<Called> {
        let Some(function) = self.find(name) else { return Ok(Called { name: name.clone(), fingerprint: 0 }) };
        let function = function?;
        let calls = function.calls();
        let calls = calls.iter().map(|name| self.called(name).map(|called| called.fingerprint));
        let calls = calls.collect::<Result<Vec<_>>>()?;
        Ok(Called { name: name.clone(), fingerprint: fingerprint(own(function), &calls) })
    }
}

fn misplaced(name: &Ident, inside: Block) -> Error {
    let message = format!(
        "`{name}` stands in {inside}, and kernels import what they call from modules: move it out, beside the kernels that call it or \
         to where a `use` beside them finds it"
    );
    Error::new(name.span(), message)
}
