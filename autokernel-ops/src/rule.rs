//! What makes a schedule impossible: a table of rules for each family, which the check, the prompt and docs/schedules.md
//! print, and by whose names the kernels assert.

use std::fmt;

use autokernel_core::Arch;

use crate::schedule::Schedule;

/// A rule of a kernel family, for schedules `S` and problem classes `C`. A schedule that keeps all of them compiles
/// without spills and runs: that is the table's contract with the tuner, which searches nothing else.
pub struct Rule<S, C> {
    /// Its name, the same in the kernel's `static_assert`.
    pub name: &'static str,
    /// What it asks.
    pub words: &'static str,
    /// Whether a schedule keeps it. The rules before it in its table hold.
    pub holds: fn(&S, &C, Arch) -> bool,
    /// The numbers that break it, and what would not.
    pub reason: fn(&S, &C, Arch) -> String,
}

/// The name and words of a rule, whatever its schedules are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleText {
    /// Its name.
    pub name: &'static str,
    /// What it asks.
    pub words: &'static str,
}

impl<S, C> Rule<S, C> {
    /// Its name and words.
    pub const fn text(&self) -> RuleText {
        RuleText { name: self.name, words: self.words }
    }
}

/// A schedule breaks a rule of its kernel family.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("schedule rule `{rule}` is broken: {reason}")]
pub struct BrokenRule {
    /// The rule's name.
    pub rule: &'static str,
    /// The numbers that break it, and what would not.
    pub reason: String,
}

impl BrokenRule {
    /// `schedule` is of a family that computes another operation than `class`'s.
    pub fn other_family(schedule: &Schedule, class: &impl fmt::Display) -> Self {
        let (family, operation) = (schedule.family().name(), schedule.family().operation());
        let reason = format!("family {family} computes {operation}, not {class}; take a family of its own");
        BrokenRule { rule: "family_serves_operation", reason }
    }
}

/// Whether `schedule` keeps all `rules`.
///
/// # Errors
/// The first broken rule.
pub fn check<S, C>(rules: &[Rule<S, C>], schedule: &S, class: &C, arch: Arch) -> Result<(), BrokenRule> {
    match rules.iter().find(|rule| !(rule.holds)(schedule, class, arch)) {
        Some(rule) => Err(BrokenRule { rule: rule.name, reason: (rule.reason)(schedule, class, arch) }),
        None => Ok(()),
    }
}
