//! The names of the kernel families. What each of them has, its room tells: the registry's table says which room that is.

use serde::{Deserialize, Serialize};

/// Declares the families: each with its name.
macro_rules! families {
    ($($(#[$gate:meta])* $family:ident = $name:literal,)+) => {
        /// A kernel family: CUDA files, a table of knobs and one of rules, and the archs that it serves.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Family {
            $(
                $(#[$gate])*
                #[doc = concat!("`", $name, "`")]
                #[serde(rename = $name)]
                $family,
            )+
        }

        impl Family {
            /// Every family.
            pub const ALL: &[Family] = &[$($(#[$gate])* Family::$family,)+];

            /// Its name, in JSON and as the CUDA namespace.
            pub const fn name(self) -> &'static str {
                match self { $($(#[$gate])* Family::$family => $name,)+ }
            }
        }
    };
}

families! {
    Sm80 = "sm80",
    Sm90 = "sm90",
    SkinnySm80 = "skinny_sm80",
    RowsSm80 = "rows_sm80",
    RowsSm90 = "rows_sm90",
    AttentionSm80 = "attention_sm80",
    AttentionSm90 = "attention_sm90",
    RoutingSm80 = "routing_sm80",
    PackingSm80 = "packing_sm80",
    #[cfg(feature = "sketch")] Copy = "copy", // of scaled_copy
}

impl Family {
    /// The family called `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Family::ALL.iter().copied().find(|family| family.name() == name)
    }
}

/// A schedule of another family than the one asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the schedule is of another family")]
pub struct OtherFamily;
