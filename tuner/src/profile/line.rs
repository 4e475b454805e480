//! One line of a profile for people.

use std::fmt;

/// Writes `words` behind a label, which is empty where the line above has it.
pub fn line(f: &mut fmt::Formatter<'_>, label: &str, words: &str) -> fmt::Result {
    writeln!(f, "  {label:<10} {words}")
}
