//! Where a schedule is from.

use std::fmt;

use autokernel_codegen::arch::Arch;
use autokernel_codegen::problem::ProblemClass;
use autokernel_core::Extents;
use serde::{Serialize, Serializer};

/// Where a schedule is from.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin {
    /// An entry of the config.
    Tuned {
        /// Its shape.
        shape: Extents,
        /// Its class, where that is another one.
        other: Option<Box<ProblemClass>>,
    },
    /// A portfolio, of which a launch takes what is predicted to be fastest.
    Predicted,
    /// The default of the arch.
    Default(Arch),
    /// The command line.
    Given,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::Tuned { shape, other: None } => write!(f, "tuned for {shape}"),
            Origin::Tuned { shape, other: Some(class) } => write!(f, "tuned for {shape} of {}", class.slug()),
            Origin::Predicted => f.write_str("predicted to be fastest of the portfolio"),
            Origin::Default(arch) => write!(f, "default for {arch}"),
            Origin::Given => f.write_str("given by --schedule"),
        }
    }
}

/// In words: documents are read by people first.
impl Serialize for Origin {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
