//! How the sequences of a batch lie in their tensors, and where it is said how long they are.

use serde::{Deserialize, Serialize};

use crate::source::{self, boolean};

/// How the sequences of a batch lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Sequences {
    /// Whether the queries of all sequences lie one behind the other, between bounds in device memory.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub packed_queries: bool,
    /// How keys and values lie.
    #[serde(default)]
    pub keys: Keys,
}

/// How the keys of a batch lie, and its values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Keys {
    /// Each sequence has as many as the tensors.
    #[default]
    Whole,
    /// Of what the tensors have each sequence has the first so many, as device memory says.
    Counted,
    /// The same in pages of so many keys, which a table in device memory names.
    Paged(u32),
    /// Those of all sequences lie one behind the other, between bounds in device memory.
    Packed,
}

/// Keys of a page are a multiple of so many: one copy brings as many at least.
pub const PAGE_STEP: u32 = 16;
/// The largest page.
pub const LARGEST_PAGE: u32 = 1 << 16;

/// A parameter that says where sequences are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locator {
    /// Where the queries of each sequence begin, and those of the last end.
    QueryBounds,
    /// The same of keys.
    KeyBounds,
    /// The pages of each sequence.
    Table,
    /// Keys of each sequence.
    Lengths,
}

impl Locator {
    /// Its name in signatures.
    pub const fn name(self) -> &'static str {
        match self {
            Locator::QueryBounds => "query_bounds",
            Locator::KeyBounds => "key_bounds",
            Locator::Table => "table",
            Locator::Lengths => "lengths",
        }
    }
}

impl Sequences {
    /// Whether the tensors say all.
    pub fn are_whole(&self) -> bool {
        *self == Sequences::default()
    }

    /// The parameters behind the values, in order.
    pub fn locators(&self) -> impl Iterator<Item = Locator> + use<> {
        let of_queries: &[Locator] = if self.packed_queries { &[Locator::QueryBounds] } else { &[] };
        let of_keys: &[Locator] = match self.keys {
            Keys::Whole => &[],
            Keys::Counted => &[Locator::Lengths],
            Keys::Paged(_) => &[Locator::Table, Locator::Lengths],
            Keys::Packed => &[Locator::KeyBounds],
        };
        of_queries.iter().chain(of_keys).copied()
    }

    /// Whether queries and keys of all sequences lie one behind the other.
    pub fn are_packed(&self) -> bool {
        self.packed_queries && self.keys == Keys::Packed
    }

    /// Keys that one copy brings of a tile of so many: of a page they are the most that both are a multiple of.
    pub fn box_keys(&self, tile_keys: u32) -> u32 {
        match self.keys {
            Keys::Paged(page) => greatest_common_divisor(page, tile_keys),
            _ => tile_keys,
        }
    }

    /// As part of a word: `_paged64`.
    pub fn slug(&self) -> String {
        let queries = if self.packed_queries { "_ragged" } else { "" };
        match self.keys {
            Keys::Whole => queries.to_owned(),
            Keys::Counted => format!("{queries}_counted"),
            Keys::Paged(page) => format!("{queries}_paged{page}"),
            Keys::Packed => format!("{queries}_packed"),
        }
    }

    /// As part of a sentence; nothing where the tensors say all.
    pub fn words(&self) -> String {
        let queries = if self.packed_queries { ", packed queries" } else { "" };
        match self.keys {
            Keys::Whole => queries.to_owned(),
            Keys::Counted => format!("{queries}, counted keys"),
            Keys::Paged(page) => format!("{queries}, keys in pages of {page}"),
            Keys::Packed => format!("{queries}, packed keys"),
        }
    }

    /// CUDA's `struct Sequences`.
    pub fn cuda(&self) -> String {
        let (keys, page) = match self.keys {
            Keys::Whole => ("kWhole", None),
            Keys::Counted => ("kCounted", None),
            Keys::Paged(page) => ("kPaged", Some(page)),
            Keys::Packed => ("kPacked", None),
        };
        let mut constants = vec![
            boolean("kAreWhole", self.are_whole()),
            boolean("kPackedQueries", self.packed_queries),
            source::value("autokernel::attention::Keys", "kKeys", format!("autokernel::attention::Keys::{keys}")),
        ];
        constants.extend(page.map(|page| source::int("kPage", page)));
        source::constants("How sequences lie.", "Sequences", &constants)
    }
}

const fn greatest_common_divisor(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}
