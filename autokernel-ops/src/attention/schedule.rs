//! How attention is computed: a schedule of one of the kernel families.

use std::fmt;

use autokernel_core::Arch;

use super::problem::Class;
use super::sm80::Sm80Schedule;
use super::sm90::Sm90Schedule;
use crate::family::OtherFamily;
use crate::rule::BrokenRule;

/// A schedule of one of the kernel families, with its knobs by name: what plans, emission and the model read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Schedule {
    /// mma.sync and cp.async; sm_80 and later.
    Sm80(Sm80Schedule),
    /// wgmma and TMA; sm_90a alone.
    Sm90(Sm90Schedule),
}

impl Schedule {
    /// Whether it compiles without spills and runs.
    ///
    /// # Errors
    /// The first broken rule.
    pub fn check(&self, class: &Class, arch: Arch) -> Result<(), BrokenRule> {
        match self {
            Schedule::Sm80(schedule) => schedule.check(class, arch),
            Schedule::Sm90(schedule) => schedule.check(class, arch),
        }
    }

    /// Rows of a tile: queries, or with [`shares_keys`](Self::shares_keys) queries each with all heads that share keys.
    pub fn tile_queries(&self) -> u32 {
        match self {
            Schedule::Sm80(schedule) => schedule.tile_queries(),
            Schedule::Sm90(schedule) => schedule.tile_queries(),
        }
    }

    /// Keys of a block.
    pub fn tile_keys(&self) -> u32 {
        match self {
            Schedule::Sm80(schedule) => schedule.tile_keys,
            Schedule::Sm90(schedule) => schedule.tile_keys,
        }
    }

    /// Blocks of keys, or of keys and values in turn, that are on chip at once.
    pub fn stages(&self) -> u32 {
        match self {
            Schedule::Sm80(schedule) => schedule.stages,
            Schedule::Sm90(schedule) => schedule.stages,
        }
    }

    /// Whether blocks of the grid share the keys of a tile.
    pub fn shares_keys(&self) -> bool {
        match self {
            Schedule::Sm80(schedule) => schedule.share_keys,
            Schedule::Sm90(schedule) => schedule.share_keys,
        }
    }

    /// Threads of a block.
    pub fn threads(&self) -> u32 {
        match self {
            Schedule::Sm80(schedule) => schedule.threads(),
            Schedule::Sm90(schedule) => schedule.threads(),
        }
    }
}

impl From<Sm80Schedule> for Schedule {
    fn from(schedule: Sm80Schedule) -> Self {
        Schedule::Sm80(schedule)
    }
}

impl From<Sm90Schedule> for Schedule {
    fn from(schedule: Sm90Schedule) -> Self {
        Schedule::Sm90(schedule)
    }
}

impl From<Schedule> for crate::Schedule {
    fn from(schedule: Schedule) -> Self {
        match schedule {
            Schedule::Sm80(schedule) => schedule.into(),
            Schedule::Sm90(schedule) => schedule.into(),
        }
    }
}

impl TryFrom<&crate::Schedule> for Schedule {
    type Error = OtherFamily;

    fn try_from(schedule: &crate::Schedule) -> Result<Self, OtherFamily> {
        let sm80 = Sm80Schedule::try_from(schedule).map(Schedule::Sm80);
        sm80.or_else(|OtherFamily| Sm90Schedule::try_from(schedule).map(Schedule::Sm90))
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Schedule::Sm80(schedule) => schedule.fmt(f),
            Schedule::Sm90(schedule) => schedule.fmt(f),
        }
    }
}
