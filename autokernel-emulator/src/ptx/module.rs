//! A module: its kernels and variables.

use std::fmt;
use std::sync::Arc;

use crate::isa::Instruction;

/// A PTX module, decoded and ready to run.
#[derive(Clone, Debug)]
pub struct Module {
    pub(crate) kernels: Vec<Arc<Kernel>>,
    pub(crate) variables: Arc<[Variable]>,
}

impl Module {
    /// The kernel called `name`.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().map(Arc::as_ref).find(|kernel| kernel.name == name)
    }

    /// Every kernel, in the order of the text.
    pub fn kernels(&self) -> impl Iterator<Item = &Kernel> {
        self.kernels.iter().map(Arc::as_ref)
    }
}

/// An entry function.
#[derive(Clone, Debug)]
pub struct Kernel {
    pub(crate) name: String,
    pub(crate) parameter_bytes: u32,
    pub(crate) max_threads: Option<[u32; 3]>,
    pub(crate) required_threads: Option<[u32; 3]>,
    pub(crate) cluster: Option<[u32; 3]>,
    pub(crate) shared: SharedLayout,
    pub(crate) local_bytes: u32,
    pub(crate) registers: u32,
    pub(crate) predicates: u32,
    pub(crate) code: Vec<Instruction>,
    pub(crate) mnemonics: Vec<String>,
    pub(crate) locations: Vec<SourceLocation>,
}

impl Kernel {
    /// The name a launch gives.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of the parameters, each at its natural alignment.
    pub fn parameter_bytes(&self) -> u32 {
        self.parameter_bytes
    }

    /// Blocks of a cluster along x, y and z, where the kernel fixes them (`.reqnctapercluster`).
    pub fn cluster(&self) -> Option<[u32; 3]> {
        self.cluster
    }

    /// The most threads of a block along x, y and z, where the kernel bounds them (`.maxntid`).
    pub fn max_threads(&self) -> Option<[u32; 3]> {
        self.max_threads
    }

    /// Instructions of the text.
    pub fn instruction_count(&self) -> usize {
        self.code.len()
    }
}

/// How a block's shared memory begins: the declared variables, then what a launch adds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SharedLayout {
    pub static_bytes: u32,
    /// The strictest alignment of the declared variables.
    pub static_align: u32,
    /// Alignment of the dynamic part; 0 where the kernel has none.
    pub dynamic_align: u32,
}

impl SharedLayout {
    /// What the start of the block's memory is a multiple of.
    pub fn align(self) -> u32 {
        self.static_align.max(self.dynamic_align).max(1)
    }

    /// Where the dynamic part begins.
    pub fn dynamic_start(self) -> u32 {
        self.static_bytes.next_multiple_of(self.dynamic_align.max(1))
    }
}

/// A variable in global or constant memory.
#[derive(Clone, Debug)]
pub(crate) struct Variable {
    pub name: String,
    /// Its initial bytes.
    pub bytes: Vec<u8>,
}

/// A line of the source that an instruction was compiled from (`.loc`).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SourceLocation {
    /// The file as the compiler named it.
    pub file: Arc<str>,
    /// Counted from 1.
    pub line: u32,
    /// Where the function that holds the line was inlined.
    pub inlined_at: Option<Box<SourceLocation>>,
}

impl fmt::Display for SourceLocation {
    /// The file's last part and the line, then where it was inlined.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.file.rsplit(['/', '\\']).next().unwrap_or(&self.file);
        write!(f, "{name}:{}", self.line)?;
        match &self.inlined_at {
            Some(outer) => write!(f, ", inlined at {outer}"),
            None => Ok(()),
        }
    }
}
