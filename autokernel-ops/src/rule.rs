//! What makes a schedule impossible, by name.

/// A schedule breaks a rule of its kernel family. The kernels assert the same rules when they are compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("schedule rule `{rule}` is broken: {reason}")]
pub struct BrokenRule {
    /// The rule's name, the same in the kernel's `static_assert`.
    pub rule: &'static str,
    /// The numbers that break it, and what would not.
    pub reason: String,
}

/// `Ok` if `holds`, otherwise the rule with its reason.
pub(super) fn require(holds: bool, rule: &'static str, reason: impl FnOnce() -> String) -> Result<(), BrokenRule> {
    if holds { Ok(()) } else { Err(BrokenRule { rule, reason: reason() }) }
}
