//! How a run ended.

use std::fmt;
use std::path::PathBuf;

use crate::stop::INTERRUPTED;

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Every target was tuned.
    Finished,
    /// Somebody stopped it; the outputs are written.
    Interrupted,
    /// Prompts await these reply files; the outputs are written.
    Unanswered(Vec<PathBuf>),
    /// It could not go on; the outputs are written.
    Broken(String),
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ending::Finished => f.write_str("every target was tuned"),
            Ending::Interrupted => f.write_str("interrupted; what was measured is kept"),
            Ending::Unanswered(_) => f.write_str("a prompt awaits its reply; what was measured is kept"),
            Ending::Broken(reason) => write!(f, "it could not go on: {reason}"),
        }
    }
}

impl Ending {
    /// The documented exit code.
    pub fn exit_code(&self) -> u8 {
        match self {
            Ending::Finished => 0,
            Ending::Broken(_) => 1,
            Ending::Unanswered(_) => UNANSWERED,
            Ending::Interrupted => INTERRUPTED,
        }
    }
}

/// Exit code of a run that ended because a prompt awaits its reply file.
const UNANSWERED: u8 = 4;
