//! What several kernels of a module share.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::names::Names;
use crate::ptx::module::Variable;

#[derive(Default)]
pub(super) struct Shared {
    pub names: Names,
    pub variables: Vec<Variable>,
    /// Shared variables of the module: (bytes, alignment), placed in each kernel that names them.
    pub files: FxHashMap<u32, Arc<str>>,
}
