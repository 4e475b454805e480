//! Why a search ended.

use std::fmt;
use std::path::PathBuf;

/// Why a search ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// Its evaluations are used up.
    BudgetSpent,
    /// Its generations are used up, and some proposed fewer schedules than they might have.
    GenerationsSpent,
    /// The strategy has nothing more to propose.
    NothingLeft,
    /// The time that it was given is over.
    TimeSpent,
    /// As many trials as it was to be patient for brought nothing faster.
    Plateau,
    /// Somebody pressed Ctrl-C.
    Interrupted,
    /// The strategy cannot go on before this file is there.
    Unanswered(PathBuf),
    /// The evaluator or the journal cannot go on.
    Broken(String),
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StopReason::BudgetSpent => f.write_str("the budget is spent"),
            StopReason::GenerationsSpent => f.write_str("all generations are used up"),
            StopReason::NothingLeft => f.write_str("the strategy has nothing left to propose"),
            StopReason::TimeSpent => f.write_str("its time is over (--minutes)"),
            StopReason::Plateau => f.write_str("nothing faster was found for too long (--patience)"),
            StopReason::Interrupted => f.write_str("interrupted; the same command goes on from here"),
            StopReason::Unanswered(reply) => {
                write!(f, "the prompt awaits its reply in {}; the same command then goes on from here", reply.display())
            }
            StopReason::Broken(reason) => write!(f, "it could not go on: {reason}"),
        }
    }
}
