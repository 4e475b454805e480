//! What names mean, scope by scope.

use rustc_hash::FxHashMap;

use crate::isa::{Axis, Predicate, Register, Special, Symbol};
use crate::ptx::error::ParseErrorKind;

/// A declared name.
#[derive(Clone, Copy, Debug)]
pub(super) enum Declared {
    Register(Register),
    Predicate(Predicate),
    Symbol(Symbol),
    /// A shared variable of the module, which a kernel places when it first names it. No size: the dynamic part.
    ModuleShared {
        bytes: Option<u32>,
        align: u32,
    },
}

/// `%r<175>`: as many registers as numbered names.
#[derive(Clone, Copy)]
struct Family {
    count: u32,
    first: u32,
    /// None: predicates.
    bits: Option<u32>,
}

#[derive(Default)]
struct Scope {
    names: FxHashMap<String, Declared>,
    families: FxHashMap<String, Family>,
}

/// The scopes that are open, the innermost last.
pub(super) struct Names {
    scopes: Vec<Scope>,
}

impl Default for Names {
    fn default() -> Self {
        Names { scopes: vec![Scope::default()] }
    }
}

impl Names {
    pub(super) fn open(&mut self) {
        self.scopes.push(Scope::default());
    }

    pub(super) fn close(&mut self) {
        self.scopes.pop();
    }

    fn innermost(&mut self) -> Option<&mut Scope> {
        self.scopes.last_mut()
    }

    pub(super) fn declare(&mut self, name: &str, declared: Declared) -> Result<(), ParseErrorKind> {
        let twice = || ParseErrorKind::DeclaredTwice { name: name.to_owned() };
        let scope = self.innermost().ok_or_else(twice)?;
        match scope.names.insert(name.to_owned(), declared) {
            None => Ok(()),
            Some(_) => Err(twice()),
        }
    }

    /// Declares `prefix0` to `prefix(count - 1)`, of which the first has number `first`.
    pub(super) fn declare_family(
        &mut self,
        prefix: &str,
        first: u32,
        count: u32,
        bits: Option<u32>,
    ) -> Result<(), ParseErrorKind> {
        let twice = || ParseErrorKind::DeclaredTwice { name: format!("{prefix}<{count}>") };
        let scope = self.innermost().ok_or_else(twice)?;
        match scope.families.insert(prefix.to_owned(), Family { count, first, bits }) {
            None => Ok(()),
            Some(_) => Err(twice()),
        }
    }

    /// Replaces what a name of the module means in the kernel that is being read.
    pub(super) fn shadow(&mut self, name: &str, declared: Declared) {
        if let Some(scope) = self.scopes.get_mut(1) {
            scope.names.insert(name.to_owned(), declared);
        }
    }

    pub(super) fn find(&self, name: &str) -> Option<Declared> {
        self.scopes.iter().rev().find_map(|scope| scope.names.get(name).copied().or_else(|| scope.member(name)))
    }
}

impl Scope {
    fn member(&self, name: &str) -> Option<Declared> {
        let prefix = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let number: u32 = name.get(prefix.len()..)?.parse().ok()?;
        let family = self.families.get(prefix).filter(|family| number < family.count)?;
        let index = family.first + number;
        Some(match family.bits {
            Some(bits) => Declared::Register(Register { index, bits }),
            None => Declared::Predicate(Predicate(index)),
        })
    }
}

/// The special register called `name` (PTX ISA, "Special Registers").
pub(super) fn special(name: &str) -> Option<Special> {
    let (stem, axis) = match name.strip_prefix('%')?.rsplit_once('.') {
        Some((stem, "x")) => (stem, Axis::X),
        Some((stem, "y")) => (stem, Axis::Y),
        Some((stem, "z")) => (stem, Axis::Z),
        Some(_) => return None,
        None => return scalar_special(name),
    };
    Some(match stem {
        "tid" => Special::Thread(axis),
        "ntid" => Special::BlockSize(axis),
        "ctaid" => Special::Block(axis),
        "nctaid" => Special::GridSize(axis),
        "clusterid" => Special::Cluster(axis),
        "nclusterid" => Special::ClusterCount(axis),
        "cluster_ctaid" => Special::BlockInCluster(axis),
        "cluster_nctaid" => Special::ClusterSize(axis),
        _ => return None,
    })
}

fn scalar_special(name: &str) -> Option<Special> {
    Some(match name {
        "%cluster_ctarank" => Special::ClusterRank,
        "%cluster_nctarank" => Special::ClusterBlocks,
        "%laneid" => Special::Lane,
        "%warpid" => Special::Warp,
        "%nwarpid" => Special::Warps,
        "%lanemask_eq" => Special::LaneMaskEqual,
        "%lanemask_lt" => Special::LaneMaskLess,
        "%lanemask_le" => Special::LaneMaskLessEqual,
        "%lanemask_gt" => Special::LaneMaskGreater,
        "%lanemask_ge" => Special::LaneMaskGreaterEqual,
        "%smid" => Special::Multiprocessor,
        "%nsmid" => Special::Multiprocessors,
        "%clock" | "%clock64" | "%globaltimer" | "%clock_hi" | "%globaltimer_lo" => Special::Clock,
        "%dynamic_smem_size" => Special::DynamicSharedBytes,
        "%total_smem_size" => Special::TotalSharedBytes,
        "%gridid" => Special::GridId,
        _ => return None,
    })
}
